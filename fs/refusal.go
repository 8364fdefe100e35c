package fs

import (
	"errors"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// refusal is the answer to a change that an archive does not know or that cannot be made
// now: an errno for the program, and a sentence for the person who asks why.
type refusal struct {
	errno syscall.Errno
	why   string
}

// refuse is the refusal with that errno and reason. Names in the reason are Printable.
func refuse(errno syscall.Errno, why string) error { return &refusal{errno: errno, why: why} }

func (r *refusal) Error() string { return r.why }

// Unwrap is what toErrno and errors.Is find.
func (r *refusal) Unwrap() error { return r.errno }

// Refusals that are met in several places.
var (
	errReadOnly     = refuse(syscall.EROFS, "the mount is read-only")
	errTaken        = refuse(syscall.EEXIST, "the name is taken")
	errArchived     = refuse(syscall.EPERM, "archived documents do not change")
	errOverArchived = refuse(syscall.EPERM, "an archived document has that name, and those do not change")
	errNoRemoval    = refuse(syscall.EPERM, "archived documents are not deleted")
	errAsClosed     = refuse(syscall.EPERM, "it is being archived as it was closed")
	errSending      = refuse(syscall.EBUSY, "it is being archived")
	errMayHave      = refuse(syscall.EBUSY, "the archive may have it already, which has to be found out first")
	errHoldsUploads = refuse(syscall.ENOTEMPTY, "the folder waits to be made, and something waits in it")
	errNoReplace    = refuse(syscall.EPERM, "the service has no operation that replaces the content of a document")
	errNotFree      = refuse(syscall.EPERM, "the service says that nobody may make folders here: its structure is not free")
	errNotRemoved   = refuse(syscall.EPERM, "the service has no operation that removes a folder")
	errNotMoved     = refuse(syscall.EPERM, "the service has no operation that renames or moves a folder")
	errNotHere      = refuse(syscall.EPERM, "a document is changed in its folder, not here")
	errNoLinks      = refuse(syscall.EPERM, "an archive holds folders and documents, no links and no special files")
)

// refused reports whether err says why something was refused: in a refusal, or in the
// service's own words for what it does not have or take.
func refused(err error, errno syscall.Errno) bool {
	var r *refusal
	if errors.As(err, &r) {
		return true
	}
	var ae *archive.Error
	return errors.As(err, &ae) && (errno == syscall.EEXIST || errno == syscall.ENOTSUP || errno == syscall.EPERM)
}

// sayAgain is how long a refusal that was logged is not logged again. Desktops try some
// things over and over.
const sayAgain = time.Minute

// maxSaid bounds the refusals that are remembered.
const maxSaid = 1024

// keptRefusals is how many refusals the status tells.
const keptRefusals = 8

// Refusal is a change that was refused.
type Refusal struct {
	Time      time.Time `json:"time"`
	Operation string    `json:"operation"`
	Path      string    `json:"path"`
	Reason    string    `json:"reason"`
}

// refusals remembers what was logged. The zero value is ready for use.
type refusals struct {
	mu   sync.Mutex
	said map[string]time.Time // when, by path and reason; guarded by mu
	last []Refusal            // the newest first; guarded by mu
}

// latest are a few, the newest first.
func (r *refusals) latest() []Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.last)
}

// keepLocked keeps n for the status, once for each path and reason. The caller holds mu.
func (r *refusals) keepLocked(n Refusal) {
	r.last = slices.DeleteFunc(r.last, func(o Refusal) bool { return o.Path == n.Path && o.Reason == n.Reason })
	r.last = slices.Insert(r.last, 0, n)
	r.last = r.last[:min(len(r.last), keptRefusals)]
}

// news takes note of a refusal and reports whether it is to be logged now.
func (r *refusals) news(op, path, why string, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.keepLocked(Refusal{Time: now, Operation: op, Path: "/" + archive.Printable(path), Reason: why})
	key := path + "\x00" + why
	if at, said := r.said[key]; said && now.Sub(at) < sayAgain {
		return false
	}
	if r.said == nil || len(r.said) >= maxSaid {
		r.said = map[string]time.Time{}
	}
	r.said[key] = now
	return true
}
