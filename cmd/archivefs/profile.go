package main

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"runtime/pprof"

	"github.com/urfave/cli/v2"
)

// profileFlags say where to write profiles, for those who make archivefs faster. They are
// not in the help of the command.
func profileFlags() []cli.Flag {
	return []cli.Flag{
		&cli.StringFlag{Name: "cpu-profile", EnvVars: env("CPU_PROFILE"), Hidden: true, Usage: "write a CPU profile of the mount to `FILE` (go tool pprof)"},
		&cli.StringFlag{Name: "heap-profile", EnvVars: env("HEAP_PROFILE"), Hidden: true, Usage: "write a profile of the memory in use at the end of the mount to `FILE` (go tool pprof)"},
	}
}

// startProfiles begins the profiles that are asked for. end writes them.
func startProfiles(c *cli.Context) (end func() error, err error) {
	heap, cpu := c.String("heap-profile"), c.String("cpu-profile")
	end = func() error { return writeHeapProfile(heap) }
	if cpu == "" {
		return end, nil
	}
	f, err := os.Create(cpu) //nolint:gosec // the operator names it
	if err != nil {
		return nil, fmt.Errorf("--cpu-profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("--cpu-profile: %w", err), f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return errors.Join(f.Close(), writeHeapProfile(heap))
	}, nil
}

func writeHeapProfile(path string) error {
	if path == "" {
		return nil
	}
	f, err := os.Create(path) //nolint:gosec // the operator names it
	if err != nil {
		return fmt.Errorf("--heap-profile: %w", err)
	}
	runtime.GC() // what is in use, without what is not needed any more
	if err := pprof.WriteHeapProfile(f); err != nil {
		return errors.Join(fmt.Errorf("--heap-profile: %w", err), f.Close())
	}
	return f.Close()
}
