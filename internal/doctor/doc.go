// Package doctor examines what a mount needs, and says what to do about what it lacks. Each
// check is a function of what it is given: it changes nothing, and the service is only
// asked for what it has.
package doctor
