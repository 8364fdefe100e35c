package fs_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/spool"
)

// TestAFailedFsyncIsNotForgotten: Linux reports a failed page write only once, and treats the page
// as written from then on.
func TestAFailedFsyncIsNotForgotten(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var syncs atomic.Int64
	m := mount(t, o.url, o.cred, func(opts *fs.Options) {
		s := get(spool.Open(spool.Options{
			Dir: filepath.Join(t.TempDir(), "failing"), RetryFor: opts.RetryFor,
			Fault: func(p spool.Point) error {
				if p == spool.PointSync && syncs.Add(1) == 1 {
					return syscall.EIO
				}
				return nil
			},
		}))(t)
		t.Cleanup(func() { must(t, s.Close()) })
		opts.Spool = s
	})
	path := m.path("Muster GmbH", "Briefe", "brief.txt")
	first := get(os.OpenFile(path, os.O_WRONLY|os.O_CREATE, 0o600))(t)
	second := get(os.OpenFile(path, os.O_WRONLY, 0o600))(t)
	for _, f := range []*os.File{first, second} {
		if _, err := io.WriteString(f, "content"); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range []*os.File{first, first, second} {
		wantErrno(t, "fsync", f.Sync(), syscall.EIO)
	}
	if err := errors.Join(first.Close(), second.Close()); err == nil {
		t.Error("both closes succeeded, want the last to say that it is not archived")
	}
}
