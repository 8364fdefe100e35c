//go:build linux

// Package machine runs the programs of the benchmarks and measures them: commands with a
// bound, servers and mounts that end with the run, what memory and processor time they
// took, and the page cache.
//
// Every command is a process group of its own. The benchmark is the reaper of all that it
// starts, also of mounts that go to the background, so nothing is left behind, and nobody
// else's process is ever looked at.
package machine
