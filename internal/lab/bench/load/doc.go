//go:build linux

// Command load measures the archive service itself: how many requests it answers in a second,
// and how long each takes, while the archive grows to a million documents. scripts/bench-serve
// starts it and has the results written to docs/benchmarks/SERVICE.md.
//
// With --engines it measures instead how long uploads take while the programs that read documents work
// beside them, and what these take.
//
// Clients are goroutines with a connection each, on the same machine and the same processors as
// the service; each sends its next request when the last one is answered.
package main
