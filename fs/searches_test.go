package fs_test

import (
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// saved are the searches of a configuration.
type saved struct{ now atomic.Pointer[[]fs.Search] }

func (s *saved) set(list ...fs.Search) { s.now.Store(&list) }

func (s *saved) read() ([]fs.Search, error) {
	if list := s.now.Load(); list != nil {
		return *list, nil
	}
	return nil, syscall.EACCES
}

// withSearches mounts with saved searches, and with a log.
func (f *foreign) withSearches(t *testing.T, list ...fs.Search) (*mounted, *saved, *journal) {
	t.Helper()
	s, j := new(saved), new(journal)
	s.set(list...)
	return f.mount(t, func(o *fs.Options) {
		o.ReadSearches, o.Log = s.read, logrus.New()
		o.Log.(*logrus.Logger).SetOutput(j)
	}), s, j
}

// searched counts the searches that the service was asked for.
func (f *foreign) searched() (n int) {
	for _, r := range f.Requests() {
		if r.Path == "/search" {
			n++
		}
	}
	return n
}

func TestSavedSearches(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "Rechnung.txt", Content: []byte("eins")})
	f.AddDocument(f.letters, hostile.Document{Name: "Rechnung.txt", Content: []byte("zwei!")})
	f.AddDocument(f.AddMandator("searches"), hostile.Document{Name: "x.txt", Content: []byte("x")})
	m, s, j := f.withSearches(t)
	top := []string{"Muster GmbH", "inboxes"}
	for _, name := range names(t, m.dir) {
		if strings.HasPrefix(name, "searches (") { // with a saved search and without
			top = append(top, name)
		}
	}
	wantNames(t, m.dir, top...)
	_, err := os.Lstat(m.path("searches"))
	wantErrno(t, "without a search", err, syscall.ENOENT)

	s.set(fs.Search{Name: "Bills", Query: "rechnung"}, fs.Search{Name: "wrong", Query: "after:gestern"})
	must(t, fs.RereadSearches(m.dir))
	wantNames(t, m.dir, slices.Concat(top, []string{"searches"})...)
	wantNames(t, m.path("searches"), "Bills", "wrong")
	if got := sh(t, m, `ls -lA "$1" "$1/searches" | grep -c '^d'`); strings.TrimSpace(got) != "6" {
		t.Errorf("%s directories", got)
	}
	if n := f.searched(); n != 0 {
		t.Errorf("%d searches before a directory of hits was opened", n)
	}
	hits := names(t, m.path("searches", "Bills"))
	if len(hits) != 2 || !strings.HasPrefix(hits[0], "Rechnung (") || hits[1] != "Rechnung.txt" {
		t.Fatalf("found %q", hits)
	}
	wantContent(t, m.path("searches", "Bills", hits[0]), "zwei!")
	if got := sh(t, m, `cd "$1/searches/Bills" && cat * && stat -Lc %s * && stat -c %s . && getfattr --only-values -n user.archive.hits .`); got != "zwei!eins5\n4\n2\n2" {
		t.Errorf("read %q", got)
	}
	if got, want := get(os.Readlink(m.path("searches", "Bills", "Rechnung.txt")))(t), "../../Muster GmbH/Rechnungen/Rechnung.txt"; got != want {
		t.Errorf("a hit leads to %s, want %s", got, want)
	}
	_, err = os.ReadDir(m.path("searches", "wrong"))
	wantErrno(t, "a wrong query", err, syscall.EINVAL)
	if log := j.take(); !strings.Contains(log, "after: takes a date") {
		t.Errorf("the log says %q", log)
	}
	for what, err := range map[string]error{
		"mkdir":  os.Mkdir(m.path("searches", "new"), 0o700),
		"create": os.WriteFile(m.path("searches", "Bills", "x.txt"), nil, 0o600),
		"rename": os.Rename(m.path("searches", "Bills"), m.path("searches", "B")),
		"move":   os.Rename(m.path("Muster GmbH", "Rechnungen", "Rechnung.txt"), m.path("searches", "Bills", "y.txt")),
		"remove": syscall.Rmdir(m.path("searches", "Bills")),
		"unlink": os.Remove(m.path("searches", "Bills", "Rechnung.txt")),
	} {
		wantErrno(t, what, err, syscall.EPERM)
	}

	// Another query under the name is another directory.
	f.AddDocument(f.letters, hostile.Document{Name: "Brief.txt", Content: []byte("drei")})
	s.set(fs.Search{Name: "Bills", Query: "brief"})
	must(t, fs.RereadSearches(m.dir))
	wantNames(t, m.path("searches"), "Bills")
	wantNames(t, m.path("searches", "Bills"), "Brief.txt")
	s.now.Store(nil)
	wantErrno(t, "reread a configuration that cannot be read", fs.RereadSearches(m.dir), fs.ErrSearches)
	wantNames(t, m.path("searches"), "Bills")
	s.set()
	must(t, m.fs.RereadSearches())
	wantNames(t, m.dir, top...)
}

// A walk over the mount sends one request for each search, and downloads nothing.
func TestWalkOverSavedSearches(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	for range 30 {
		f.AddDocument(f.bills, hostile.Document{Name: "Rechnung.txt", Content: []byte("eins")})
	}
	m, _, _ := f.withSearches(t, fs.Search{Name: "A", Query: "rechnung"}, fs.Search{Name: "B", Query: "name:rechnung"})
	if got := sh(t, m, `find "$1" | wc -l; find "$1" -type l -ls | wc -l; du -s "$1" >/dev/null`); strings.Join(strings.Fields(got), " ") != "99 60" {
		t.Errorf("found %q", got)
	}
	if n := f.searched(); n != 2 {
		t.Errorf("%d searches", n)
	}
	for _, r := range f.Requests() {
		if strings.HasSuffix(r.Path, "/content") || strings.HasSuffix(r.Path, "/pdf") && r.Method == "GET" {
			t.Errorf("downloaded %s", r.Path)
		}
	}
}

// A service without a search, and one that is away, say so when the directory is opened.
func TestSavedSearchesOnEightOperations(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{OnlyEight: true})
	m, _, j := f.withSearches(t, fs.Search{Name: "A", Query: "rechnung"})
	wantNames(t, m.path("searches"), "A")
	_, err := os.ReadDir(m.path("searches", "A"))
	wantErrno(t, "without a search", err, syscall.ENOTSUP)
	if log := j.take(); !strings.Contains(log, "the service has no search") {
		t.Errorf("the log says %q", log)
	}
	if last := m.fs.Status().LastRefusals; len(last) != 1 || last[0].Path != "/searches/A" {
		t.Errorf("the status says %+v", last)
	}
}
