// Package writer is the programs of a history: each action runs in a process of its own,
// because a process that serves a disk must not use it, and because a program that is
// killed must really be one.
//
// A process is told its action as a line of JSON on standard input, an Order. It says how
// far it got on standard output, each Event a line of JSON, and at some marks it waits for
// one more line before it goes on.
package writer
