package fs_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/fusetest"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// newDisk returns the directory of a new disk of size bytes.
func newDisk(t *testing.T, size string) string {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root mounts a disk")
	}
	disk := t.TempDir()
	if err := unix.Mount("test", disk, "tmpfs", 0, "size="+size); err != nil {
		fusetest.Lacking(t, fmt.Errorf("mount a disk: %w", err))
	}
	t.Cleanup(func() { must(t, unix.Unmount(disk, unix.MNT_DETACH)) })
	return disk
}

// onDisk mounts with the spool on a new disk of size bytes, and returns a function that remounts
// the disk with flags.
func (o *office) onDisk(t *testing.T, size string) (*mounted, func(flags uintptr)) {
	t.Helper()
	disk := newDisk(t, size)
	own := get(spool.Open(spool.Options{Dir: disk}))(t)
	t.Cleanup(func() { must(t, own.Close()) })
	m := o.mount(t, func(o *fs.Options) { o.Spool = own })
	return m, func(flags uintptr) { must(t, unix.Mount("", disk, "", unix.MS_REMOUNT|flags, "")) }
}

func wantHealth(t *testing.T, m *mounted, want, why string) {
	t.Helper()
	s := m.fs.Status()
	if s.Health != want || !strings.Contains(s.Disk, why) || (why == "") != (s.Disk == "") {
		t.Errorf("health %s, disk %q; want %s, %q", s.Health, s.Disk, want, why)
	}
}

func TestHealthTellsThatTheDiskIsReadOnly(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m, remount := o.onDisk(t, "4m")
	path := m.path("Muster GmbH", "Briefe", "a.txt")
	wantHealth(t, m, fs.HealthOK, "")
	remount(unix.MS_RDONLY)
	wantErrno(t, "write on a read-only disk", os.WriteFile(path, []byte("a"), 0o600), syscall.EROFS)
	wantHealth(t, m, fs.HealthDisk, "read-only file system")
	remount(0)
	must(t, os.WriteFile(path, []byte("a"), 0o600))
	wantHealth(t, m, fs.HealthOK, "")
}

func TestHealthTellsThatTheDiskIsFull(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m, _ := o.onDisk(t, "4m")
	path := m.path("Muster GmbH", "Briefe", "a.bin")
	wantErrno(t, "write on a full disk", os.WriteFile(path, make([]byte, 8<<20), 0o600), syscall.ENOSPC)
	wantHealth(t, m, fs.HealthDisk, "no space left on device")
}

// The status shows refusals with their reasons, because people may not see the log.
func TestStatusShowsRefusals(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.bills, "r.txt", "x")
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Rechnungen", "r.txt")
	for range 2 { // the second one is not logged
		wantErrno(t, "remove", os.Remove(path), syscall.EPERM)
	}
	wantErrno(t, "make a folder", os.Mkdir(m.path("new"), 0o700), syscall.EPERM)
	got := m.fs.Status().LastRefusals
	if len(got) != 2 {
		t.Fatalf("the refusals are %+v", got)
	}
	for i, want := range []fs.Refusal{
		{Operation: "mkdir", Path: "/new", Reason: "nothing can be made beside the mandators"},
		{Operation: "remove", Path: "/Muster GmbH/Rechnungen/r.txt", Reason: "archived documents are not deleted"},
	} {
		if got[i].Time.IsZero() {
			t.Errorf("%+v has no time", got[i])
		}
		want.Time = got[i].Time
		if got[i] != want {
			t.Errorf("got %+v, want %+v", got[i], want)
		}
	}
}

// A document that does not fit on the disk of the cache is read range by range, or not at all if the service has no
// ranges; a small one always. It leaves the room to others.
func TestDocumentsThatTheDiskHasNoRoomFor(t *testing.T) {
	t.Parallel()
	content := make([]byte, 12<<20+77)
	for i := range content {
		content[i] = byte(i>>16 + i)
	}
	for name, tt := range map[string]struct {
		shape hostile.ContentShape
		errno syscall.Errno
	}{
		"ranges":                   {},
		"no length":                {shape: hostile.ContentShape{Chunked: true, HeadStatus: 405}},
		"no ranges":                {shape: hostile.ContentShape{Range: hostile.RangeIgnored}, errno: syscall.ENOSPC},
		"no ETag":                  {shape: hostile.ContentShape{ETag: hostile.ETagNone}, errno: syscall.ENOSPC},
		"ranges are refused":       {shape: hostile.ContentShape{Range: hostile.RangeRefused}, errno: syscall.ENOSPC},
		"other ranges":             {shape: hostile.ContentShape{Range: hostile.RangeShifted}, errno: syscall.ENOSPC},
		"changing ETags":           {shape: hostile.ContentShape{ETag: hostile.ETagChanging, Range: hostile.RangeIgnored}, errno: syscall.EIO},
		"neither length nor ETags": {shape: hostile.ContentShape{Chunked: true, ETag: hostile.ETagNone, HeadStatus: 405}, errno: syscall.ENOSPC},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{Content: tt.shape})
			f.AddDocument(f.bills, hostile.Document{Name: "large.bin", Content: content, Pages: 1})
			f.AddDocument(f.bills, hostile.Document{Name: "medium.bin", Content: content[:3<<20], Pages: 1})
			f.AddDocument(f.bills, hostile.Document{Name: "small.txt", Content: []byte("small"), Pages: 1})
			disk := newDisk(t, "2m")
			own := get(cache.OpenContent(cache.Options{Dir: disk, Limit: 1 << 30}))(t)
			t.Cleanup(func() { must(t, own.Close()) })
			m := f.mount(t, func(o *fs.Options) { o.Content = own })
			wantContent(t, m.path("Muster GmbH", "Rechnungen", "small.txt"), "small")
			wantContent(t, m.path("Muster GmbH", "Rechnungen", "medium.bin"), string(content[:3<<20]))
			large := m.path("Muster GmbH", "Rechnungen", "large.bin")
			for range 2 {
				got, err := os.ReadFile(large)
				if tt.errno != 0 {
					wantErrno(t, "read without room", err, tt.errno)
				} else if must(t, err); !bytes.Equal(got, content) {
					t.Errorf("read %d bytes, or others", len(got))
				}
			}
			if tt.errno == 0 {
				wantRandomReads(t, large, content)
			}
			wantContent(t, m.path("Muster GmbH", "Rechnungen", "small.txt"), "small")
			if used, _ := own.Usage(); used > 5 {
				t.Errorf("%d bytes are kept", used)
			}
		})
	}
}

// wantRandomReads reads here and there in a large file.
func wantRandomReads(t *testing.T, path string, content []byte) {
	t.Helper()
	r := get(os.Open(path))(t)
	defer r.Close() //nolint:errcheck // it was only read
	for _, off := range []int64{11 << 20, 77, 6 << 20} {
		got := make([]byte, 1000)
		get(r.ReadAt(got, off))(t)
		if !bytes.Equal(got, content[off:off+1000]) {
			t.Errorf("other bytes at %d", off)
		}
	}
}

// A read-only disk caches nothing, and hides nothing.
func TestDocumentsOnADiskThatIsReadOnly(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("content"), Pages: 1})
	disk := newDisk(t, "4m")
	own := get(cache.OpenContent(cache.Options{Dir: disk, Limit: 1 << 30}))(t)
	t.Cleanup(func() { must(t, own.Close()) })
	m := f.mount(t, func(o *fs.Options) { o.Content = own })
	must(t, unix.Mount("", disk, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "a.txt"), "content")
}

// On a disk without room for more nothing is kept, and the status says so.
func TestKeepOnAFullDisk(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a"), Pages: 1})
	disk := newDisk(t, "100m")
	m := f.mount(t, func(o *fs.Options) {
		often(o)
		o.Content = get(cache.OpenContent(cache.Options{Dir: filepath.Join(disk, "content"), Limit: 1 << 30}))(t)
		t.Cleanup(func() { must(t, o.Content.Close()) })
	})
	must(t, xattr.Set(m.path("Muster GmbH"), keepAttr, []byte("1")))
	if s := m.keeps(fs.KeptDisk); s.Missing != 1 || s.Documents != 1 || !strings.Contains(s.Why, "archivefs free") {
		t.Errorf("kept: %+v", s)
	}
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "a.txt"), "a")
}
