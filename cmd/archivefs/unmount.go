package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
)

func unmountCommand() *cli.Command {
	return &cli.Command{
		Name:      "unmount",
		Usage:     "unmount from another shell",
		ArgsUsage: "MOUNTPOINT|PROFILE",
		Description: "Waits for uploads, unmounts, and returns when the mount's process has ended. What cannot be\n" +
			"archived now, because the service does not answer or --drain is over, goes on at the next mount.\n\n" +
			"--force does not wait, whatever the mount waits for: programs that have files open get errors,\n" +
			"and a file that one of them was writing is kept as failed. The process goes on in the background\n" +
			"until it has archived what it has. Where you may not abort the mount its process is ended.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "do not wait, also with files open, or when the mount hangs"},
			drainFlag(),
		}, placeFlags()...),
		OnUsageError: usageError,
		Action:       unmount,
	}
}

func unmount(c *cli.Context) error {
	dir, err := mountpointOperand(c)
	if err != nil {
		return err
	}
	drain, err := readDrain(c)
	if err != nil {
		return err
	}
	if c.Bool("force") && isMounted(dir) {
		return unmountByForce(c, dir)
	}
	_, _, err = readStatus(dir)
	switch {
	case err != nil && isStale(dir):
		return detachMount(c.Context, dir)
	case err != nil:
		return err
	case c.Bool("force"):
		return detachMount(c.Context, dir)
	}
	rest, err := waitForUploads(c.Context, dir, drain, c.App.ErrWriter)
	if err != nil {
		return err
	}
	_, status, err := readStatus(dir)
	here, _ := mountAt(dir)
	others := otherPlaces(dir)
	if err == nil && rest {
		err = fs.NoteWaited(dir, true)
	}
	if err == nil {
		err = fusermount(c.Context, false, dir)
	}
	if err != nil {
		return errors.Join(err, fs.NoteWaited(dir, false))
	}
	if kept := join(failedInWords(failedUploads(status), status.StateDir), localInWords(len(status.Uploads.Locals), status.StateDir)); kept != "" {
		say(c.App.ErrWriter, "%s", kept)
	}
	return waitForEnd(c.Context, status.PID, here, others, drain+endPatience)
}

const (
	// endPatience is how long the process of a mount may take to end, beside its uploads.
	endPatience = 10 * time.Second
	// endsSoon is how long most of them take at most.
	endsSoon = 500 * time.Millisecond
	// noticesSoon is how long they take at most to notice that they are unmounted.
	noticesSoon = 3 * time.Second
)

// waitForUploads returns when the mount has sent what it can send now, at the latest after
// limit, and says what remains, if anything.
func waitForUploads(ctx context.Context, dir string, limit time.Duration, stderr io.Writer) (rest bool, err error) {
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	bar := newProgress(stderr)
	if bar != nil {
		defer bar.end()
	}
	tick := time.NewTicker(progressEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		_, status, err := readStatus(dir)
		if err != nil {
			return false, err
		}
		left, inDoubt, stuck := unsent(status)
		switch {
		case left.uploads == 0:
			return false, nil
		case status.Health == fs.HealthAway:
			say(stderr, "%s; %s", awayInWords(status.Cure != ""), keptInWords(status, left))
			return true, nil
		case stuck:
			say(stderr, "the service cannot take everything now; %s", keptInWords(status, left))
			return true, nil
		case ctx.Err() != nil:
			return false, fmt.Errorf("%s is still mounted, and sends %s; unmount --force does not wait", dir, left)
		case wait.Err() != nil:
			say(stderr, "%s; %s", notWithin(limit, inDoubt), keptInWords(status, left))
			return true, nil
		case bar != nil:
			bar.show(left)
		case first:
			say(stderr, "waiting for %s", left)
		}
		select {
		case <-tick.C:
		case <-wait.Done():
		}
	}
}

// keptInWords says where a mount leaves what it did not send, and what becomes of that.
func keptInWords(status *fs.Status, left *backlog) string {
	if status.Cure != "" {
		return fmt.Sprintf("kept in %s: %s; %s", status.StateDir, left, reach(status.StateDir))
	}
	return fmt.Sprintf("kept in %s for the next mount: %s", status.StateDir, left)
}

// failedUploads counts what waits for somebody to decide.
func failedUploads(status *fs.Status) (n int) {
	for i := range status.Uploads.List {
		if status.Uploads.List[i].State == "failed" {
			n++
		}
	}
	return n
}

// failedInWords says what waits for somebody to decide, empty when nothing does.
func failedInWords(n int, state string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s in %s; archivefs uploads list %s shows why", doing(n, "upload", "failed and stays", "failed and stay"), state, doctor.Quoted(state))
}

// unsent is what a mount has to send, and how many of that may have arrived. It is stuck when all
// of it was tried, and waits to be tried again; not while something may still arrive.
func unsent(status *fs.Status) (left *backlog, inDoubt int, stuck bool) {
	left, stuck = &backlog{}, status.Uploads.Sending == 0
	for _, u := range status.Uploads.List {
		if u.State != "pending" {
			continue
		}
		left.add(u.Size)
		if u.InDoubt {
			inDoubt++
		}
		stuck = stuck && u.Waits && !u.InDoubt
	}
	return left, inDoubt, stuck
}

// notWithin says that the time for uploads is over, and how many of them may have arrived.
func notWithin(limit time.Duration, inDoubt int) string {
	text := fmt.Sprintf("not everything was archived within %s", limit)
	if inDoubt > 0 {
		text += ": " + doing(inDoubt, "upload", "was", "were") + " sent without an answer and may still arrive"
	}
	return text
}

// waitForEnd returns when the process of the mount has ended, and its state directory is
// free. That goes on for as long as it is still mounted elsewhere, which is an error at once.
func waitForEnd(ctx context.Context, pid int, here doctor.Mounted, others []place, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	looked, lookedForHidden := false, false
	for began := time.Now(); pid > 1 && syscall.Kill(pid, 0) == nil && !isZombie(pid); {
		if pause(ctx) != nil {
			return fmt.Errorf("it is unmounted, but its process %d is still busy; see its log", pid)
		}
		if !looked && time.Since(began) > endsSoon {
			looked = true
			if where := left(others); where != "" {
				return fmt.Errorf("it is unmounted here, and its process %d goes on, because %s", pid, where)
			}
		}
		if !lookedForHidden && time.Since(began) > noticesSoon {
			lookedForHidden = true
			if fuseDescriptors(pid) > 1 {
				return fmt.Errorf("it is unmounted here, and its process %d goes on, because %s", pid, hidden(here))
			}
		}
	}
	return nil
}

// isZombie reports whether a process has ended and only waits to be noticed by its parent.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isMounted reports whether an archive is known to be mounted at dir. It asks the kernel and
// not the mount, which may not answer.
func isMounted(dir string) bool {
	_, ok := mountAt(dir)
	return ok
}

// isStale reports whether dir is a mount whose process is gone. It asks what the kernel does
// not remember by itself: the attributes of a mount outlive its process.
func isStale(dir string) bool {
	var s unix.Statfs_t
	return errors.Is(unix.Statfs(dir, &s), syscall.ENOTCONN)
}
