package fs

import (
	"context"
	"errors"
	"io/fs"
	"syscall"

	"github.com/archivefs/archivefs/archive"
)

// errnoOf turns an error of the service into what the caller of a system call is told.
// errno_test.go fails when a Kind has no entry.
var errnoOf = map[archive.Kind]syscall.Errno{
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

// toErrno is the only place that makes an errno of an error. In this order: none, an
// error of the service by its kind (an errno below it, as of a broken connection, says
// nothing about the file), an errno in the chain, an ended context, else EIO.
func toErrno(err error) syscall.Errno {
	if err == nil {
		return 0
	}
	var ae *archive.Error
	if errors.As(err, &ae) && ae.Kind != archive.KindOther {
		if known, ok := errnoOf[ae.Kind]; ok {
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

// errno reports err to the log, unless it is an answer that programs ask for all the time,
// and returns it as an errno. Of a refusal the log says why.
func (f *FileSystem) errno(op string, path string, err error) syscall.Errno {
	errno := toErrno(err)
	log := f.log.WithField("path", archive.Printable(path))
	if refused(err, errno) {
		if f.refusals.news(op, path, err.Error(), f.now()) {
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
