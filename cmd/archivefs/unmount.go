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
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
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
		return sayKept(c, dir, unmountByForce(c, dir))
	}
	_, _, err = readStatus(dir)
	switch {
	case err != nil && isStale(dir):
		return sayKept(c, dir, detachMount(c.Context, dir))
	case err != nil:
		return err
	case c.Bool("force"):
		return sayKept(c, dir, detachMount(c.Context, dir))
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
	left, _ := leftBy(status)
	if stays := left.staysInWords(status.StateDir); stays != "" {
		say(c.App.ErrWriter, "%s", stays)
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
		left, stuck := leftBy(status)
		kept := keptInWords(status.StateDir, &left.pending, status.Cure != "")
		switch {
		case left.pending.uploads == 0:
			return false, nil
		case status.Health == fs.HealthAway:
			say(stderr, "%s; %s", awayInWords(status.Cure != ""), kept)
			return true, nil
		case stuck:
			say(stderr, "the service cannot take everything now; %s", kept)
			return true, nil
		case ctx.Err() != nil:
			return false, fmt.Errorf("%s is still mounted, and sends %s; unmount --force does not wait", dir, &left.pending)
		case wait.Err() != nil:
			say(stderr, "%s; %s", notWithin(limit, left.inDoubt), kept)
			return true, nil
		case bar != nil:
			bar.show(&left.pending)
		case first:
			say(stderr, "waiting for %s", &left.pending)
		}
		select {
		case <-tick.C:
		case <-wait.Done():
		}
	}
}

// keptInWords says where a mount leaves what it did not send, and what becomes of that.
func keptInWords(state string, left *backlog, refused bool) string {
	if refused {
		return fmt.Sprintf("kept in %s: %s; %s", state, left, reach(state))
	}
	return fmt.Sprintf("kept in %s for the next mount: %s", state, left)
}

// sayKept says after an unmount, which ended with err, what a mount that was not asked leaves in its
// state directory, as unmount does of one that answers.
func sayKept(c *cli.Context, dir string, err error) error {
	if err != nil {
		return err
	}
	state, err := config.StateAt(behindLinks(dir))
	if err != nil {
		return nil //nolint:nilerr // it cannot be found from here
	}
	bound := config.Bound{State: state}
	found, err := spool.LeftIn(spoolOf(state))
	if err != nil {
		return nil //nolint:nilerr // it is not open to this user
	}
	left, pending := leftoverOf(found), ""
	switch {
	case left.pending.uploads == 0:
	case bound.Busy():
		pending = fmt.Sprintf("its process goes on with %s; what it does not archive is kept in %s for the next mount", &left.pending, state)
	default:
		pending = keptInWords(state, &left.pending, false)
	}
	if kept := join(pending, left.staysInWords(state)); kept != "" {
		say(c.App.ErrWriter, "%s", kept)
	}
	return nil
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

// leftBy is what a mount leaves by now. It is stuck when all that it has to send was tried, and waits
// to be tried again; not while something may still arrive.
func leftBy(status *fs.Status) (left leftover, stuck bool) {
	left, stuck = leftover{failed: failedUploads(status), local: len(status.Uploads.Locals)}, status.Uploads.Sending == 0
	for _, u := range status.Uploads.List {
		if u.State != "pending" {
			continue
		}
		left.pending.add(u.Size)
		if u.InDoubt {
			left.inDoubt++
		}
		stuck = stuck && u.Waits && !u.InDoubt
	}
	return left, stuck
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
