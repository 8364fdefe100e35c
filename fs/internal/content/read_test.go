package content

import (
	"context"
	"io"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
)

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
	log := logrus.New()
	log.SetOutput(io.Discard)
	f := &File{Env: &Contents{Errnos: errno.NewLog(log, time.Now)}}
	for _, tt := range tests {
		if got := f.ReadErrno(tt.err); got != tt.want {
			t.Errorf("a read that failed with %v answers %v, want %v", tt.err, got, tt.want)
		}
	}
}
