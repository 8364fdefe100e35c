package fs_test

import (
	"errors"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// async is a mount with --writes async that has listed the whole archive, and the line to its
// service.
type async struct {
	*foreign
	*mounted
	line                  *line
	letters, bills, inbox string // directories; foreign has their folders
}

// newAsync mounts a service that fill has filled.
func newAsync(t testing.TB, cfg hostile.Config, fill ...func(*foreign)) *async {
	t.Helper()
	return newAsyncWith(t, cfg, func(*fs.Options) {}, fill...)
}

// newAsyncWith is newAsync with other options.
func newAsyncWith(t testing.TB, cfg hostile.Config, tweak func(*fs.Options), fill ...func(*foreign)) *async {
	t.Helper()
	f := newForeign(t, cfg)
	for _, put := range fill {
		put(f)
	}
	l, address := newLine(t, f.url)
	a := &async{foreign: f, line: l, mounted: mount(t, address, f.cred, func(o *fs.Options) { o.Async = true; tweak(o) })}
	a.letters, a.bills = a.path("Muster GmbH", "Briefe"), a.path("Muster GmbH", "Rechnungen")
	a.inbox = a.path("inboxes", "Administrator")
	for _, dir := range []string{a.dir, a.path("Muster GmbH"), a.letters, a.bills, a.path("inboxes"), a.inbox} {
		names(t, dir)
	}
	return a
}

// waits are ways in which a service accepts no uploads for a while.
var waits = map[string]struct {
	begin, end func(*async)
}{
	"away": {
		func(a *async) {
			a.line.cut()
			if _, err := os.ReadDir(a.search("anything")); err == nil { // the client refuses before it sends a request
				a.t.Error("the service answers")
			}
		},
		func(a *async) { a.line.mend() },
	},
	"busy": {
		func(a *async) {
			a.Fault(hostile.Fault{Method: "POST", Times: hostile.Always, Do: hostile.Answer(503, "come again")})
		},
		func(a *async) { a.ClearFaults() },
	},
}

// pending returns the uploads that have not failed.
func (m *mounted) pending() (list []fs.UploadInfo) {
	return slices.DeleteFunc(m.uploads(), func(u fs.UploadInfo) bool { return u.State != "pending" })
}

// sends retries pending uploads, as a person would, until all are archived or failed.
func (m *mounted) sends() {
	m.t.Helper()
	heals(m.t, "all is archived", func() bool {
		list := m.pending()
		for _, u := range list {
			err := m.retryNow(u)
			if err != nil && !errors.Is(err, syscall.ENOENT) && !errors.Is(err, syscall.EBUSY) {
				m.t.Errorf("send %s: %v", u.Path, err)
			}
		}
		return len(list) == 0
	})
}

// kept returns the file of an upload in the control directory.
func (m *mounted) kept(u fs.UploadInfo) string {
	return m.path(".archivefs", "uploads", u.ID+" "+filepath.Base(u.Path))
}

func (m *mounted) retryNow(u fs.UploadInfo) error {
	return xattr.Set(m.kept(u), "user.archive.retry", []byte("true"))
}

// holds returns what a folder of the service holds, as "name=content", sorted.
func (f *foreign) holds(folder int64) (list []string) {
	for _, d := range f.Documents(folder) {
		list = append(list, d.Name+"="+string(d.Content))
	}
	slices.Sort(list)
	return list
}

// wantHolds fails the test unless a folder of the service has exactly these documents, as
// "name=content".
func (f *foreign) wantHolds(t testing.TB, folder int64, want ...string) {
	t.Helper()
	slices.Sort(want)
	if got := f.holds(folder); !slices.Equal(got, want) {
		t.Errorf("folder %d holds %.300q, want %.300q", folder, got, want)
	}
}

func write(t testing.TB, path, content string) {
	t.Helper()
	soon(t, func() error { return os.WriteFile(path, []byte(content), 0o600) })
}

// soon repeats a change of a file while the mount still looks whether the archive has it.
func soon(t testing.TB, change func() error) {
	t.Helper()
	heals(t, "it is known whether the archive has it", func() bool {
		err := change()
		if errors.Is(err, syscall.EBUSY) {
			return false
		}
		must(t, err)
		return true
	})
}

func TestAsyncCloseDoesNotWait(t *testing.T) {
	t.Parallel()
	a := newAsync(t, hostile.Config{})
	gate := hostile.NewGate()
	a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.StallBefore(gate)})
	path := filepath.Join(a.letters, "a.txt")
	write(t, path, "Inhalt")
	<-gate.Arrived()
	write(t, filepath.Join(a.letters, "b.txt"), "another")
	if got := attr(t, path, "state"); got != "pending" {
		t.Errorf("state is %q", got)
	}
	wantNames(t, a.letters, "a.txt", "b.txt")
	wantContent(t, path, "Inhalt")
	if info := get(os.Stat(path))(t); info.Size() != 6 {
		t.Errorf("a pending file has %d bytes", info.Size())
	}
	gate.Open()
	heals(t, "it is archived", func() bool { return attr(t, path, "state") == "archived" && len(a.uploads()) == 0 })
	a.wantHolds(t, a.foreign.letters, "a.txt=Inhalt", "b.txt=another")
	wantNames(t, a.letters, "a.txt", "b.txt")
	wantContent(t, path, "Inhalt")
	wantErrno(t, "overwrite", os.WriteFile(path, nil, 0o600), syscall.EPERM)
}

// An error that is known at close is returned by close.
func TestAsyncCloseReturnsLocalErrors(t *testing.T) {
	t.Parallel()
	a := newAsync(t, hostile.Config{})
	wantErrno(t, "half a PDF", os.WriteFile(filepath.Join(a.letters, "halb.pdf"), []byte("%PDF-1.7\nhalf of it"), 0o600), syscall.EIO)
	wantNames(t, a.letters)
	part := filepath.Join(a.letters, "halb.pdf.part")
	write(t, part, "%PDF-1.7\nhalf of it")
	wantErrno(t, "rename of half a PDF", os.Rename(part, filepath.Join(a.letters, "halb.pdf")), syscall.EIO)
	wantNames(t, a.letters, "halb.pdf.part")
	if ups := a.uploads(); len(ups) != 1 || ups[0].State != "failed" || ups[0].Size != 19 {
		t.Errorf("uploads: %+v", ups)
	}
	a.unmount()
	a.wantHolds(t, a.foreign.letters)
}

// pendingChange is a change of Briefe/a.txt, which is pending and contains "Inhalt".
type pendingChange struct {
	do func(t *testing.T, a *async, path string)
	// letters, bills and inbox are the final contents of the archive.
	letters, bills, inbox []string
	local                 []string // what is local in Briefe
}

var unchanged = pendingChange{letters: []string{"a.txt=Inhalt"}}

var pendingChanges = map[string]pendingChange{
	"nothing": {do: func(*testing.T, *async, string) {}, letters: unchanged.letters},
	"renamed": {do: moves("a.txt", "Briefe/b.txt"), letters: []string{"b.txt=Inhalt"}},
	"moved":   {do: moves("a.txt", "Rechnungen/b.txt"), bills: []string{"b.txt=Inhalt"}},
	"moved there and back": {do: func(t *testing.T, a *async, path string) {
		must(t, os.Rename(path, filepath.Join(a.bills, "b.txt")))
		must(t, os.Rename(filepath.Join(a.bills, "b.txt"), path))
	}, letters: unchanged.letters},
	"moved to an inbox": {do: func(t *testing.T, a *async, path string) {
		must(t, os.Rename(path, filepath.Join(a.inbox, "a.txt")))
	}, inbox: unchanged.letters},
	"moved from an inbox": {do: func(t *testing.T, a *async, path string) {
		write(t, filepath.Join(a.inbox, "b.txt"), "from the inbox")
		must(t, os.Rename(filepath.Join(a.inbox, "b.txt"), filepath.Join(a.bills, "b.txt")))
	}, letters: unchanged.letters, bills: []string{"b.txt=from the inbox"}},
	"renamed to a temporary name": {do: moves("a.txt", "Briefe/a.pdf.part"), local: []string{"a.pdf.part"}},
	"renamed to a temporary name and back": {do: func(t *testing.T, a *async, path string) {
		must(t, os.Rename(path, path+".part"))
		must(t, os.Rename(path+".part", path))
	}, letters: unchanged.letters},
	"put into the trash": {do: func(t *testing.T, a *async, path string) {
		must(t, os.MkdirAll(filepath.Join(a.letters, ".Trash-0", "files"), 0o700))
		must(t, os.Rename(path, filepath.Join(a.letters, ".Trash-0", "files", "a.txt")))
	}, local: []string{".Trash-0"}},
	"over another pending one": {do: func(t *testing.T, a *async, path string) {
		write(t, filepath.Join(a.bills, "b.txt"), "replaced")
		must(t, os.Rename(path, filepath.Join(a.bills, "b.txt")))
	}, bills: []string{"b.txt=Inhalt"}},
	"over an empty file": {do: func(t *testing.T, a *async, path string) {
		write(t, filepath.Join(a.letters, "b.txt"), "")
		must(t, os.Rename(path, filepath.Join(a.letters, "b.txt")))
	}, letters: []string{"b.txt=Inhalt"}},
	"a temporary file over it": {do: func(t *testing.T, a *async, path string) {
		write(t, path+".part", "new")
		must(t, os.Rename(path+".part", path))
	}, letters: []string{"a.txt=new"}},
	"renamed over an archived one": {do: func(t *testing.T, a *async, path string) {
		wantErrno(t, "rename", os.Rename(path, filepath.Join(a.bills, "da.txt")), syscall.EPERM)
	}, letters: unchanged.letters},
	"renamed to the top": {do: func(t *testing.T, a *async, path string) {
		wantErrno(t, "rename", os.Rename(path, a.path("a.txt")), syscall.EPERM)
	}, letters: unchanged.letters},
	"overwritten": {do: func(t *testing.T, _ *async, path string) { write(t, path, "new and longer") }, letters: []string{"a.txt=new and longer"}},
	"overwritten twice": {do: func(t *testing.T, _ *async, path string) {
		write(t, path, "new and longer")
		write(t, path, "newer")
	}, letters: []string{"a.txt=newer"}},
	"overwritten with the same": {do: func(t *testing.T, _ *async, path string) { write(t, path, "Inhalt") }, letters: unchanged.letters},
	"appended to":               {do: opens(os.O_WRONLY|os.O_APPEND, " und mehr"), letters: []string{"a.txt=Inhalt und mehr"}},
	"written at its begin":      {do: opens(os.O_RDWR, "Au"), letters: []string{"a.txt=Auhalt"}},
	"opened and closed":         {do: opens(os.O_RDWR, ""), letters: unchanged.letters},
	"shortened":                 {do: truncates(2), letters: []string{"a.txt=In"}},
	"lengthened":                {do: truncates(8), letters: []string{"a.txt=Inhalt\x00\x00"}},
	"emptied":                   {do: truncates(0), local: []string{"a.txt"}},
	"emptied and written":       {do: func(t *testing.T, a *async, path string) { truncates(0)(t, a, path); write(t, path, "new") }, letters: []string{"a.txt=new"}},
	"removed":                   {do: func(t *testing.T, _ *async, path string) { must(t, os.Remove(path)) }},
	"removed and made anew": {do: func(t *testing.T, _ *async, path string) {
		must(t, os.Remove(path))
		write(t, path, "new")
	}, letters: []string{"a.txt=new"}},
	"removed while it is open": {do: removedWhileOpen},
	"changed in time and mode": {do: func(t *testing.T, _ *async, path string) {
		must(t, os.Chmod(path, 0o400))
		must(t, os.Chtimes(path, get(os.Stat("/"))(t).ModTime(), get(os.Stat("/"))(t).ModTime()))
		soon(t, func() error { return setAttr(path, "keywords", "rot,blau") })
	}, letters: unchanged.letters},
}

func moves(from, to string) func(*testing.T, *async, string) {
	return func(t *testing.T, a *async, _ string) {
		must(t, os.Rename(filepath.Join(a.letters, from), a.path("Muster GmbH", to)))
	}
}

// opens opens the file, and writes text through the handle if there is any.
func opens(flags int, text string) func(*testing.T, *async, string) {
	return func(t *testing.T, _ *async, path string) {
		var w *os.File
		soon(t, func() (err error) { w, err = os.OpenFile(path, flags, 0); return err })
		if text != "" {
			get(w.WriteString(text))(t)
		}
		must(t, w.Close())
	}
}

func truncates(size int64) func(*testing.T, *async, string) {
	return func(t *testing.T, _ *async, path string) { soon(t, func() error { return os.Truncate(path, size) }) }
}

func removedWhileOpen(t *testing.T, _ *async, path string) {
	w := get(os.OpenFile(path, os.O_RDWR|os.O_APPEND, 0))(t)
	must(t, os.Remove(path))
	get(w.WriteString(" und mehr"))(t)
	if got := string(get(io.ReadAll(io.NewSectionReader(w, 0, 100)))(t)); got != "Inhalt und mehr" {
		t.Errorf("the open file holds %q", got)
	}
	must(t, w.Close())
}

// Every operation on a file works while the file waits for the service, whether some of it may have
// been sent or not, and has exactly its usual effect.
func TestChangesOfAPendingFile(t *testing.T) {
	t.Parallel()
	for way, wait := range waits {
		for _, remounts := range []bool{false, true} {
			for name, c := range pendingChanges {
				t.Run(way+"/"+name+map[bool]string{true: "/over a mount"}[remounts], func(t *testing.T) {
					t.Parallel()
					a := newAsync(t, hostile.Config{}, func(f *foreign) {
						f.AddDocument(f.bills, hostile.Document{Name: "da.txt", Content: []byte("da")})
					})
					wantContent(t, filepath.Join(a.bills, "da.txt"), "da")
					wait.begin(a)
					write(t, filepath.Join(a.letters, "a.txt"), "Inhalt")
					heals(t, "it was tried", func() bool { ups := a.uploads(); return len(ups) == 1 && ups[0].Waits })
					c.do(t, a, filepath.Join(a.letters, "a.txt"))
					c.wantShown(t, a)
					if remounts {
						a.unmount()
					}
					wait.end(a)
					if remounts {
						a.remount()
						names(t, a.letters)
					}
					a.sends()
					c.wantShown(t, a)
					a.wantHolds(t, a.foreign.letters, c.letters...)
					a.wantHolds(t, a.foreign.bills, append(c.bills, "da.txt=da")...)
					a.wantHolds(t, a.foreign.inbox, c.inbox...)
					if ups := a.uploads(); len(ups) != 0 {
						t.Errorf("uploads: %+v", ups)
					}
				})
			}
		}
	}
}

// wantShown fails the test unless the folders show the expected contents of the archive, and the
// local files.
func (c *pendingChange) wantShown(t *testing.T, a *async) {
	t.Helper()
	for dir, docs := range map[string][]string{a.letters: c.letters, a.bills: append(c.bills[:len(c.bills):len(c.bills)], "da.txt=da"), a.inbox: c.inbox} {
		want := map[string]bool{}
		for _, doc := range docs {
			name, content, _ := strings.Cut(doc, "=")
			want[name] = true
			wantContent(t, filepath.Join(dir, name), content)
		}
		if dir == a.letters {
			for _, name := range c.local {
				want[name] = true
			}
		}
		wantNames(t, dir, slices.Collect(maps.Keys(want))...)
	}
}

// A pending file that is removed is discarded, also from the queue.
func TestRemovedWhileItWaits(t *testing.T) {
	t.Parallel()
	for way, wait := range waits {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			a := newAsync(t, hostile.Config{})
			wait.begin(a)
			path := filepath.Join(a.letters, "a.txt")
			write(t, path, "Inhalt")
			heals(t, "it was tried", func() bool { ups := a.uploads(); return len(ups) == 1 && ups[0].Waits })
			soon(t, func() error { return os.Remove(path) })
			wait.end(a)
			write(t, filepath.Join(a.letters, "b.txt"), "another")
			heals(t, "the queue is empty", func() bool { return len(a.uploads()) == 0 && a.fs.Status().Uploads.Sending == 0 })
			a.wantHolds(t, a.foreign.letters, "b.txt=another")
			for _, last := range a.fs.Status().LastErrors {
				if strings.Contains(last.Text, "removed") {
					t.Errorf("last error %+v", last)
				}
			}
		})
	}
}
