package mounted

import (
	"fmt"
	"path/filepath"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

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
