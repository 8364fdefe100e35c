package redolog_test

import (
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/lab/faultlab/disk"
	"github.com/archivefs/archivefs/internal/redolog"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
)

const (
	diskEnv = "REDOLOG_DISK"
	taskEnv = "REDOLOG_TASK"
)

// A process of its own uses the disk, which this one serves, and ends as if it was killed.
func TestInAProcessOfItsOwn(t *testing.T) {
	dir := os.Getenv(diskEnv)
	if dir == "" {
		t.Skip("it is for the test below")
	}
	dir = filepath.Join(dir, "log")
	if err := durable.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	p := newPlace()
	o := p.options(dir, "a run of the machine")
	switch task := os.Getenv(taskEnv); task {
	case "make":
		l, err := redolog.Open(o)
		for err == nil {
			if _, err := os.Stat(filepath.Join(dir, "redo.0")); err == nil {
				break
			}
			err = p.write(l, "made", "x")
			time.Sleep(time.Millisecond)
		}
		if err != nil {
			t.Fatal(err)
		}
	case "use":
		l, err := redolog.Open(o)
		if err == nil {
			err = l.Append(redolog.Entry{Key: "k", Body: body("v")})
		}
		if err != nil {
			t.Fatal(err)
		}
	default:
		o.Boot = "the next one"
		var replayed []string
		o.Replay = func(entries []redolog.Entry) error {
			for _, e := range entries {
				replayed = append(replayed, e.Key)
			}
			return nil
		}
		if _, err := redolog.Open(o); err != nil || !slices.Contains(replayed, "k") {
			t.Fatalf("replayed %q, %v", replayed, err)
		}
	}
	os.Exit(0)
}

// A process was killed before the name of a file that it made was durable. The next one uses the file.
func TestTheNameOfAFileThatAnotherProcessMadeIsDurable(t *testing.T) {
	t.Parallel()
	fusetest.Need(t)
	d, dir := disk.New(), t.TempDir()
	run := func(task string) {
		t.Helper()
		mounted, err := d.Mount(dir)
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInAProcessOfItsOwn$")
		cmd.Env = append(os.Environ(), diskEnv+"="+dir, taskEnv+"="+task)
		out, err := cmd.CombinedOutput()
		if err := errors.Join(err, mounted.Unmount()); err != nil {
			t.Fatalf("%s: %v\n%s", task, err, out)
		}
	}
	for seed := range uint64(4) {
		d.Fail(disk.Fault{Op: disk.SyncDir, Name: "log", Nth: 1, Times: 100, Errno: syscall.EIO})
		run("make")
		d.Heal()
		run("use")
		d.Crash(rand.New(rand.NewPCG(seed, 0)))
		run("look")
		d, dir = disk.New(), t.TempDir()
	}
}
