package fs_test

import (
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

// inBetween is what answers to everything in place of a service that is away.
var inBetween = map[string]hostile.Action{
	"a login page":          hostile.LoginPage(),
	"a page without a type": hostile.Answer(200, "\n<html><body>Maintenance</body></html>", "Content-Type", ""),
	"a redirect elsewhere":  hostile.Redirect(302, "http://127.0.0.1:9"),
	"a gateway":             hostile.Answer(502, "<html><h1>502 Bad Gateway</h1></html>", "Content-Type", "text/html"),
	"a gateway that waits":  hostile.Answer(504, ""),
	"a portal":              hostile.Answer(511, "<html>Log in</html>", "Content-Type", "text/html"),
	"a large proxy":         hostile.Answer(522, ""),
	"an empty object":       hostile.Answer(200, "{}", "Content-Type", "application/json"),
	"null":                  hostile.Answer(200, "null", "Content-Type", "application/json"),
	"an empty array":        hostile.Answer(200, "[]", "Content-Type", "application/json"),
	"empty arrays":          hostile.Answer(200, `{"status":"ok","folders":[],"inboxes":[]}`, "Content-Type", "application/json"),
	"null arrays":           hostile.Answer(200, `{"folders":null,"inboxes":null}`, "Content-Type", "application/json"),
	"an error in JSON":      hostile.Answer(200, `{"error":"session expired"}`, "Content-Type", "application/json"),
	"nothing":               hostile.Answer(204, ""),
	"404":                   hostile.Answer(404, "404 page not found"),
	"404 in JSON":           hostile.Answer(404, `{"message":"no Route matched"}`, "Content-Type", "application/json"),
}

// Whatever answers in place of the service, what is known is shown, what is cached or kept is read, files
// are queued, and a mount starts; when the service is back everything is as before.
func TestSomethingInBetweenIsNotTheService(t *testing.T) {
	t.Parallel()
	for name, answer := range inBetween {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{})
			f.AddDocument(f.bills, hostile.Document{Name: "read.txt", Content: []byte("read")})
			f.AddDocument(f.bills, hostile.Document{Name: "page.html", Content: []byte("<html>a document</html>")})
			f.AddDocument(f.inbox, hostile.Document{Name: "kept.txt", Content: []byte("kept")})
			m := f.mount(t, func(o *fs.Options) { o.TTL, o.Async = time.Millisecond, true })
			bills, letters, inbox := m.path("Muster GmbH", "Rechnungen"), m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
			must(t, xattr.Set(inbox, keepAttr, []byte("1")))
			m.keeps(fs.KeptComplete)
			look := func() {
				t.Helper()
				wantNames(t, m.dir, "Muster GmbH", "inboxes")
				wantNames(t, m.path("Muster GmbH"), "Briefe", "Rechnungen")
				wantNames(t, m.path("inboxes"), "Administrator")
				wantNames(t, bills, "page.html", "read.txt")
				wantNames(t, inbox, "kept.txt")
				wantContent(t, filepath.Join(bills, "read.txt"), "read")
				wantContent(t, filepath.Join(inbox, "kept.txt"), "kept")
			}
			look()
			wantNames(t, letters)
			f.Fault(hostile.Fault{Times: hostile.Always, Do: answer})
			for range 3 {
				look()
			}
			_, err := os.ReadFile(filepath.Join(bills, "page.html"))
			wantErrno(t, "read what is not cached", err, syscall.EIO)
			if s := m.fs.Status(); s.Health != fs.HealthAway || len(s.LastErrors) == 0 {
				t.Errorf("health %s, errors %+v", s.Health, s.LastErrors)
			}
			must(t, os.WriteFile(filepath.Join(letters, "new.txt"), []byte("new"), 0o600))
			wantContent(t, filepath.Join(letters, "new.txt"), "new")
			m.remount()
			look()
			wantContent(t, filepath.Join(letters, "new.txt"), "new")
			heals(t, "the queue waits", func() bool { return m.fs.Status().Health == fs.HealthAway })
			if docs := f.Documents(f.letters); len(docs) != 0 {
				t.Errorf("archived through something in between: %+v", docs)
			}
			f.ClearFaults()
			heals(t, "the queue", func() bool { return len(m.uploads()) == 0 })
			look()
			wantContent(t, filepath.Join(bills, "page.html"), "<html>a document</html>")
			if docs := f.Documents(f.letters); len(docs) != 1 {
				t.Errorf("archived %+v", docs)
			}
		})
	}
}

// A service whose folder lost its last document lists it as empty.
func TestAFolderBecomesEmpty(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	doc := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	below := f.AddFolder(f.letters, "2024")
	m := f.mount(t, func(o *fs.Options) { o.TTL = time.Millisecond })
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
	wantNames(t, m.path("Muster GmbH", "Briefe"), "2024")
	f.Remove(doc)
	f.RemoveFolder(below)
	wantNames(t, m.path("Muster GmbH", "Rechnungen"))
	wantNames(t, m.path("Muster GmbH", "Briefe"))
	_, err := os.Stat(m.path("Muster GmbH", "Rechnungen", "a.txt"))
	wantErrno(t, "a document that was removed", err, syscall.ENOENT)
	if away := m.fs.Away(); away != nil {
		t.Errorf("away: %+v", away)
	}
}

// Null is no list of documents, also where the rest of the service answers.
func TestAListOfDocumentsThatIsNull(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	doc := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	m := f.mount(t, func(o *fs.Options) { o.TTL = time.Millisecond })
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
	f.Configure(func(cfg *hostile.Config) { cfg.List.EmptyNull = true })
	f.Remove(doc)
	for range 3 {
		wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
	}
}

// The top of an archive that lists nothing any more stays as it was, and the status says why.
func TestAnArchiveIsEmptyAllOfASudden(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, func(o *fs.Options) { o.TTL = time.Millisecond })
	wantNames(t, m.path("Muster GmbH"), "Briefe", "Rechnungen")
	f.RemoveFolder(f.mandator)
	wantNames(t, m.dir, "Muster GmbH", "inboxes")
	if away := m.fs.Away(); away == nil || !strings.Contains(away.Text, "empty all of a sudden") {
		t.Errorf("away: %+v", away)
	}
	m.remount()
	wantNames(t, m.path("Muster GmbH"), "Briefe", "Rechnungen")
}
