// Package hostile is an archive service for tests: it keeps everything in memory and
// answers in every shape and with every failure that a client of the specification
// must stand.
//
// It is written from the specification and the public document alone and imports
// nothing of archivefs, so that a mistake in a client or in the embedded service is
// not repeated here.
//
// Three things can be told to a Service:
//
//   - its content: AddMandator, AddFolder, AddInbox, AddDocument; Documents and
//     Folders show the truth, whatever the answers look like;
//   - its shapes, by Config: what the specification leaves open and how this
//     deployment fills it in. The zero Config is the public service at its best;
//     every knob takes something away or writes it differently, and all combine;
//   - its faults, by Fault: what happens to the nth request of a kind, from a 503 to
//     a connection reset after the change took effect.
//
// Where it is not told to be hostile its semantics are right, and it is strict with
// what it is asked: a parameter of another name or place, one missing, another
// Content-Type, a missing Accept, a mix of the two credential sets. Each such request
// is answered 400 (401 for the mix) and noted in Violations, which a test asserts to
// be empty.
//
// Nothing in the package sleeps: what waits, waits for a Gate that the test opens,
// for the client to go away, or for the end of the test.
package hostile
