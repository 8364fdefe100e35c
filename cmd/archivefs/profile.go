//go:build profile

package main

import (
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/mount"
)

// Built with the tag profile, a mount writes profiles to the files that both of these environment variables name: what
// it computes, until its end, and the memory in use then (go tool pprof).
const (
	cpuProfile  = "CPU_PROFILE"
	heapProfile = "HEAP_PROFILE"
)

func init() {
	mount.Profiles = func() (end func()) {
		if os.Getenv(cpuProfile) == "" {
			return func() {}
		}
		cpu, heap := create(cpuProfile), create(heapProfile)
		check(pprof.StartCPUProfile(cpu))
		return func() {
			pprof.StopCPUProfile()
			check(cpu.Close())
			runtime.GC() // collect garbage first
			check(pprof.WriteHeapProfile(heap))
			check(heap.Close())
		}
	}
}

// create makes the file that a variable names.
func create(variable string) *os.File {
	f, err := os.Create(os.Getenv(variable))
	check(err)
	return f
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
