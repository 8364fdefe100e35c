// Package errno turns errors into an errno for the program that made the system call, and a
// sentence for the person who asks why.
//
// Only Of turns an error into an errno, and it has one for every kind of archive.Error. A refusal
// carries its own, with the reason. Log does the same and logs what is worth it: the same refusal
// at most once a minute, and never the misses that programs cause all the time.
package errno

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// ofKind has the errno of each Kind of error. errno_test.go fails if one has no entry.
var ofKind = map[archive.Kind]syscall.Errno{
	archive.KindOther:        syscall.EIO,
	archive.KindInvalid:      syscall.EINVAL,
	archive.KindUnauthorized: syscall.EACCES,
	archive.KindForbidden:    syscall.EACCES,
	archive.KindNotFound:     syscall.ENOENT,
	archive.KindConflict:     syscall.EEXIST,
	archive.KindTooLarge:     syscall.EFBIG,
	archive.KindBusy:         syscall.EAGAIN,
	archive.KindServer:       syscall.EIO,
	archive.KindUnreachable:  syscall.EIO,
	archive.KindInterrupted:  syscall.EIO,
	archive.KindTimeout:      syscall.ETIMEDOUT,
	archive.KindUnsupported:  syscall.ENOTSUP,
	archive.KindProtocol:     syscall.EIO,
	archive.KindForeign:      syscall.EIO,
}

// Of returns the errno of an error. The first match wins: nil; an error of the service, by its Kind (an errno that it
// wraps, as of a broken connection, says nothing about the file); an errno in the chain; an ended context; else EIO.
func Of(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var ae *archive.Error
	if errors.As(err, &ae) && ae.Kind != archive.KindOther {
		if known, ok := ofKind[ae.Kind]; ok {
			return known
		}
		return syscall.EIO
	}
	var errno syscall.Errno
	switch {
	case errors.As(err, &errno):
		return errno
	case errors.Is(err, context.Canceled):
		return syscall.EINTR
	case errors.Is(err, context.DeadlineExceeded):
		return syscall.ETIMEDOUT
	case errors.Is(err, fs.ErrNotExist):
		return syscall.ENOENT
	}
	return syscall.EIO
}

// refusal is the answer to a change that an archive does not support, or not at this moment: an
// errno for the program, and a sentence for the person who asks why.
type refusal struct {
	errno syscall.Errno
	why   string
}

// Refuse returns a refusal with that errno and reason. Names in the reason must be Printable.
func Refuse(errno syscall.Errno, why string) error { return &refusal{errno: errno, why: why} }

func (r *refusal) Error() string { return r.why }

// Unwrap returns the errno, for Of and errors.Is.
func (r *refusal) Unwrap() error { return r.errno }

// Refusals used in several places.
var (
	ErrTaken        = Refuse(syscall.EEXIST, "the name is taken")
	ErrArchived     = Refuse(syscall.EPERM, "archived documents do not change")
	ErrOverArchived = Refuse(syscall.EPERM, "an archived document has that name, and those do not change")
	ErrSending      = Refuse(syscall.EBUSY, "it is being archived")
	ErrMayHave      = Refuse(syscall.EBUSY, "the archive may have it already, and this must be found out first")
	ErrHoldsUploads = Refuse(syscall.ENOTEMPTY, "the folder is not created yet, and uploads in it are waiting for that")
	ErrNoReplace    = Refuse(syscall.EPERM, "the service has no operation that replaces the content of a document")
	ErrNotFree      = Refuse(syscall.EPERM, "the service permits no new folders here: its structure is not free")
	ErrNotRemoved   = Refuse(syscall.EPERM, "the service has no operation that removes a folder")
	ErrNotMoved     = Refuse(syscall.EPERM, "the service has no operation that renames or moves a folder")
	ErrNotHere      = Refuse(syscall.EPERM, "a document can be changed only in its folder, not here")
)

// refused reports whether err explains a refusal: a refusal of fs, or the service's own message
// about what it lacks or does not accept.
func refused(err error, errno syscall.Errno) bool {
	if _, ok := errors.AsType[*refusal](err); ok {
		return true
	}
	var ae *archive.Error
	return errors.As(err, &ae) && (errno == syscall.EEXIST || errno == syscall.ENOTSUP || errno == syscall.EPERM)
}

// repeatAfter is the time before the same refusal is logged again. Desktops try some things over and over.
const repeatAfter = time.Minute

// maxLogged limits the refusals that are remembered.
const maxLogged = 1024

// keptRefusals is how many refusals Log.Refusals returns at most.
const keptRefusals = 8

// Refusal is a change that was refused.
type Refusal struct {
	Time      time.Time `json:"time"`
	Operation string    `json:"operation"`
	Path      string    `json:"path"`
	Reason    string    `json:"reason"`
}

// Log turns errors into errnos and logs them. It is safe for concurrent use.
type Log struct {
	log logrus.FieldLogger
	now func() time.Time

	mu sync.Mutex
	// logged has the time of the last line for each path and reason.
	logged map[string]time.Time // +checklocks:mu
	// last has the newest first.
	last []Refusal // +checklocks:mu
}

// NewLog makes a Log that writes to log, with now as its clock.
func NewLog(log logrus.FieldLogger, now func() time.Time) *Log { return &Log{log: log, now: now} }

// Of returns the errno of the error of an operation on a path. It logs the error, with the reason
// of a refusal, unless programs cause this error all the time.
func (l *Log) Of(op, path string, err error) syscall.Errno { return l.of(op, path, false, err) }

// OfMany is Of for a refusal that many paths get one after the other, such as those of a folder: only the first is logged.
func (l *Log) OfMany(op, path string, err error) syscall.Errno { return l.of(op, path, true, err) }

func (l *Log) of(op, path string, many bool, err error) syscall.Errno {
	errno := Of(err)
	log := l.log.WithField("path", archive.Printable(path))
	if refused(err, errno) {
		if l.isNews(op, path, many, err.Error()) {
			log.Infof("%s refused: %v", op, err)
		}
		return errno
	}
	switch errno {
	case 0, syscall.ENOENT, syscall.EINTR, syscall.EPERM, syscall.EEXIST, syscall.EROFS, syscall.ESTALE,
		syscall.ENODATA, syscall.ENOTSUP, syscall.ENOTEMPTY, syscall.ERANGE:
		return errno
	}
	log.Warnf("%s: %v", op, err)
	return errno
}

// Refusals returns the last few refusals, the newest first, each path and reason once.
func (l *Log) Refusals() []Refusal {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.last)
}

// isNews records a refusal, of many with that reason only the last, and reports whether to log it.
func (l *Log) isNews(op, path string, many bool, why string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.now()
	n := Refusal{Time: now, Operation: op, Path: "/" + archive.Printable(path), Reason: why}
	l.last = slices.DeleteFunc(l.last, func(o Refusal) bool { return (many || o.Path == n.Path) && o.Reason == n.Reason })
	l.last = slices.Insert(l.last, 0, n)
	l.last = l.last[:min(len(l.last), keptRefusals)]
	key := path + "\x00" + why
	if many {
		key = why
	}
	if at, logged := l.logged[key]; logged && now.Sub(at) < repeatAfter {
		return false
	}
	if l.logged == nil || len(l.logged) >= maxLogged {
		l.logged = map[string]time.Time{}
	}
	l.logged[key] = now
	return true
}
