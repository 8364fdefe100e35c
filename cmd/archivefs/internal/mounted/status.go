package mounted

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/dustin/go-humanize/english"
	"github.com/pkg/xattr"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/fusectl"
	"github.com/archivefs/archivefs/internal/spool"
)

// MountLimit is how long a mount may take to return its status.
const MountLimit = 3 * time.Second

// NoticesSoon is how long a process takes at most to notice that it was unmounted.
const NoticesSoon = 3 * time.Second

// ErrSilent says that a mount does not answer.
var ErrSilent = fmt.Errorf("no answer within %s", MountLimit)

// Answers returns an error unless the mount at dir answers and is open to this user. Other
// processes ask it, because a process that asks a mount that hangs cannot be killed.
func Answers(dir string) error {
	// The kernel caches the attributes of the first request. It does not cache the second, which is open to all.
	for _, args := range [][]string{{"--", dir}, {"-f", "--", dir}} {
		var said bytes.Buffer
		look := exec.Command("stat", args...) //nolint:gosec,noctx // a path; it is not waited for longer than below
		look.Env, look.Stderr = append(os.Environ(), "LC_ALL=C"), &said
		if err := look.Start(); err != nil {
			return err
		}
		ended := make(chan error, 1)
		go func() { ended <- look.Wait() }()
		limit := time.NewTimer(MountLimit)
		select {
		case err := <-ended:
			limit.Stop()
			if err != nil {
				return errorOf(said.String())
			}
		case <-limit.C:
			_ = look.Process.Kill() // it is killed once the mount answers
			return ErrSilent
		}
	}
	return nil
}

// errorOf turns the message of stat(1) back into an error.
func errorOf(said string) error {
	for _, err := range []syscall.Errno{syscall.ENOTCONN, syscall.EACCES, syscall.ENOENT} {
		if strings.HasSuffix(strings.ToLower(strings.TrimSpace(said)), err.Error()) {
			return err
		}
	}
	return errors.New(strings.TrimSpace(said))
}

// Status reads the status of the mount at dir.
func Status(dir string) ([]byte, *fs.Status, error) {
	text, err := os.ReadFile(filepath.Join(dir, ".archivefs", "status.json")) //nolint:gosec // the user names it
	switch {
	case errors.Is(err, syscall.ENOTCONN):
		stale := fmt.Sprintf("the mount at %s is stale: the process behind it is gone; archivefs unmount %s takes it away", dir, doctor.Quoted(dir))
		if state, err := config.StateAt(BehindLinks(dir)); err == nil {
			stale += "; or " + GoesOn(state, false)
		}
		return nil, nil, errors.New(stale)
	case errors.Is(err, os.ErrPermission):
		return nil, nil, fmt.Errorf(
			"%s is not open to you; if an archive is mounted there, only its user can use it (root can unmount it with umount %s)", dir, doctor.Quoted(dir))
	case errors.Is(err, os.ErrNotExist), errors.Is(err, syscall.ENOTDIR):
		return nil, nil, errors.New(command.Join("there is no archive mounted at "+dir, lastAt(dir)))
	case err != nil:
		return nil, nil, fmt.Errorf("ask the mount at %s: %w", dir, err)
	}
	var status fs.Status
	if err := json.Unmarshal(text, &status); err != nil {
		return nil, nil, fmt.Errorf("the mount at %s answers with something else than a status: %w", dir, err)
	}
	return text, &status, nil
}

// UploadsStatus reads the status of the mount at dir for what it says about uploads. It is an error that the
// mount tells this user nothing about them.
func UploadsStatus(dir string) (*fs.Status, error) {
	_, status, err := Status(dir)
	if err == nil && status.Partial {
		return nil, fmt.Errorf("only the user whose mount %s is sees what waits there to be archived or could not be, and decides about it", dir)
	}
	return status, err
}

// MountOf returns the directory at which the archive with an absolute path is mounted.
func MountOf(path string) (string, error) {
	var here, above unix.Stat_t
	if err := unix.Stat(path, &here); err != nil {
		return "", err
	}
	dir := path
	for dir != "/" && unix.Stat(filepath.Dir(dir), &above) == nil && above.Dev == here.Dev {
		dir = filepath.Dir(dir)
	}
	if _, err := os.Stat(filepath.Join(dir, ".archivefs", "status.json")); err != nil {
		return "", errors.New("it is in no mounted archive")
	}
	return dir, nil
}

// Attribute returns an extended attribute of a file, empty if it has none.
func Attribute(path, name string) string {
	value, _ := xattr.Get(path, name)
	return string(value)
}

// SetAttribute sets an extended attribute. Errors are those of the system alone.
func SetAttribute(path, name, value string) error {
	err := xattr.Set(path, name, []byte(value))
	if of := (*xattr.Error)(nil); errors.As(err, &of) {
		return of.Err
	}
	return err
}

// AwayInWords says why a service cannot be used.
func AwayInWords(refused bool) string {
	if refused {
		return "the service refuses the credentials"
	}
	return "the service does not answer, or cannot do what it is asked"
}

// Pending are the uploads that continue at the next mount.
func Pending(l *spool.Left) *command.Backlog {
	return &command.Backlog{Uploads: l.Pending, Bytes: l.Bytes}
}

// StaysInWords describes failed uploads and local files, empty if there are none.
func StaysInWords(l *spool.Left, state string) string {
	return command.Join(failedInWords(l.Failed, state), LocalInWords(l.Local, state))
}

// LocalInWords describes local files in a state directory, empty if there are none.
func LocalInWords(n int, state string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s on this machine, in %s, and %s not archived; archivefs uploads list %s says why",
		command.Doing(n, "file", "stays", "stay"), state, english.PluralWord(n, "is", "are"), doctor.Quoted(state))
}

// KeptInWords says where a mount leaves unsent uploads, and what happens to them.
func KeptInWords(state string, left *command.Backlog, refused bool) string {
	if refused {
		return fmt.Sprintf("kept in %s: %s; %s", state, left, Reach(state))
	}
	return fmt.Sprintf("kept in %s for the next mount: %s", state, left)
}

// failedInWords describes failed uploads, empty if there are none.
func failedInWords(n int, state string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s in %s; archivefs uploads list %s shows why", command.Doing(n, "upload", "failed and stays", "failed and stay"), state, doctor.Quoted(state))
}

// LeftBy is what a mount would leave now. It is stuck if everything was tried and waits for a
// retry, and nothing may still arrive.
func LeftBy(status *fs.Status) (left spool.Left, stuck bool) {
	left, stuck = spool.Left{Failed: status.Uploads.Failed(), Local: len(status.Uploads.Locals)}, status.Uploads.Sending == 0
	for _, u := range status.Uploads.List {
		if u.State != fs.StatePending {
			continue
		}
		left.Pending++
		left.Bytes += u.Size
		if u.InDoubt {
			left.InDoubt++
		}
		stuck = stuck && u.Waits && !u.InDoubt
	}
	return left, stuck
}

// NotWithin says that the time for uploads is over, and how many of them may have arrived.
func NotWithin(limit time.Duration, inDoubt int) string {
	text := fmt.Sprintf("not everything was archived within %s", limit)
	if inDoubt > 0 {
		text += ": " + command.Doing(inDoubt, "upload", "was", "were") + " sent without an answer and may still arrive"
	}
	return text
}

// What ended mounts left, and how users learn of it.

// SpoolOf is the spool of a state directory.
func SpoolOf(state string) string { return filepath.Join(state, "spool") }

// ReceiptsOf is the receipts of a state directory.
func ReceiptsOf(state string) string { return filepath.Join(state, "receipts.jsonl") }

// lastAt describes what the process of the last mount at dir still sends or, if it has ended, what that left.
func lastAt(dir string) string {
	at := BehindLinks(dir)
	if state, err := config.StateAt(at); err == nil {
		if by := config.UsedBy(state); by != nil && by.Ending {
			left, _ := spool.LeftIn(SpoolOf(state))
			return fmt.Sprintf("the process of the last mount%s goes on with %s", by.Process(), Pending(&left))
		}
	}
	for _, l := range LeftBehindAt("", "") {
		if by := config.LastUsedBy(l.State); by != nil && by.Mountpoint == at {
			left, _ := spool.LeftIn(SpoolOf(l.State))
			waits, failed := "", failedInWords(left.Failed, l.State)
			if left.Pending > 0 {
				waits = fmt.Sprintf("%s in %s, of the last mount there; %s", command.Doing(left.Pending, "upload", "waits", "wait"), l.State, GoesOn(l.State, false))
			}
			if failed != "" {
				failed += "; mounted again, archivefs uploads retry " + doctor.Quoted(dir) + " sends what failed"
			}
			return command.Join(waits, failed)
		}
	}
	return ""
}

// LeftBehind is a state directory with pending uploads that no mount uses.
type LeftBehind struct {
	config.Bound
	Uploads int
}

// LeftBehindAt finds the directories of a service (of any, for an empty address) with any
// credentials, except the named one.
func LeftBehindAt(service, but string) []LeftBehind {
	var all []LeftBehind
	for _, b := range config.AllBound(but) {
		if service != "" && b.Service() != service || b.Busy() {
			continue
		}
		if n, err := spool.Waiting(SpoolOf(b.State)); err == nil && n > 0 {
			all = append(all, LeftBehind{b, n})
		}
	}
	return all
}

// InWords says how many uploads wait, and where.
func (l *LeftBehind) InWords() string {
	return fmt.Sprintf("%s for this service in %s, of a mount with other credentials (%s)", command.Doing(l.Uploads, "upload", "waits", "wait"), l.State, l.Caller())
}

// ByWord says how a mount goes on with a state directory by the user's word; its text is empty for one that
// belongs to a name.
func ByWord(b *config.Bound) string {
	if !b.ByKey() {
		return ""
	}
	return fmt.Sprintf("if that key was of the same user, --identity %[1]s, or archivefs login --replaces %[1]s, goes on with what it has", b.Caller())
}

// Reach says how to reach the uploads in a state directory.
func Reach(state string) string {
	state = doctor.Quoted(state)
	return fmt.Sprintf("archivefs uploads list %s shows what waits there, and archivefs uploads export %s saves it", state, state)
}

// GoesOn says what happens to what a mount leaves in its state directory.
func GoesOn(state string, refused bool) string {
	if refused {
		return Reach(state)
	}
	return "mount again: what is pending goes on; until then archivefs uploads list " + doctor.Quoted(state) + " shows them all"
}

// FuseConf is where the administrator allows users what only root may do else.
const FuseConf = "/etc/fuse.conf"

// MayLetOthersIn refuses --allow-other if the configuration of FUSE forbids it to the user. If that
// cannot be read, the helper decides.
func MayLetOthersIn(uid int, conf string) error {
	text, err := os.ReadFile(conf) //nolint:gosec // the configuration of FUSE
	if uid == 0 || err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil
	}
	for line := range strings.Lines(string(text)) {
		if slices.Equal(strings.Fields(line), []string{"user_allow_other"}) {
			return nil
		}
	}
	return errors.New("--allow-other needs user_allow_other in " + conf + ", on a line of its own; root can write it there")
}

// IsAutomount reports whether systemd started this mount because a process looks into dir. That
// process waits for us, and if we looked into dir we would wait for ourselves (autofs(5)).
func IsAutomount(dir string) bool {
	top := ""
	for _, m := range fusectl.Mounts("self") {
		if m.Dir == dir {
			top = m.Kind
		}
	}
	return top == "autofs"
}

// IsLeft reports whether a killed process left the mount of an archive at dir. It looks into no automount.
func IsLeft(dir string) bool {
	if _, ours := At(dir); !ours && len(fusectl.Mounts("self")) > 0 { // some systems have no list
		return false
	}
	return IsStale(dir)
}

// Uncover detaches what a killed process left at dir, and opens the directory below, in which programs can
// write until the next mount hides it.
func Uncover(ctx context.Context, dir string) (*os.File, error) {
	if err := detachQuickly(ctx, dir); err != nil {
		return nil, err
	}
	return os.Open(dir) //nolint:gosec // the user names it
}

// Hidden are the names of users' files in the directory below a mount.
func Hidden(below *os.File) (names []string, err error) {
	entries, err := below.ReadDir(-1)
	for _, e := range entries {
		if isSomebodys(e) {
			names = append(names, e.Name())
		}
	}
	return names, err
}

// CheckMountpoint checks that a mount at dir hides no files, unless nonempty allows that.
func CheckMountpoint(dir string, nonempty bool) error {
	if IsAutomount(dir) {
		return nil
	}
	if IsStale(dir) {
		return fmt.Errorf("the process behind the mount at %s is gone, and it is no archive's; unmount it first: fusermount3 -u %s", dir, doctor.Quoted(dir))
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no directory %s to mount at; make it first: mkdir -p %s", dir, dir)
	case err != nil:
		return fmt.Errorf("mount point: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; name one to mount at", dir)
	}
	if _, status, err := Status(dir); err == nil {
		if left, _ := LeftBy(status); left.Pending > 0 { // an unmount may be waiting for them
			return fmt.Errorf("an archive is mounted at %s already, and has %s to send; archivefs unmount %s waits for them: mount again when it has ended", dir, Pending(&left), dir)
		}
		return fmt.Errorf("an archive is mounted at %s already; unmount it first: archivefs unmount %s", dir, dir)
	}
	if nonempty {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("mount point: %w", err)
	}
	if slices.ContainsFunc(entries, isSomebodys) {
		return fmt.Errorf("%s is not empty, and a mount would hide what is in it; name an empty directory, or hide it with -o nonempty", dir)
	}
	return nil
}

// isSomebodys reports whether a mount would hide a user's file. Files that desktops leave in every
// directory do not count, nor does one with the name of the control directory.
func isSomebodys(e os.DirEntry) bool {
	return !slices.Contains([]string{".DS_Store", ".localized", ".directory", ".archivefs"}, e.Name())
}
