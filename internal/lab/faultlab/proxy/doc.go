// Package proxy stands between a mount and an archive service and breaks requests by a
// script: connections refused and reset, before the service saw the request and after it
// carried it out, refusals that are true and refusals that are lies, answers cut off,
// garbled, late or never sent.
//
// The service is a handler in this process, so that the proxy knows for certain whether a
// request took effect: the handler always gets a whole request, and carries it out to the
// end whether or not the client still waits.
//
// Faults strike the nth request of an operation. What was passed on to the service is noted
// with the time on the clock of the run, for the audit.
package proxy
