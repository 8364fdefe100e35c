package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
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
		return nil // it cannot be found from here
	}
	bound := config.Bound{State: state}
	found, err := spool.LeftIn(spoolOf(state))
	if err != nil {
		return nil // it is not open to this user
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

// mountinfo is what is mounted in the mount namespace of a process, or of this one, "self". It is
// empty where the system does not tell.
func mountinfo(process string) string {
	text, _ := os.ReadFile(filepath.Join("/proc", process, "mountinfo")) //nolint:gosec // below /proc
	return string(text)
}

// mountAt is the archive that is known to be mounted at dir. It asks the kernel and not the mount,
// which may not answer.
func mountAt(dir string) (found doctor.Mounted, ok bool) {
	dir = behindLinks(dir)
	for _, m := range doctor.Mounts(mountinfo("self")) {
		if m.Dir == dir {
			found, ok = m, true
		}
	}
	return found, ok
}

// behindLinks is the directory that dir names, where a mount may be that does not answer: it is
// not looked at.
func behindLinks(dir string) string {
	for range 40 { // as many as Linux follows
		if above, err := filepath.EvalSymlinks(filepath.Dir(dir)); err == nil {
			dir = filepath.Join(above, filepath.Base(dir))
		}
		target, err := os.Readlink(dir)
		if err != nil {
			return dir
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(dir), target)
		}
		dir = target
	}
	return dir
}

// place is where an archive is mounted: as a process sees it, or this one, "self".
type place struct {
	process string
	doctor.Mounted
}

// otherPlaces are those where an archive is mounted beside dir, one of each mount namespace.
// Processes of other users are not asked, but by root.
func otherPlaces(dir string) (places []place) {
	here, ok := mountAt(dir)
	if !ok {
		return nil
	}
	namespace := func(process string) string {
		name, _ := os.Readlink(filepath.Join("/proc", process, "ns", "mnt"))
		return name
	}
	asked := []string{"", namespace("self")}
	look := func(process string) {
		for _, m := range doctor.Mounts(mountinfo(process)) {
			if m.Device == here.Device && m.ID != here.ID {
				places = append(places, place{process, m})
				return
			}
		}
	}
	look("self")
	processes, _ := os.ReadDir("/proc")
	for _, process := range processes {
		if _, err := strconv.Atoi(process.Name()); err != nil {
			continue
		}
		if of := namespace(process.Name()); !slices.Contains(asked, of) {
			asked = append(asked, of)
			look(process.Name())
		}
	}
	return places
}

// hidden says how to find who has a mount that goes on nowhere where this user may look.
func hidden(m doctor.Mounted) string {
	if os.Geteuid() == 0 {
		return "a mount namespace that no process is in, or a file that is open in one, keeps it: findmnt -t nsfs shows such"
	}
	return fmt.Sprintf("something that you may not see has it as well, as a container does; as root: grep -l ' %s ' /proc/[0-9]*/mountinfo", m.Device)
}

// left says which of the places is still one, and how it is unmounted there, too; empty for none. The number of
// a device is another one's as soon as it is free, but not that of a mount with it.
func left(places []place) string {
	for _, p := range places {
		if !slices.Contains(doctor.Mounts(mountinfo(p.process)), p.Mounted) {
			continue
		}
		if p.process == "self" {
			return fmt.Sprintf("it is mounted at %s as well; unmount that, too: umount %s", archive.Printable(p.Dir), doctor.Quoted(p.Dir))
		}
		name, _ := os.ReadFile(filepath.Join("/proc", p.process, "comm"))
		return fmt.Sprintf("process %s (%s) has it in a mount namespace of its own, as in a container; end that, or as root: nsenter -m -t %s umount %s",
			p.process, archive.Printable(strings.TrimSpace(string(name))), p.process, doctor.Quoted(p.Dir))
	}
	return ""
}

// detachMount takes a mount out of sight also while files of it are open. It does not leave
// that half done when ctx ends.
func detachMount(ctx context.Context, dir string) error {
	return fusermount(context.WithoutCancel(ctx), true, dir)
}

// fusermount calls the helper that unmounts without privileges.
func fusermount(ctx context.Context, lazily bool, dir string) error {
	mount := behindLinks(dir) // the helper follows none
	if !strings.HasPrefix(mount, "/") {
		mount = "./" + mount
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	command := unmounter(lazily, mount)
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // a path, as an argument
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("unmount %s: %w; %s", dir, fs.ErrNoHelper, doctor.InstallHelper)
	}
	return refusal(dir, strings.Join(strings.Fields(string(out)), " "), err)
}

// refusal turns what fusermount3 said into a sentence that names the cure. It has no exit
// statuses of its own, so that its words must do.
func refusal(dir, said string, err error) error {
	switch {
	case strings.Contains(said, "busy"):
		return fmt.Errorf("a program has files in %s open, or is in it; fuser -vm %s (package psmisc) shows which: end it, or use unmount --force", dir, doctor.Quoted(dir))
	case strings.Contains(said, "not found in /etc/mtab"), strings.Contains(said, "not permitted"), strings.Contains(said, "ermission denied"):
		return fmt.Errorf("you did not mount %s: the user who did can unmount it, or root with umount %s", dir, doctor.Quoted(dir))
	case said != "":
		return fmt.Errorf("unmount %s: %s", dir, said)
	}
	return fmt.Errorf("unmount %s: %w", dir, err)
}
