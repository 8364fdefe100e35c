package user

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/mounted"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/settings"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// UnmountCommand is the command unmount.
func UnmountCommand() *cli.Command {
	return &cli.Command{
		Name:      "unmount",
		Usage:     "unmount from another shell",
		ArgsUsage: "MOUNTPOINT|PROFILE",
		Description: "Waits for uploads for at most --drain, unmounts, and returns when the mount's process has ended,\n" +
			"which does not wait for them once more. The --drain of the mount does not count here. The next\n" +
			"mount sends the uploads that remain because the service does not answer or --drain is over.\n\n" +
			"--force does not wait: programs that have files open get errors, and a file that one of them was\n" +
			"writing is kept as failed. The process continues in the background until its uploads are\n" +
			"archived. If you may not abort the mount, its process is killed.",
		Flags: append([]cli.Flag{
			&cli.BoolFlag{Name: "force", Usage: "do not wait, also with files open, or when the mount hangs"},
			command.DrainFlag("wait at most `DURATION` for uploads, whatever --drain of the mount says"),
		}, settings.PlaceFlags()...),
		Action: unmount,
	}
}

func unmount(c *cli.Context) error {
	dir, err := settings.MountpointOperand(c)
	if err != nil {
		return err
	}
	drain, err := command.ReadDrain(c)
	if err != nil {
		return err
	}
	if _, there := mounted.At(dir); there && c.Bool("force") {
		return sayKept(c, dir, unmountByForce(c, dir))
	}
	_, _, err = mounted.Status(dir)
	switch {
	case err == nil && c.Bool("force"), err != nil && mounted.IsStale(dir):
		return sayKept(c, dir, mounted.DetachMount(c.Context, dir))
	case err != nil:
		return err
	}
	// What has a time of grace is sent now; on a read-only mount nothing has.
	if err := mounted.SetAttribute(dir, xattr.Send, "1"); err != nil && !errors.Is(err, syscall.EROFS) {
		return fmt.Errorf("end the time of grace: %w", err)
	}
	rest, err := waitForUploads(c.Context, dir, drain, c.App.ErrWriter)
	if err != nil {
		return err
	}
	_, status, err := mounted.Status(dir)
	here, _ := mounted.At(dir)
	if err == nil {
		err = mounted.Fusermount(c.Context, false, dir)
	}
	if busy, ok := errors.AsType[*mounted.BusyError](err); ok { // the programs that prevent it may wait for the service
		if _, status, serr := mounted.Status(dir); serr == nil {
			busy.Silent = silence(status.Requests)
		}
	}
	if err != nil {
		return err
	}
	if rest { // it was waited for
		if mark, err := config.Hasten(status.StateDir); err == nil { // else it is waited for once more
			defer mark.Close() //nolint:errcheck // nothing was written
		}
	}
	left, _ := mounted.LeftBy(status)
	if stays := mounted.StaysInWords(&left, status.StateDir); stays != "" {
		command.Say(c.App.ErrWriter, "%s", stays)
	}
	return waitForEnd(c.Context, status.PID, here, drain+endPatience)
}

// endPatience is how long the process of a mount may take to end, in addition to its uploads.
const endPatience = 10 * time.Second

// waitForUploads returns when the mount has sent what it can send now, or after limit. It returns what remains.
func waitForUploads(ctx context.Context, dir string, limit time.Duration, stderr io.Writer) (rest bool, err error) {
	wait, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	bar := command.NewProgress(stderr)
	if bar != nil {
		defer bar.End()
	}
	tick := time.NewTicker(command.ProgressEvery)
	defer tick.Stop()
	for first := true; ; first = false {
		_, status, err := mounted.Status(dir)
		if err != nil {
			return false, err
		}
		left, stuck := mounted.LeftBy(status)
		kept := mounted.KeptInWords(status.StateDir, mounted.Pending(&left), status.Cure != "")
		switch {
		case left.Pending == 0:
			return false, nil
		case status.Health == fs.HealthAway:
			command.Say(stderr, "%s; %s", mounted.AwayInWords(status.Cure != ""), kept)
			return true, nil
		case stuck:
			command.Say(stderr, "the service cannot take everything now; %s", kept)
			return true, nil
		case ctx.Err() != nil:
			return false, fmt.Errorf("%s is still mounted, and sends %s; unmount --force does not wait", dir, mounted.Pending(&left))
		case wait.Err() != nil:
			command.Say(stderr, "%s; %s", mounted.NotWithin(limit, left.InDoubt), kept)
			return true, nil
		case bar != nil:
			bar.Show(mounted.Pending(&left))
		case first:
			command.Say(stderr, "waiting for %s", mounted.Pending(&left))
		}
		select {
		case <-tick.C:
		case <-wait.Done():
		}
	}
}

// sayKept prints, after an unmount that ended with err, what a mount that did not answer leaves in its state directory.
func sayKept(c *cli.Context, dir string, err error) error {
	if err != nil {
		return err
	}
	state, err := config.StateAt(mounted.BehindLinks(dir))
	if err != nil {
		return nil // it cannot be found
	}
	bound := config.Bound{State: state}
	left, err := spool.LeftIn(mounted.SpoolOf(state))
	if err != nil {
		return nil // this user may not read it
	}
	pending := ""
	switch {
	case left.Pending == 0:
	case bound.Busy():
		pending = fmt.Sprintf("its process goes on with %s; what it does not archive is kept in %s for the next mount", mounted.Pending(&left), state)
	default:
		pending = mounted.KeptInWords(state, mounted.Pending(&left), false)
	}
	if kept := command.Join(pending, mounted.StaysInWords(&left, state)); kept != "" {
		command.Say(c.App.ErrWriter, "%s", kept)
	}
	return nil
}

// waitForEnd returns when the process of the mount has ended and released its state directory. It is an
// error that the file system is still mounted elsewhere, because the process does not end then.
func waitForEnd(ctx context.Context, pid int, here fusectl.Mounted, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	looked := false
	for began := time.Now(); pid > 1 && syscall.Kill(pid, 0) == nil && !isZombie(pid); {
		if command.Pause(ctx) != nil {
			return fmt.Errorf("it is unmounted, but its process %d is still busy; see its log", pid)
		}
		if !looked && time.Since(began) > mounted.NoticesSoon {
			looked = true
			if fuseDescriptors(pid) > 1 {
				return fmt.Errorf("it is unmounted here, and its process %d goes on, because it is mounted elsewhere, too: bound to another directory, or "+
					"in a container; as root, grep ' %s ' /proc/[0-9]*/mountinfo shows where, and kill %d ends it", pid, here.Device, pid)
			}
		}
	}
	return nil
}

// isZombie reports whether a process has ended but its parent has not noticed.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

// unmountByForce ends a mount that may hang: it aborts the connection to the kernel or, if the user may not do that,
// kills the process. A mount that was only detached could hang for ever, where nobody finds it.
func unmountByForce(c *cli.Context, dir string) error {
	here, _ := mounted.At(dir)
	if err := mounted.AbortMount(here); err != nil {
		pid, perr := mountProcess(dir)
		if perr == nil { // first, because a service manager starts a process that is killed again
			perr = mounted.DetachMount(c.Context, dir)
		}
		if perr == nil {
			perr = syscall.Kill(pid, syscall.SIGKILL)
		}
		if perr != nil {
			return fmt.Errorf("%s is still mounted: it cannot be aborted (%w), nor can its process be ended (%w); as root: umount -f %s",
				dir, err, perr, doctor.Quoted(dir))
		}
		command.Say(c.App.ErrWriter, "its process %d was ended, because you may not abort a mount in another way; what waited to be archived goes on at the next mount", pid)
	}
	err := mounted.DetachMount(c.Context, dir)
	if now, ok := mounted.At(dir); !ok || now.ID != here.ID {
		return nil // its process ended first
	}
	return err
}

// fuseDescriptors counts the FUSE descriptors of a mount's process: two while it is mounted, one
// while requests are handled after that, then none (fs.Mount).
func fuseDescriptors(pid int) (n int) {
	open, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, fd := range open {
		if what, err := os.Readlink(fd); err == nil && what == "/dev/fuse" {
			n++
		}
	}
	return n
}

// mountProcess is the process of the mount at dir, as its state directory has it: the mount may not answer.
func mountProcess(dir string) (pid int, err error) {
	dir = mounted.BehindLinks(dir)
	state, err := config.StateAt(dir)
	if err != nil {
		return 0, err
	}
	by := config.UsedBy(state)
	if by == nil || by.Mountpoint != dir || fuseDescriptors(by.PID) == 0 {
		return 0, errors.New("it is not known, or in a container")
	}
	return by.PID, nil
}
