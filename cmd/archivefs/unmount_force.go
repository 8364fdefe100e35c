package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
)

// unmountByForce ends a mount whatever waits for it, and whatever it waits for: its connection to the
// kernel is aborted, or, where the user may not, its process ended, which does the same. A mount that
// is only taken out of sight could hang for ever, and be found by nobody.
func unmountByForce(c *cli.Context, dir string) error {
	here, _ := mountAt(dir)
	if err := abortMount(here); err != nil {
		pid, perr := mountProcess(c.Context, dir)
		if perr == nil {
			perr = syscall.Kill(pid, syscall.SIGKILL)
		}
		if perr != nil {
			return fmt.Errorf("%s is still mounted: it cannot be aborted (%w), nor can its process be ended (%w); as root: umount -f %s",
				dir, err, perr, doctor.Quoted(dir))
		}
		say(c.App.ErrWriter, "its process %d was ended, because you may not abort a mount in another way; what waited to be archived goes on at the next mount", pid)
	}
	err := detachMount(c.Context, dir)
	if now, ok := mountAt(dir); !ok || now.ID != here.ID {
		return nil // its process was quicker
	}
	return err
}

// abortMount aborts the connection of a mount to the kernel.
func abortMount(m doctor.Mounted) error {
	_, text, _ := strings.Cut(m.Device, ":")
	minor, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return err
	}
	if err = fusectl.Abort(uint32(minor)); err == nil {
		return nil
	}
	ferr := forceUnmount(m.Dir)
	if ferr == nil || errors.Is(ferr, syscall.EBUSY) { // aborted all the same
		return nil
	}
	return err
}

// fuseDescriptors counts those of the process of a mount: two while it is mounted, one while something
// is worked on after that, and then none (fs.Mount).
func fuseDescriptors(pid int) (n int) {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range open {
		if what, err := os.Readlink(fd); err == nil && what == "/dev/fuse" {
			n++
		}
	}
	return n
}

// mountProcess is the process of the mount at dir. Another one asks, because a mount that hangs lets nobody
// go who waits for it.
func mountProcess(ctx context.Context, dir string) (pid int, err error) {
	ctx, cancel := context.WithTimeout(ctx, mountLimit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "cat", "--", filepath.Join(dir, ".archivefs", "status.json")) //nolint:gosec // a path
	cmd.WaitDelay = time.Second
	type answer struct {
		text []byte
		err  error
	}
	answers := make(chan answer, 1)
	go func() {
		text, err := cmd.Output()
		answers <- answer{text, err}
	}()
	select {
	case a := <-answers:
		var status fs.Status
		if ctx.Err() != nil {
			return 0, errSilent
		}
		if a.err != nil {
			return 0, fmt.Errorf("read %s: %w", cmd.Args[2], a.err)
		}
		if err := json.Unmarshal(a.text, &status); err != nil {
			return 0, err
		}
		if fuseDescriptors(status.PID) == 0 {
			return 0, errors.New("it is in a container")
		}
		return status.PID, nil
	case <-ctx.Done():
		return 0, errSilent
	}
}
