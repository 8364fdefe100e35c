package fs

import (
	"context"
	"io"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// newLogged is a file system without services that logs to out.
func newLogged(out io.Writer) *FileSystem {
	log := logrus.New()
	log.SetOutput(out)
	log.SetLevel(logrus.DebugLevel)
	return New(Options{Log: log})
}

func TestReadErrno(t *testing.T) {
	tests := []struct {
		err  error
		want syscall.Errno
	}{
		{nil, 0},
		{&archive.Error{Op: "content", Kind: archive.KindBusy}, syscall.EIO},
		{&archive.Error{Op: "content", Kind: archive.KindNotFound}, syscall.EIO},
		{&archive.Error{Op: "content", Kind: archive.KindTimeout}, syscall.ETIMEDOUT},
		{&archive.Error{Op: "content", Kind: archive.KindForbidden}, syscall.EACCES},
		{context.Canceled, syscall.EINTR},
		{io.ErrUnexpectedEOF, syscall.EIO},
	}
	f := newFile(newLogged(io.Discard).staging, 0, nil, nil, nil, nil)
	for _, tt := range tests {
		if got := f.ReadErrno(tt.err); got != tt.want {
			t.Errorf("a read that failed with %v answers %v, want %v", tt.err, got, tt.want)
		}
	}
}
