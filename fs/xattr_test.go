package fs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func attr(t testing.TB, path, name string) string {
	t.Helper()
	return string(get(xattr.Get(path, "user.archive."+name))(t))
}

func setAttr(path, name, value string) error {
	return xattr.Set(path, "user.archive."+name, []byte(value))
}

func TestAttributesOfDocuments(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := get(o.AddDocument(t.Context(), server.NewDocument{
		Folder: o.bills, Name: "r.txt", Archived: time.Now(), Keywords: []string{"a", "b, c"},
		Metadata: []archive.KeyValue{{Key: "Betrag", Value: "1.234,56"}},
		Notes:    []archive.Note{{Text: "bezahlt"}},
	}, strings.NewReader("x")))(t)
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Rechnungen", "r.txt")
	for name, want := range map[string]string{
		"id": strconv.FormatInt(int64(id), 10), "name": "r.txt", "pages": "1", "state": "archived",
		"auto-export": "false", "keywords": `a,b\, c`, "metadata.Betrag": "1.234,56",
	} {
		if got := attr(t, path, name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if got := attr(t, path, "notes"); !strings.Contains(got, "bezahlt") {
		t.Errorf("notes are %s", got)
	}
	listed := get(xattr.List(path))(t)
	if !slices.Contains(listed, "user.archive.keywords") || slices.Contains(listed, "user.archive.data") {
		t.Errorf("listed are %q", listed)
	}
	for name, want := range map[string]syscall.Errno{
		"id": syscall.EPERM, "state": syscall.EPERM, "nonsense": syscall.ENOTSUP, "kind": syscall.ENOTSUP,
		"external-id": syscall.EPERM, "document-types": syscall.EPERM, "email-import-order": syscall.EPERM,
		"force-new-document": syscall.EPERM, "error": syscall.EPERM, "retry": syscall.EPERM,
	} {
		wantErrno(t, "set "+name, setAttr(path, name, "1"), want)
	}
	_, err := xattr.Get(path, "user.archive.external-id")
	wantErrno(t, "what an upload took along", err, syscall.ENODATA)
	wantErrno(t, "remove it", xattr.Remove(path, "user.archive.external-id"), syscall.ENODATA)
	wantErrno(t, "bad value", setAttr(path, "auto-export", "maybe"), syscall.EINVAL)
	wantErrno(t, "foreign attribute", xattr.Set(path, "user.other", []byte("x")), syscall.ENOTSUP)
	_, err = xattr.Get(path, "user.archive.error")
	wantErrno(t, "absent attribute", err, syscall.ENODATA)
	_, err = xattr.Get(path, "user.archive.nonsense")
	wantErrno(t, "unknown attribute", err, syscall.ENOTSUP)
	_, err = xattr.Get(path, "security.selinux")
	wantErrno(t, "other namespace", err, syscall.ENOTSUP)
}

func TestAutoExportIsSetOnce(t *testing.T) {
	o := newOffice(t, nil)
	id := o.put(t, o.bills, "r.txt", "x")
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Rechnungen", "r.txt")
	out, err := exec.CommandContext(t.Context(), "setfattr", "-n", "user.archive.auto-export", "-v", "true", path).CombinedOutput()
	if err != nil {
		t.Fatalf("setfattr: %v: %s", err, out)
	}
	posts := o.asked("POST", "/document/auto_export_status/set")
	if len(posts) != 1 || form(posts[0].Form, "document-id") != strconv.FormatInt(int64(id), 10) || form(posts[0].Form, "autoexport-status") != "true" {
		t.Errorf("sent %v", posts)
	}
	if got := attr(t, path, "auto-export"); got != "true" {
		t.Errorf("auto-export is %q", got)
	}
}

// Uploads do not carry auto-export: it is set on the document afterwards, even by a later mount.
func TestAutoExportOfALocalFile(t *testing.T) {
	t.Parallel()
	for name, away := range map[string]bool{"at once": false, "after an outage": true} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			m := f.mount(t, nil)
			if away {
				f.Fault(hostile.Fault{Path: "/document/auto_export_status/set", Times: hostile.Always, Do: hostile.Answer(503, "")})
			}
			path := m.path("Muster GmbH", "Briefe", "brief.txt")
			file := get(os.Create(path))(t)
			get(file.WriteString("Inhalt"))(t)
			wantErrno(t, "bad value", xattr.FSet(file, "user.archive.auto-export", []byte("maybe")), syscall.EINVAL)
			must(t, xattr.FSet(file, "user.archive.auto-export", []byte("true")))
			if got := string(get(xattr.FGet(file, "user.archive.auto-export"))(t)); got != "true" {
				t.Errorf("it is %q", got)
			}
			must(t, file.Close())
			if away {
				f.ClearFaults()
				m.remount()
			}
			heals(t, "auto-export is set", func() bool { return f.Documents(f.letters)[0].AutoExport })
			if n := len(f.Documents(f.letters)); n != 1 {
				t.Errorf("%d documents", n)
			}
			m.remount()
			if got := attr(t, path, "auto-export"); got != "true" {
				t.Errorf("auto-export is %q", got)
			}
			if n := len(get(os.ReadDir(filepath.Join(m.state, "spool")))(t)); n > 2 { // the receipt log and the lock
				t.Errorf("%d entries in the spool", n)
			}
		})
	}
}

func TestAutoExportIsCopied(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "an.txt", Content: []byte("x"), AutoExport: true})
	f.AddDocument(f.bills, hostile.Document{Name: "aus.txt", Content: []byte("x")})
	m := f.mount(t, nil)
	sh(t, m, `cd "$1/Muster GmbH"; cp --preserve=xattr Rechnungen/*.txt Briefe/`)
	for _, d := range f.Documents(f.letters) {
		if d.AutoExport != (d.Name == "an.txt") {
			t.Errorf("%s has auto-export %v", d.Name, d.AutoExport)
		}
	}
	if n := f.Count("POST", "/document/auto_export_status/set"); n != 1 {
		t.Errorf("set %d times", n)
	}
}

// Linux would turn EAGAIN into ENOTSUP.
func TestAttributeOnABusyService(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "r.txt", Content: []byte("x")})
	m, _ := f.slow(t)
	f.Fault(hostile.Fault{Path: "/document/auto_export_status/set", Do: hostile.Answer(503, "", "Retry-After", "60")})
	path := m.path("Muster GmbH", "Rechnungen", "r.txt")
	wantErrno(t, "set while the service is busy", setAttr(path, "auto-export", "true"), syscall.EBUSY)
	must(t, setAttr(path, "auto-export", "true"))
}

func TestKeywordsOfInboxDocumentsTravelWithTheMove(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "scan.txt", "x")
	m := o.mount(t, nil)
	path := m.path("inboxes", "Administrator", "scan.txt")
	must(t, setAttr(path, "keywords", `Miete,Strom\, Gas`))
	if n := len(o.asked("POST", "")); n != 0 {
		t.Errorf("%d requests for keywords that are kept here", n)
	}
	m.remount()
	if got := attr(t, path, "keywords"); got != `Miete,Strom\, Gas` {
		t.Errorf("kept keywords are %q", got)
	}
	must(t, os.Rename(path, m.path("Muster GmbH", "Briefe", "scan.txt")))
	docs := o.documents(t, o.letters)
	if len(docs) != 1 || !slices.Equal(docs[0].Keywords, []string{"Miete", "Strom, Gas"}) {
		t.Errorf("archived as %+v", docs)
	}
}

// Archiving adds keywords to those that a document has. The attribute shows all of them before, because what is
// archived is final.
func TestKeywordsOfAnInboxDocumentShowWhatIsArchived(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.add(t, o.inbox, "scan.txt", "2024-03-01", func(d *server.NewDocument) { d.Keywords = []string{"zu prüfen", "Miete"} })
	m := o.mount(t, nil)
	path := m.path("inboxes", "Administrator", "scan.txt")
	must(t, setAttr(path, "keywords", "eilig,Miete"))
	shown := attr(t, path, "keywords")
	if shown != "zu prüfen,Miete,eilig" {
		t.Errorf("shown are %q", shown)
	}
	must(t, os.Rename(path, m.path("Muster GmbH", "Briefe", "scan.txt")))
	docs := o.documents(t, o.letters)
	if len(docs) != 1 || strings.Join(docs[0].Keywords, ",") != shown {
		t.Errorf("archived as %+v", docs)
	}
}

// A document that is archived from an inbox gets the keywords that its folder gives to what is put there, unless
// others were set on it.
func TestKeywordsOfTheFolderGoToDocumentsOfInboxes(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	for name, words := range map[string][]string{"scan.txt": {"gescannt"}, "own.txt": {"gescannt"}, "none.txt": nil} {
		o.add(t, o.inbox, name, "2024-03-01", func(d *server.NewDocument) { d.Keywords = words })
	}
	m := o.mount(t, nil)
	inbox, letters := m.path("inboxes", "Administrator"), m.path("Muster GmbH", "Briefe")
	must(t, setAttr(m.path("Muster GmbH"), "upload.keywords", "vom Mandanten"))
	must(t, setAttr(filepath.Join(inbox, "own.txt"), "keywords", "eigenes"))
	for _, name := range []string{"scan.txt", "own.txt", "none.txt"} {
		must(t, os.Rename(filepath.Join(inbox, name), filepath.Join(letters, name)))
	}
	want := map[string]string{"scan.txt": "gescannt,vom Mandanten", "own.txt": "gescannt,eigenes", "none.txt": "vom Mandanten"}
	for _, doc := range o.documents(t, o.letters) {
		if got := strings.Join(doc.Keywords, ","); got != want[doc.Name] {
			t.Errorf("%s is archived with %q, want %q", doc.Name, got, want[doc.Name])
		}
	}
}

func TestAttributesTravelWithTheUpload(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	must(t, setAttr(m.path("Muster GmbH"), "upload.keywords", "vom Ordner"))
	must(t, setAttr(dir, "upload.metadata.Kostenstelle", "4711"))
	m.remount()
	f := get(os.Create(filepath.Join(dir, "brief.txt")))(t)
	get(f.WriteString("Inhalt"))(t)
	must(t, xattr.FSet(f, "user.archive.metadata.Betrag", []byte("5,00")))
	must(t, xattr.FSet(f, "user.archive.external-id", []byte("ERP-1")))
	must(t, xattr.FSet(f, "user.other", []byte("kept while local")))
	must(t, xattr.FSet(f, "user.archive.id", []byte("ignored")))
	if got := string(get(xattr.FGet(f, "user.other"))(t)); got != "kept while local" {
		t.Errorf("foreign attribute is %q", got)
	}
	wantErrno(t, "create what is there", xattr.FSetWithFlags(f, "user.other", nil, xattr.XATTR_CREATE), syscall.EEXIST)
	wantErrno(t, "replace what is not", xattr.FSetWithFlags(f, "user.third", nil, xattr.XATTR_REPLACE), syscall.ENODATA)
	must(t, f.Close())
	docs := o.documents(t, o.letters)
	if len(docs) != 1 || !slices.Equal(docs[0].Keywords, []string{"vom Ordner"}) || len(docs[0].Metadata) != 2 {
		t.Fatalf("archived as %+v", docs)
	}
	c := o.client(t)
	defer c.Close()
	if data := get(c.Data(t.Context(), docs[0].ID))(t); data.ExternalID != "ERP-1" {
		t.Errorf("external id %q", data.ExternalID)
	}
	wantErrno(t, "bad default", setAttr(dir, "upload.email-import-order", "RANDOM"), syscall.EINVAL)
	must(t, xattr.Remove(dir, "user.archive.upload.metadata.Kostenstelle"))
	_, err := xattr.Get(dir, "user.archive.upload.metadata.Kostenstelle")
	wantErrno(t, "removed default", err, syscall.ENODATA)
}

func TestDirectoryAttributes(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	for path, want := range map[string]string{
		"Muster GmbH": "mandator", "Muster GmbH/Briefe": "folder", "inboxes/Administrator": "inbox",
	} {
		if got := attr(t, m.path(path), "kind"); got != want {
			t.Errorf("%s is a %q, want %q", path, got, want)
		}
		if got := attr(t, m.path(path), "path"); got != "/"+path {
			t.Errorf("path of %s is %q", path, got)
		}
	}
	if got := attr(t, m.path("Muster GmbH", "Briefe"), "id"); got != strconv.FormatInt(int64(o.letters), 10) {
		t.Errorf("id is %q", got)
	}
}

func TestMetadataOfDocuments(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.bills, "r.txt", "x")
	m := o.mount(t, nil)
	path := m.path("Muster GmbH", "Rechnungen", "r.txt")
	must(t, setAttr(path, "metadata.Betrag", "7,50"))
	must(t, setAttr(path, "keywords", "neu"))
	docs := o.documents(t, o.bills)
	if len(docs[0].Metadata) != 1 || docs[0].Metadata[0].Value != "7,50" || !slices.Equal(docs[0].Keywords, []string{"neu"}) {
		t.Errorf("the archive has %+v", docs[0])
	}
}

func TestMetadataWhereTheServiceHasNoOperation(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{OnlyEight: true})
	f.AddDocument(f.bills, hostile.Document{Name: "r.txt", Content: []byte("x")})
	m := f.mount(t, func(o *fs.Options) { o.Mode = fs.ContentData })
	path := m.path("Muster GmbH", "Rechnungen", "r.txt")
	wantErrno(t, "metadata", setAttr(path, "metadata.Betrag", "7"), syscall.EPERM)
	wantErrno(t, "keywords", setAttr(path, "keywords", "neu"), syscall.EPERM)
	must(t, setAttr(path, "auto-export", "true"))
}

// Where only certain values are possible an empty one is none of them: an attribute is unset by its removal.
func TestAnEmptyValueOfAChoiceIsRefused(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	f := get(os.Create(filepath.Join(dir, "brief.txt")))(t)
	defer f.Close() //nolint:errcheck // nothing was written
	for name, value := range map[string]string{"email-import-order": "EMAIL_ONLY", "force-new-document": "true"} {
		for _, where := range []struct{ path, name string }{{dir, "upload." + name}, {f.Name(), name}} {
			must(t, setAttr(where.path, where.name, value))
			for _, bad := range []string{"", "\n", "RANDOM"} {
				wantErrno(t, fmt.Sprintf("set %s to %q", where.name, bad), setAttr(where.path, where.name, bad), syscall.EINVAL)
			}
			if got := attr(t, where.path, where.name); got != value {
				t.Errorf("%s is %q after a wrong value", where.name, got)
			}
			must(t, xattr.Remove(where.path, "user.archive."+where.name))
			_, err := xattr.Get(where.path, "user.archive."+where.name)
			wantErrno(t, where.name+" when it is removed", err, syscall.ENODATA)
		}
	}
	wantErrno(t, "auto-export of a local file", setAttr(f.Name(), "auto-export", ""), syscall.EINVAL)
	o.put(t, o.bills, "r.txt", "x")
	wantErrno(t, "auto-export of a document", setAttr(m.path("Muster GmbH", "Rechnungen", "r.txt"), "auto-export", ""), syscall.EINVAL)
}
