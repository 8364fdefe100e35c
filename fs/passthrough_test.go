package fs_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// large is a content large enough for passthrough.
var large = strings.Repeat("0123456789abcdef", 1<<17)

// ways runs a test on a mount with passthrough, if possible, and on one without.
func ways(t *testing.T, test func(t *testing.T, o *office, m *mounted)) {
	for name, prepare := range map[string]func(*mounted){
		"by the kernel": func(*mounted) {}, "through us": func(m *mounted) { m.fs.WithoutPassthrough() },
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, nil)
			m := o.mount(t, nil)
			prepare(m)
			test(t, o, m)
		})
	}
}

// wantLarge fails the test unless f has the expected content, to its end.
func wantLarge(t testing.TB, when string, f *os.File, want string) {
	t.Helper()
	got := make([]byte, len(want)+1)
	n, err := f.ReadAt(got, 0)
	if !errors.Is(err, io.EOF) || !bytes.Equal(got[:n], []byte(want)) {
		t.Errorf("%s: read %d bytes, %v; want all %d", when, n, err, len(want))
	}
}

// Large documents read the same in every way: by several readers at once, before and after they are
// in the cache, and when they are evicted.
func TestLargeDocuments(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, o *office, m *mounted) {
		o.put(t, o.letters, "large.txt", large)
		path := m.path("Muster GmbH", "Briefe", "large.txt")
		open := func() *os.File { return get(os.Open(path))(t) }
		for _, when := range []string{"downloaded", "cached", "cached still"} {
			first := open()
			wantLarge(t, when, first, large)
			second := open()
			wantLarge(t, when+", twice", second, large)
			again := get(os.Open(byDescriptor(first)))(t)
			wantLarge(t, when+", by its descriptor", again, large)
			must(t, first.Close())
			wantLarge(t, when+", one closed", second, large)
			third := open()
			wantLarge(t, when+", and opened again", third, large)
			for _, f := range []*os.File{second, again, third} {
				must(t, f.Close())
			}
		}
		if n := o.fetched(); n != 1 {
			t.Errorf("%d contents were asked for, want 1", n)
		}
		held := open()
		must(t, os.RemoveAll(filepath.Join(m.state, "content")))
		wantLarge(t, "gone from the cache", held, large)
		must(t, held.Close())
		anew := open()
		wantLarge(t, "downloaded anew", anew, large)
		must(t, anew.Close())
		wantContent(t, path, large)
	})
}

// kernelVersion returns the version of the running kernel, 6.9 as 6009.
func kernelVersion(t testing.TB) int {
	t.Helper()
	var name unix.Utsname
	must(t, unix.Uname(&name))
	var major, minor int
	get(fmt.Sscanf(unix.ByteSliceToString(name.Release[:]), "%d.%d", &major, &minor))(t)
	return major*1000 + minor
}

// With passthrough the kernel has no pages of the mount's file.
func TestTheKernelReadsLargeDocuments(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	o.put(t, o.letters, "large.txt", large)
	path := m.path("Muster GmbH", "Briefe", "large.txt")
	wantContent(t, path, large) // into the cache
	if os.Geteuid() != 0 || kernelVersion(t) < 6_009 {
		t.Skip("this kernel does not, or not for this user")
	}
	var f *os.File
	heals(t, "the kernel reads it", func() bool { // not before the RELEASE of the first handle
		f = get(os.Open(path))(t)
		if !m.fs.KernelReads() {
			must(t, f.Close())
			return false
		}
		return true
	})
	defer f.Close() //nolint:errcheck // opened for reading
	wantLarge(t, "as it is", f, large)
	other := strings.ToUpper(large)
	for _, kept := range get(filepath.Glob(filepath.Join(m.state, "content", "*", "*")))(t) {
		w := get(os.OpenFile(kept, os.O_WRONLY, 0))(t)
		get(w.WriteString(other))(t)
		must(t, w.Close())
	}
	wantLarge(t, "overwritten in the cache", f, other)
}

// A file that can be written is read through the mount, so that it can be opened in any order.
func TestLargeDocumentsThatAreWritten(t *testing.T) {
	t.Parallel()
	modes := []int{os.O_RDONLY, os.O_RDWR, os.O_RDONLY, os.O_WRONLY}
	ways(t, func(t *testing.T, o *office, m *mounted) {
		o.put(t, o.inbox, "large.txt", large)
		path := m.path("inboxes", "Administrator", "large.txt")
		for first := range modes {
			var open []*os.File
			for i := range modes {
				open = append(open, get(os.OpenFile(path, modes[(first+i)%len(modes)], 0))(t))
			}
			for i, f := range open {
				if modes[(first+i)%len(modes)] != os.O_WRONLY {
					wantLarge(t, "opened in another order", f, large)
				}
			}
			for _, f := range open {
				must(t, f.Close())
			}
			wantContent(t, path, large)
		}

		// The same with a file that is copied in, and read while it is still open.
		path = m.path("Muster GmbH", "Briefe", "new.txt")
		w := get(os.Create(path))(t)
		get(w.WriteString(large))(t)
		early := get(os.Open(path))(t)
		wantLarge(t, "while it is written", early, large)
		must(t, w.Close())
		late := get(os.Open(path))(t)
		wantLarge(t, "before it is archived", early, large)
		wantLarge(t, "archived", late, large)
		must(t, early.Close())
		must(t, late.Close())
		before := get(os.Stat(path))(t)
		for range 3 {
			wantContent(t, path, large)
			if !os.SameFile(before, get(os.Stat(path))(t)) {
				t.Fatal("programs take it for another file")
			}
		}
	})
}

// Readers of a large document never notice that it enters or leaves the cache.
func TestManyReadALargeDocumentThatComesAndGoes(t *testing.T) {
	t.Parallel()
	ways(t, func(t *testing.T, o *office, m *mounted) {
		o.put(t, o.letters, "large.txt", large)
		path := m.path("Muster GmbH", "Briefe", "large.txt")
		var readers sync.WaitGroup
		for i := range 6 {
			readers.Go(func() {
				for n := range 12 {
					f, err := os.Open(path)
					if err != nil {
						t.Errorf("reader %d: %v", i, err)
						return
					}
					wantLarge(t, "among many", f, large)
					_ = f.Close()
					if i == 0 && n%4 == 3 {
						_ = os.RemoveAll(filepath.Join(m.state, "content")) // others may be making it again
					}
				}
			})
		}
		readers.Wait()
	})
}
