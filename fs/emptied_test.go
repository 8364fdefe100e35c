package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// emptiable is a service with an inbox document, and its mount.
func emptiable(t *testing.T) (f *foreign, m *mounted, c *clock, path string) {
	t.Helper()
	f = newForeign(t, hostile.Config{})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	m, c = f.slow(t)
	return f, m, c, m.path("inboxes", "Administrator", "scan.txt")
}

// change makes the next listing of a directory send a request.
func change(t *testing.T, dir string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(dir, "neu.txt"), []byte("neu"), 0o600))
	_ = get(os.ReadDir(dir))(t)
}

func TestEmptiedInboxDocument(t *testing.T) {
	t.Parallel()
	for name, empty := range map[string]func(path string) error{
		"by open":     func(path string) error { return os.WriteFile(path, nil, 0o600) },
		"by truncate": func(path string) error { return os.Truncate(path, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			f, m, c, path := emptiable(t)
			wantContent(t, path, "alt")
			must(t, empty(path))
			wantContent(t, path, "")
			change(t, filepath.Dir(path))
			wantContent(t, path, "")
			heals(t, "the kernel has released the file", func() bool { return m.fs.OpenHandles() == 0 })
			c.advance(2 * longTTL)
			wantNames(t, filepath.Dir(path), "scan.txt", "neu.txt")
			wantContent(t, path, "alt")
			if n := f.named(f.inbox, "scan.txt", "alt"); n != 1 || len(m.uploads()) != 0 {
				t.Errorf("the service has it %d times, uploads %+v", n, m.uploads())
			}
			must(t, os.WriteFile(path, []byte("neu"), 0o600))
			if n := f.named(f.inbox, "scan.txt", "neu"); n != 1 {
				t.Error("it cannot be written any more")
			}
		})
	}
}

func TestEmptiedAndWrittenLater(t *testing.T) {
	t.Parallel()
	f, _, c, path := emptiable(t)
	must(t, os.Truncate(path, 0))
	change(t, filepath.Dir(path))
	w := get(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))(t)
	c.advance(2 * longTTL)
	_ = get(os.ReadDir(filepath.Dir(path)))(t)
	get(w.WriteString("frisch"))(t)
	must(t, w.Close())
	if n := f.named(f.inbox, "scan.txt", "frisch"); n != 1 {
		t.Errorf("the inbox holds %+v", f.Documents(f.inbox))
	}
	wantContent(t, path, "frisch")
}

func TestEmptiedDocumentAfterAFreshMount(t *testing.T) {
	t.Parallel()
	_, m, _, path := emptiable(t)
	must(t, os.Truncate(path, 0))
	m.remount()
	wantContent(t, path, "alt")
}

// An inbox document with a temporary name is a document.
func TestDocumentWithATemporaryNameIsReplaced(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.inbox, hostile.Document{Name: "desktop.ini", Content: []byte("alt")})
	m := f.mount(t, nil)
	must(t, os.WriteFile(m.path("inboxes", "Administrator", "desktop.ini"), []byte("neu"), 0o600))
	if n := f.named(f.inbox, "desktop.ini", "neu"); n != 1 {
		t.Errorf("the inbox holds %+v", f.Documents(f.inbox))
	}
}

// The log warns when an emptied document comes back, so that nobody archives it as the new content.
func TestEmptiedDocumentThatComesBackIsLogged(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	m, log, c := f.logged(t)
	path := m.path("inboxes", "Administrator", "scan.txt")
	must(t, os.Truncate(path, 0))
	change(t, filepath.Dir(path))
	c.advance(2 * longTTL)
	log.take()
	_ = get(os.ReadDir(filepath.Dir(path)))(t)
	var said string
	heals(t, "the log tells", func() bool {
		said += log.take()
		return strings.Contains(said, `level=warning`) && strings.Contains(said, "it was emptied") && strings.Contains(said, "inboxes/Administrator/scan.txt")
	})
}
