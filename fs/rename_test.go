package fs_test

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestMoveOutOfAnInboxArchives(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.put(t, o.inbox, "x.pdf", "%PDF-1.4 x %%EOF")
	m := o.mount(t, nil)
	must(t, os.Rename(m.path("inboxes", "Administrator", "x.pdf"), m.path("Muster GmbH", "Rechnungen", "y.pdf")))
	posts := o.asked("POST", "/document/"+strconv.FormatInt(int64(id), 10)+"/archive")
	if len(posts) != 1 || len(o.asked("POST", "")) != 1 {
		t.Fatalf("%d archive requests of %d changes", len(posts), len(o.asked("POST", "")))
	}
	p := posts[0].Form
	if form(p, "target-folder-id") != strconv.FormatInt(int64(o.bills), 10) || form(p, "target-document-name") != "y.pdf" {
		t.Errorf("sent %v", p)
	}
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "y.pdf"), "%PDF-1.4 x %%EOF")
	wantNames(t, m.path("inboxes", "Administrator"))
	wantArchived(t, o, o.bills, "y.pdf=%PDF-1.4 x %%EOF")
}

func TestMoveWithTheSameNameSendsNone(t *testing.T) {
	t.Parallel()
	for name, keeps := range map[string]bool{"new id": false, "same id": true} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{ArchiveKeepsID: keeps})
			f.AddDocument(f.inbox, hostile.Document{Name: "Rechnung 5", Content: []byte("eins")})
			f.AddDocument(f.inbox, hostile.Document{Name: "Rechnung 5", Content: []byte("zwei")})
			m := f.mount(t, nil)
			shown := names(t, m.path("inboxes", "Administrator"))
			for _, n := range shown {
				must(t, os.Rename(m.path("inboxes", "Administrator", n), m.path("Muster GmbH", "Rechnungen", n)))
			}
			for _, r := range f.RequestsTo("POST", "/document/{id}/archive") {
				if r.Form.Has("target-document-name") {
					t.Errorf("a name was sent: %v", r.Form)
				}
			}
			wantNames(t, m.path("Muster GmbH", "Rechnungen"), shown...)
			for _, d := range f.Documents(f.bills) {
				if d.Name != "Rechnung 5" {
					t.Errorf("archived as %q", d.Name)
				}
			}
		})
	}
}

func TestUnsupportedMoves(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	box := get(o.AddInbox(t.Context(), 2, "Erika"))(t)
	_ = box
	o.put(t, o.inbox, "a.txt", "a")
	o.put(t, o.bills, "b.txt", "b")
	m := o.mount(t, nil)
	in, bills, letters := m.path("inboxes", "Administrator"), m.path("Muster GmbH", "Rechnungen"), m.path("Muster GmbH", "Briefe")
	must(t, os.Mkdir(filepath.Join(in, ".Trash-0"), 0o700))
	for _, c := range []struct {
		what, from, to string
		want           syscall.Errno
	}{
		{"archived elsewhere", filepath.Join(bills, "b.txt"), filepath.Join(letters, "b.txt"), syscall.EPERM},
		{"archived to inbox", filepath.Join(bills, "b.txt"), filepath.Join(in, "b.txt"), syscall.EPERM},
		{"inbox to inbox", filepath.Join(in, "a.txt"), m.path("inboxes", "Erika", "a.txt"), syscall.EPERM},
		{"inbox to the top", filepath.Join(in, "a.txt"), m.path("a.txt"), syscall.EPERM},
		{"inbox to trash", filepath.Join(in, "a.txt"), filepath.Join(in, ".Trash-0", "a.txt"), syscall.EPERM},
		{"a folder", letters, m.path("Muster GmbH", "Post"), syscall.EPERM},
		{"a folder into another", letters, filepath.Join(bills, "Briefe"), syscall.EPERM},
		{"a mandator", m.path("Muster GmbH"), m.path("Muster AG"), syscall.EPERM},
		{"an inbox", in, m.path("inboxes", "Admin"), syscall.EPERM},
		{"onto an archived document", filepath.Join(in, "a.txt"), filepath.Join(bills, "b.txt"), syscall.EPERM},
	} {
		wantErrno(t, c.what, os.Rename(c.from, c.to), c.want)
	}
	wantErrno(t, "rmdir", os.Remove(letters), syscall.EPERM)
	wantErrno(t, "remove from an inbox", os.Remove(filepath.Join(in, "a.txt")), syscall.EPERM)
	if n := len(o.asked("POST", "")); n != 0 {
		t.Errorf("%d requests changed something", n)
	}
}

func TestRenameWithinTheFolder(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.bills, "b.txt", "b")
	m := o.mount(t, nil)
	must(t, os.Rename(m.path("Muster GmbH", "Rechnungen", "b.txt"), m.path("Muster GmbH", "Rechnungen", "c.txt")))
	wantArchived(t, o, o.bills, "c.txt=b")
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "c.txt")
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "c.txt"), "b")
}

func TestTemporaryNameToRealNameArchives(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.WriteFile(filepath.Join(dir, "brief.txt.part"), []byte("Inhalt"), 0o600))
	must(t, os.Rename(filepath.Join(dir, "brief.txt.part"), filepath.Join(dir, "x.crdownload")))
	wantArchived(t, o, o.letters)
	w := get(os.OpenFile(filepath.Join(dir, "x.crdownload"), os.O_WRONLY|os.O_APPEND, 0))(t)
	get(w.WriteString(" und mehr"))(t)
	must(t, w.Close())
	must(t, os.WriteFile(filepath.Join(dir, "brief.txt"), nil, 0o600)) // a placeholder
	must(t, os.Rename(filepath.Join(dir, "x.crdownload"), filepath.Join(dir, "brief.txt")))
	wantArchived(t, o, o.letters, "brief.txt=Inhalt und mehr")
	wantNames(t, dir, "brief.txt")
	must(t, os.Chmod(filepath.Join(dir, "brief.txt"), 0o644))
	old := time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)
	must(t, os.Chtimes(filepath.Join(dir, "brief.txt"), old, old))
	if n := len(o.asked("POST", "")); n != 1 {
		t.Errorf("%d requests changed something", n)
	}
	wantErrno(t, "part beside an archived document", os.WriteFile(filepath.Join(dir, "brief.txt.part"), nil, 0o600), syscall.EPERM)
	must(t, os.WriteFile(filepath.Join(dir, ".brief.txt.a1B2c3"), []byte("anders"), 0o600))
	wantErrno(t, "rename over an archived document", os.Rename(filepath.Join(dir, ".brief.txt.a1B2c3"), filepath.Join(dir, "brief.txt")), syscall.EPERM)
	wantArchived(t, o, o.letters, "brief.txt=Inhalt und mehr")
}

func TestTemporaryNameOverInboxDocumentReplaces(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "alt")
	m := o.mount(t, nil)
	dir := m.path("inboxes", "Administrator")
	must(t, os.WriteFile(filepath.Join(dir, ".goutputstream-AB12CD"), []byte("neu"), 0o600))
	must(t, os.Rename(filepath.Join(dir, ".goutputstream-AB12CD"), filepath.Join(dir, "scan.txt")))
	wantArchived(t, o, o.inbox, "scan.txt=neu")
	wantNames(t, dir, "scan.txt")
	wantContent(t, filepath.Join(dir, "scan.txt"), "neu")
}

func TestRefusedRenameKeepsTheTemporaryName(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.WriteFile(filepath.Join(dir, "a.part"), []byte("Inhalt"), 0o600))
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Nth: 1, Times: 1, Do: hostile.Answer(400, "no")})
	wantErrno(t, "rename", os.Rename(filepath.Join(dir, "a.part"), filepath.Join(dir, "a.txt")), syscall.EPERM)
	wantNames(t, dir, "a.part")
	wantContent(t, filepath.Join(dir, "a.part"), "Inhalt")
	must(t, os.Rename(filepath.Join(dir, "a.part"), filepath.Join(dir, "a.txt")))
	if docs := f.Documents(f.letters); len(docs) != 1 || docs[0].Name != "a.txt" {
		t.Errorf("the archive holds %v", docs)
	}
}

// A refused temporary file has the reason in an attribute until it changes, and so has the log.
func TestRefusedRenameSaysWhy(t *testing.T) {
	t.Parallel()
	half := []byte("%PDF-1.4\n" + strings.Repeat("x", 5000))
	for name, tt := range map[string]struct {
		content []byte
		do      hostile.Action
		reason  string
	}{
		"half":    {half, nil, "the end of the file is missing"},
		"refused": {append(half, "\n%%EOF\n"...), hostile.Answer(400, "no such folder type"), "no such folder type"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			m, log, _ := f.logged(t)
			if tt.do != nil {
				f.Fault(hostile.Fault{Path: "/file-upload", Do: tt.do})
			}
			dir := m.path("Muster GmbH", "Briefe")
			part := filepath.Join(dir, "a.pdf.part")
			must(t, os.WriteFile(part, tt.content, 0o600))
			if err := os.Rename(part, filepath.Join(dir, "a.pdf")); err == nil {
				t.Fatal("renamed")
			}
			if got := log.take(); !strings.Contains(got, tt.reason) {
				t.Errorf("the log says %q", got)
			}
			for range 2 {
				if got := attr(t, part, "error"); !strings.Contains(got, tt.reason) {
					t.Errorf("its error is %q", got)
				}
				m.remount()
			}
			must(t, os.WriteFile(part, []byte("%PDF-1.4\n%%EOF\n"), 0o600))
			_, err := xattr.Get(part, "user.archive.error")
			wantErrno(t, "the error of what changed", err, syscall.ENODATA)
			must(t, os.Rename(part, filepath.Join(dir, "a.pdf")))
		})
	}
}

func TestMkdir(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	must(t, os.MkdirAll(m.path("Muster GmbH", "Neu", "Tiefer"), 0o700))
	if posts := o.asked("POST", "/folder/create"); len(posts) != 2 || form(posts[0].Form, "folder-name") != "Neu" {
		t.Errorf("sent %v", posts)
	}
	must(t, os.WriteFile(m.path("Muster GmbH", "Neu", "Tiefer", "a.txt"), []byte("a"), 0o600))
	must(t, os.Mkdir(m.path("inboxes", "Administrator", "Unterordner"), 0o700))
	m.remount()
	wantContent(t, m.path("Muster GmbH", "Neu", "Tiefer", "a.txt"), "a")
	wantNames(t, m.path("inboxes", "Administrator"), "Unterordner")
	wantErrno(t, "mkdir of what is there", os.Mkdir(m.path("Muster GmbH", "Neu"), 0o700), syscall.EEXIST)
	wantErrno(t, "mkdir at the top", os.Mkdir(m.path("Neu"), 0o700), syscall.EPERM)
}

func TestMkdirWithLostAnswer(t *testing.T) {
	t.Parallel()
	for name, do := range map[string]hostile.Action{
		"lost after": hostile.DropAfter(), "lost before": hostile.DropBefore(), "503": hostile.Answer(503, "", "Retry-After", "0"),
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			m := f.mount(t, nil)
			m.tries(time.Minute)
			f.Fault(hostile.Fault{Method: "POST", Path: "/folder/create", Nth: 1, Times: 1, Do: do})
			must(t, os.Mkdir(m.path("Muster GmbH", "Neu"), 0o700))
			if n := len(f.Folders(f.mandator)); n != 3 {
				t.Errorf("%d folders, want 3", n)
			}
		})
	}
}

func TestMkdirWhereTheStructureIsNotFree(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Structure: hostile.StructureShape{Free: hostile.FreeFalse}})
	m := f.mount(t, nil)
	wantErrno(t, "mkdir", os.Mkdir(m.path("Muster GmbH", "Neu"), 0o700), syscall.EPERM)
	if n := f.Count("POST", "/folder/create"); n != 0 {
		t.Errorf("asked %d times", n)
	}
}

func TestDeleteInboxDocument(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "x")
	m := o.mount(t, func(opts *fs.Options) { opts.AllowDelete = true })
	must(t, os.Remove(m.path("inboxes", "Administrator", "scan.txt")))
	wantArchived(t, o, o.inbox)
	wantNames(t, m.path("inboxes", "Administrator"))
}
