package fs_test

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// silent is a service that returns no ids and lists new documents only on demand.
var silent = hostile.Config{Upload: hostile.UploadShape{Answer: hostile.UploadEmpty, VisibleAfter: 1 << 20}}

// A file that the archive confirmed stays where it is until a listing shows the document.
func TestUnlistedFileStays(t *testing.T) {
	t.Parallel()
	for name, put := range map[string]func(path string) error{
		"written": func(path string) error { return os.WriteFile(path, []byte("Inhalt"), 0o600) },
		"renamed": func(path string) error {
			if err := os.WriteFile(path+".part", []byte("Inhalt"), 0o600); err != nil {
				return err
			}
			return os.Rename(path+".part", path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, silent)
			m, c := f.slow(t)
			dir := m.path("Muster GmbH", "Briefe")
			path := filepath.Join(dir, "a.txt")
			must(t, put(path))
			old := time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)
			must(t, os.Chtimes(path, old, old))
			for range 2 {
				wantNames(t, dir, "a.txt")
				wantContent(t, path, "Inhalt")
				c.advance(longTTL * 2 / 5)
			}
			if state := get(xattr.Get(path, "user.archive.state"))(t); string(state) != "archived" {
				t.Errorf("it is %s", state)
			}
			wantErrno(t, "remove", os.Remove(path), syscall.EPERM)
			wantErrno(t, "overwrite", os.WriteFile(path, []byte("x"), 0o600), syscall.EPERM)
			wantErrno(t, "append", appendTo(path, "x"), syscall.EPERM)
			wantErrno(t, "rename", os.Rename(path, filepath.Join(dir, "b.txt")), syscall.EBUSY)
			reader := get(os.Open(path))(t)
			f.Reveal()
			c.advance(longTTL)
			wantNames(t, dir, "a.txt")
			if got := string(get(io.ReadAll(reader))(t)); got != "Inhalt" {
				t.Errorf("who had it open reads %q", got)
			}
			must(t, reader.Close())
			wantContent(t, path, "Inhalt")
			if id := get(xattr.Get(path, "user.archive.id"))(t); len(id) == 0 {
				t.Error("the document has no id")
			}
			if mtime := get(os.Stat(path))(t).ModTime(); !mtime.Equal(old) {
				t.Errorf("it is of %v", mtime)
			}
			if ups, n := m.uploads(), f.named(f.letters, "a.txt", "Inhalt"); len(ups) != 0 || n != 1 {
				t.Errorf("archived %d times, uploads %+v", n, ups)
			}
		})
	}
}

func appendTo(path, text string) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return err
	}
	if _, err := f.WriteString(text); err != nil {
		_ = f.Close()
		return err
	}
	return f.Close()
}

// A file that no listing shows for long stays, with its bytes, as failed: an answer without an id may be one of something
// in between. It becomes the document when that is listed after all.
func TestUnlistedFileIsKept(t *testing.T) {
	t.Parallel()
	f := newForeign(t, silent)
	m, c := f.slow(t)
	dir := m.path("Muster GmbH", "Briefe")
	path := filepath.Join(dir, "a.txt")
	must(t, os.WriteFile(path, []byte("Inhalt"), 0o600))
	m.becomesFailed(path, c)
	wantNames(t, dir, "a.txt")
	wantContent(t, path, "Inhalt")
	m.remount()
	wantNames(t, dir, "a.txt")
	wantContent(t, path, "Inhalt")
	m.becomesFailed(path, c)
	f.Reveal()
	must(t, m.retryNow(m.uploads()[0]))
	heals(t, "the look", func() bool { return len(m.uploads()) == 0 })
	wantNames(t, dir, "a.txt")
	wantContent(t, path, "Inhalt")
	if n := f.named(f.letters, "a.txt", "Inhalt"); n != 1 {
		t.Errorf("archived %d times", n)
	}
}

// becomesFailed waits until the file at path has failed, while time passes.
func (m *mounted) becomesFailed(path string, c *clock) {
	m.t.Helper()
	heals(m.t, path+" fails", func() bool {
		c.advance(longTTL)
		state, err := xattr.Get(path, "user.archive.state")
		return err == nil && string(state) == "failed"
	})
}

// So does one that was confirmed when the mount ended.
func TestUnlistedFileAtTheEndOfAMount(t *testing.T) {
	t.Parallel()
	for name, shown := range map[string]bool{"listed later": true, "never listed": false} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, silent)
			m, c := f.slow(t)
			dir := m.path("Muster GmbH", "Briefe")
			path := filepath.Join(dir, "a.txt")
			must(t, os.WriteFile(path, []byte("Inhalt"), 0o600))
			if shown {
				f.Reveal()
			}
			c.advance(2 * longTTL)
			m.remount()
			if shown {
				heals(t, "the look", func() bool { _, err := xattr.Get(path, "user.archive.id"); return err == nil })
			} else {
				m.becomesFailed(path, c)
			}
			wantNames(t, dir, "a.txt")
			wantContent(t, path, "Inhalt")
		})
	}
}

// What something in between answered in the place of the service is not let go, whatever the answer was.
func TestAnAnswerOfSomethingInBetween(t *testing.T) {
	t.Parallel()
	for _, async := range []bool{false, true} {
		for _, body := range []string{"", "[]", "{}", "null", "OK"} {
			t.Run(fmt.Sprintf("%q, async %v", body, async), func(t *testing.T) {
				t.Parallel()
				f := newForeign(t, hostile.Config{})
				m, c := f.slow(t, func(o *fs.Options) { o.Async = async })
				path := m.path("Muster GmbH", "Briefe", "a.txt")
				f.Fault(hostile.Fault{Method: http.MethodPost, Path: "/file-upload", Do: hostile.Answer(http.StatusOK, body)})
				must(t, os.WriteFile(path, []byte("Inhalt"), 0o600))
				heals(t, "the answer", func() bool {
					state, err := xattr.Get(path, "user.archive.state")
					return err == nil && string(state) == "archived"
				})
				m.becomesFailed(path, c)
				wantContent(t, path, "Inhalt")
				must(t, m.retryNow(m.uploads()[0]))
				heals(t, "the queue", func() bool { return len(m.uploads()) == 0 })
				if n := f.named(f.letters, "a.txt", "Inhalt"); n != 1 {
					t.Errorf("archived %d times", n)
				}
			})
		}
	}
}

// Nor is the new content of an inbox document.
func TestAnAnswerOfSomethingInBetweenToAReplacement(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"[]", "{}", "null"} {
		t.Run(body, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{})
			f.AddDocument(f.inbox, hostile.Document{Name: "a.txt", Content: []byte("before")})
			m := f.mount(t, nil)
			m.tries(2 * time.Second) // it is sent again after two looks
			path := m.path("inboxes", "Administrator", "a.txt")
			wantContent(t, path, "before")
			f.Fault(hostile.Fault{Path: "/document/{id}/replace", Do: hostile.Answer(http.StatusOK, body)})
			must(t, os.WriteFile(path, []byte("after"), 0o600))
			wantContent(t, path, "after")
			if docs := f.Documents(f.inbox); len(docs) != 1 || string(docs[0].Content) != "after" {
				t.Errorf("the inbox holds %+v", docs)
			}
		})
	}
}

// A document of the same name from another client is not mixed up with it.
func TestUnlistedFileAndAnotherOfItsName(t *testing.T) {
	t.Parallel()
	f := newForeign(t, silent)
	m, c := f.slow(t)
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.WriteFile(filepath.Join(dir, "a.txt"), []byte("Inhalt"), 0o600))
	f.AddDocument(f.letters, hostile.Document{Name: "a.txt", Content: []byte("anderer")})
	var beside string
	heals(t, "it is shown beside it", func() bool {
		c.advance(longTTL)
		found := get(filepath.Glob(filepath.Join(dir, "a (*).txt")))(t)
		if len(found) == 1 {
			beside = found[0]
		}
		return beside != ""
	})
	m.becomesFailed(beside, c)
	wantContent(t, beside, "Inhalt")
	wantContent(t, filepath.Join(dir, "a.txt"), "anderer")
	f.Reveal()
	must(t, m.retryNow(m.uploads()[0]))
	heals(t, "the look", func() bool { return len(m.uploads()) == 0 })
	wantNames(t, dir, "a.txt", filepath.Base(beside))
	wantContent(t, beside, "Inhalt")
	wantContent(t, filepath.Join(dir, "a.txt"), "anderer")
	if id := get(xattr.Get(beside, "user.archive.id"))(t); len(id) == 0 {
		t.Error("the document has no id")
	}
}

// A document that is listed a little late has its id when close returns.
func TestListedLate(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Upload: hostile.UploadShape{Answer: hostile.UploadEmpty, VisibleAfter: 2}})
	m := f.mount(t, nil)
	m.tries(time.Minute)
	path := m.path("Muster GmbH", "Briefe", "a.txt")
	must(t, os.WriteFile(path, []byte("Inhalt"), 0o600))
	if id := get(xattr.Get(path, "user.archive.id"))(t); len(id) == 0 {
		t.Error("the document has no id")
	}
	wantNames(t, m.path("Muster GmbH", "Briefe"), "a.txt")
}

// An uploaded file is read back without a download, whatever the service answers: its document data shows which
// document it became.
func TestReadingAnUploadedFileDownloadsNothing(t *testing.T) {
	t.Parallel()
	answers := map[string]hostile.Config{"listed late": silent}
	for name, answer := range map[string]hostile.UploadAnswer{
		"a number": hostile.UploadText, "a number and a line end": hostile.UploadLine, "a number as JSON": hostile.UploadNumber,
		"a text as JSON": hostile.UploadString, "an object": hostile.UploadObject, "nothing": hostile.UploadEmpty,
		"OK": hostile.UploadOK, "the number of a job": hostile.UploadJob,
	} {
		for _, onlyEight := range []bool{false, true} {
			answers[fmt.Sprintf("%s, only eight %v", name, onlyEight)] = hostile.Config{Upload: hostile.UploadShape{Answer: answer}, OnlyEight: onlyEight}
		}
	}
	for name, cfg := range answers {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, cfg)
			m, c := f.slow(t)
			dir := m.path("Muster GmbH", "Briefe")
			for _, name := range []string{"a.txt", "b.txt"} {
				must(t, os.WriteFile(filepath.Join(dir, name), []byte("Inhalt "+name), 0o600))
			}
			f.Reveal()
			c.advance(longTTL)
			wantNames(t, dir, "a.txt", "b.txt")
			for _, name := range []string{"a.txt", "b.txt"} {
				wantContent(t, filepath.Join(dir, name), "Inhalt "+name)
				if id := get(xattr.Get(filepath.Join(dir, name), "user.archive.id"))(t); len(id) == 0 {
					t.Errorf("%s has no id", name)
				}
			}
			for _, r := range f.Requests() {
				if r.Method == http.MethodGet && r.Status == http.StatusOK && strings.HasSuffix(r.Path, "/pdf") {
					t.Errorf("it downloads %s", r.Path)
				}
			}
		})
	}
}
