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
	"syscall"

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

// Of returns the errno of an error. The first match wins: nil; an error of the service, by its Kind
// (an errno that it wraps, as of a broken connection, says nothing about the file); an errno in the
// chain; an ended context; else EIO.
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
	var r *refusal
	if errors.As(err, &r) {
		return true
	}
	var ae *archive.Error
	return errors.As(err, &ae) && (errno == syscall.EEXIST || errno == syscall.ENOTSUP || errno == syscall.EPERM)
}
