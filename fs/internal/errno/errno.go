// Package errno turns errors into what the caller of a system call gets: one number for the
// program, and for the person who asks why a sentence.
//
// Of is the only place where an errno is made of an error, and every kind of archive.Error has
// one there. A Refusal carries its own, with the reason. Log does the same and writes down what
// is worth it: it never says twice in a minute that something was refused, nor what programs
// ask for all the time.
package errno

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/archivefs/archivefs/archive"
)

// ofKind turns an error of the service into what the caller of a system call gets.
// errno_test.go fails when a Kind has no entry.
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
}

// Of is the errno of an error. In this order: none, an error of the service by its kind (an
// errno below it, as of a broken connection, says nothing about the file), an errno in the
// chain, an ended context, else EIO.
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

// refusal is the answer to a change that an archive does not know or that cannot be made
// now: an errno for the program, and a sentence for the person who asks why.
type refusal struct {
	errno syscall.Errno
	why   string
}

// Refuse is the refusal with that errno and reason. Names in the reason are Printable.
func Refuse(errno syscall.Errno, why string) error { return &refusal{errno: errno, why: why} }

func (r *refusal) Error() string { return r.why }

// Unwrap is what Of and errors.Is find.
func (r *refusal) Unwrap() error { return r.errno }

// Refusals that are met in several places.
var (
	ErrTaken        = Refuse(syscall.EEXIST, "the name is taken")
	ErrArchived     = Refuse(syscall.EPERM, "archived documents do not change")
	ErrOverArchived = Refuse(syscall.EPERM, "an archived document has that name, and those do not change")
	ErrSending      = Refuse(syscall.EBUSY, "it is being archived")
	ErrMayHave      = Refuse(syscall.EBUSY, "the archive may have it already, which has to be found out first")
	ErrHoldsUploads = Refuse(syscall.ENOTEMPTY, "the folder waits to be made, and something waits in it")
	ErrNoReplace    = Refuse(syscall.EPERM, "the service has no operation that replaces the content of a document")
	ErrNotFree      = Refuse(syscall.EPERM, "the service says that nobody may make folders here: its structure is not free")
	ErrNotRemoved   = Refuse(syscall.EPERM, "the service has no operation that removes a folder")
	ErrNotMoved     = Refuse(syscall.EPERM, "the service has no operation that renames or moves a folder")
	ErrNotHere      = Refuse(syscall.EPERM, "a document is changed in its folder, not here")
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
