package mounted

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/dustin/go-humanize/english"

	"github.com/archivefs/archivefs/cmd/archivefs/internal/command"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/config"
	"github.com/archivefs/archivefs/internal/doctor"
	"github.com/archivefs/archivefs/internal/spool"
)

// Leftover is what the archive does not have.
type Leftover struct {
	Pending command.Backlog // goes on at the next mount
	InDoubt int             // of them, were sent without an answer and may still arrive
	Failed  int             // waits for somebody to decide
	Local   int             // files that hold something and stay on this machine
}

// LeftoverOf is what a spool still has.
func LeftoverOf(l spool.Left) Leftover {
	return Leftover{Pending: command.Backlog{Uploads: l.Pending, Bytes: l.Bytes}, InDoubt: l.InDoubt, Failed: l.Failed, Local: l.Local}
}

// StaysInWords says what waits for somebody to decide, and what stays on this machine for its name,
// empty when nothing does.
func (l *Leftover) StaysInWords(state string) string {
	return command.Join(failedInWords(l.Failed, state), LocalInWords(l.Local, state))
}

// LocalInWords says how many local files a state directory keeps, empty for none.
func LocalInWords(n int, state string) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("%s on this machine, in %s, and %s not archived; archivefs uploads list %s says why",
		command.Doing(n, "file", "stays", "stay"), state, english.PluralWord(n, "is", "are"), doctor.Quoted(state))
}

// KeptInWords says where a mount leaves what it did not send, and what becomes of that.
func KeptInWords(state string, left *command.Backlog, refused bool) string {
	if refused {
		return fmt.Sprintf("kept in %s: %s; %s", state, left, Reach(state))
	}
	return fmt.Sprintf("kept in %s for the next mount: %s", state, left)
}

// FailedUploads counts what waits for somebody to decide.
func FailedUploads(status *fs.Status) (n int) {
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
	return fmt.Sprintf("%s in %s; archivefs uploads list %s shows why", command.Doing(n, "upload", "failed and stays", "failed and stay"), state, doctor.Quoted(state))
}

// LeftBy is what a mount leaves by now. It is stuck when all that it has to send was tried, and waits
// to be tried again; not while something may still arrive.
func LeftBy(status *fs.Status) (left Leftover, stuck bool) {
	left, stuck = Leftover{Failed: FailedUploads(status), Local: len(status.Uploads.Locals)}, status.Uploads.Sending == 0
	for _, u := range status.Uploads.List {
		if u.State != "pending" {
			continue
		}
		left.Pending.Add(u.Size)
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

// What mounts that have ended left, and how people learn of it.

// SpoolOf is where uploads lie in a state directory.
func SpoolOf(state string) string { return filepath.Join(state, "spool") }

// ReceiptsOf is where a state directory keeps what the archive confirmed.
func ReceiptsOf(state string) string { return filepath.Join(state, "receipts.jsonl") }

// LeftBehind is a state directory in which uploads wait, and that no mount uses.
type LeftBehind struct {
	config.Bound
	Uploads int
}

// LeftBehindAt finds the directories of a service (any for an empty address) with whichever
// credentials, but for the one that is named.
func LeftBehindAt(service, but string) []LeftBehind {
	bound, _ := config.AllBound(but) // where nothing can be read nothing is said
	var all []LeftBehind
	for _, b := range bound {
		if service != "" && !strings.HasPrefix(b.Identity, service+" ") || b.Busy() {
			continue
		}
		if n, err := spool.Waiting(SpoolOf(b.State)); err == nil && n > 0 {
			all = append(all, LeftBehind{b, n})
		}
	}
	return all
}

// caller is whose credentials the uploads are for, without a secret.
func (l *LeftBehind) caller() string {
	_, caller, _ := strings.Cut(l.Identity, " ")
	return caller
}

// InWords says how many uploads wait, and where.
func (l *LeftBehind) InWords() string {
	return fmt.Sprintf("%s for this service in %s, of a mount with other credentials (%s)", command.Doing(l.Uploads, "upload", "waits", "wait"), l.State, l.caller())
}

// Reach says how what waits in a state directory is reached.
func Reach(state string) string {
	state = doctor.Quoted(state)
	return fmt.Sprintf("archivefs uploads list %s shows what waits there, and archivefs uploads export %s saves it", state, state)
}

// GoesOn says what becomes of what a mount leaves in its state directory.
func GoesOn(state string, refused bool) string {
	if refused {
		return Reach(state)
	}
	return "mount again: what is pending goes on; until then archivefs uploads list " + doctor.Quoted(state) + " shows them all"
}
