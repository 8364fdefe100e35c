package fs_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"image"
	"image/jpeg"
	"io"
	"os"
	"os/exec"
	"slices"
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

// document returns a path in the control directory below a document.
func (m *mounted) document(id any, elem ...string) string {
	return m.path(append([]string{".archivefs", "documents", fmt.Sprint(id)}, elem...)...)
}

// photo is a JPEG.
func photo(t testing.TB) string {
	t.Helper()
	var b bytes.Buffer
	must(t, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 40, 20)), nil))
	return b.String()
}

// All representations of the embedded service are below the document's id, and read like any file.
func TestDocumentsByID(t *testing.T) {
	o := newOffice(t, nil)
	text := o.put(t, o.bills, "r.txt", "Rechnung")
	pdf := o.put(t, o.bills, "r.pdf", "%PDF-1.4 one %%EOF")
	picture := o.put(t, o.inbox, "scan.jpg", photo(t))
	m := o.mount(t, nil)
	wantNames(t, m.path(".archivefs", "documents"))
	drawn := []string{"original", "document.pdf", "data.json", "text.txt"}
	if _, err := exec.LookPath("pdftoppm"); err == nil {
		drawn = append(drawn, "pages")
		wantPicture(t, m.document(text, "pages", "0001.jpg"), 2400)
	}
	wantNames(t, m.document(text), drawn...)
	wantNames(t, m.document(pdf), "original", "document.pdf", "data.json")
	wantNames(t, m.document(picture), "original", "document.pdf", "data.json", "pages")
	wantNames(t, m.document(picture, "pages"), "0001.jpg")

	wantContent(t, m.document(text, "original"), "Rechnung")
	wantContent(t, m.document(text, "text.txt"), "Rechnung")
	wantContent(t, m.document(pdf, "document.pdf"), "%PDF-1.4 one %%EOF")
	if got := get(os.ReadFile(m.document(text, "document.pdf")))(t); !bytes.HasPrefix(got, []byte("%PDF-")) {
		t.Errorf("the rendition begins with %.10q", got)
	}
	var data struct {
		ID   archive.ID
		Name string
	}
	must(t, json.Unmarshal(get(os.ReadFile(m.document(text, "data.json")))(t), &data))
	if data.ID != text || data.Name != "r.txt" {
		t.Errorf("the data are of %+v", data)
	}
	wantPicture(t, m.document(picture, "pages", "0001.jpg"), 40)
	for _, elem := range [][]string{
		{"999"},
		{"0"},
		{"-1"},
		{"007"},
		{"x"},
		{fmt.Sprint(text), "x"},
		{fmt.Sprint(pdf), "text.txt"},
		{fmt.Sprint(pdf), "pages"},
		{fmt.Sprint(picture), "pages", "0002.jpg"},
		{fmt.Sprint(picture), "pages", "1.jpg"},
	} {
		_, err := os.Lstat(m.path(append([]string{".archivefs", "documents"}, elem...)...))
		wantErrno(t, strings.Join(elem, "/"), err, syscall.ENOENT)
	}
	sh(t, m, `cd "$1/.archivefs/documents/1" && test "$(stat -c %s original)" = 8 && test "$(wc -c < text.txt)" = 8 && ls -la . >/dev/null && cd ..`)
}

// wantPicture fails unless there is a JPEG whose longer side has that many pixels.
func wantPicture(t *testing.T, path string, pixels int) {
	t.Helper()
	page := get(os.ReadFile(path))(t)
	if size, err := jpeg.DecodeConfig(bytes.NewReader(page)); err != nil || max(size.Width, size.Height) != pixels {
		t.Errorf("the page is %d x %d, want %d: %v", size.Width, size.Height, pixels, err)
	}
}

// The estimate of a picture is that of one page, however many the document has.
func TestEstimateOfAPage(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Content: hostile.ContentShape{HeadStatus: 405}})
	id := f.AddDocument(f.bills, hostile.Document{Name: "r.pdf", Content: []byte("x"), Preview: []byte("picture"), Pages: 50})
	m := f.mount(t, nil)
	page := m.document(id, "pages", "0002.jpg")
	if sizes := sh(t, m, fmt.Sprintf(`ls -l "$1/.archivefs/documents/%d/pages" | awk '{ print $5 }' | sort -u`, id)); !strings.Contains(sizes, "\n4194304\n") {
		t.Errorf("the sizes are %q", sizes)
	}
	wantContent(t, page, "picture")
}

// The contents are those of the document's file: one download serves both, and a second read needs
// none.
func TestDocumentsByIDAreCached(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.put(t, o.bills, "r.jpg", photo(t))
	m := o.mount(t, nil)
	_ = get(os.ReadFile(m.path("Muster GmbH", "Rechnungen", "r.jpg")))(t)
	o.forget()
	for range 3 {
		wantContent(t, m.document(id, "original"), photo(t))
		_ = get(os.ReadFile(m.document(id, "pages", "0001.jpg")))(t)
		_ = get(os.ReadFile(m.document(id, "data.json")))(t)
	}
	if n := len(o.asked("GET", "/pdf")); n != 0 {
		t.Errorf("%d downloads of what is cached", n)
	}
	if n := len(o.asked("GET", "/preview")); n != 1 {
		t.Errorf("%d downloads of the page", n)
	}
	if n := len(o.asked("GET", "/data")); n > 2 { // one for its pages, one for the file
		t.Errorf("%d requests for the data", n)
	}
}

// A large document, which the kernel may read from the cache itself, is the same under both of its
// names, whoever has it open.
func TestLargeDocumentsByID(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	large := strings.Repeat("0123456789abcdef", 3<<16)
	first, second := o.put(t, o.bills, "a.txt", large), o.put(t, o.bills, "b.txt", large)
	m := o.mount(t, nil)
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "a.txt"), large)
	for range 3 {
		open := get(os.Open(m.document(first, "original")))(t)
		wantContent(t, m.document(first, "original"), large)
		wantContent(t, m.path("Muster GmbH", "Rechnungen", "a.txt"), large)
		if got := get(io.ReadAll(open))(t); string(got) != large {
			t.Error("who has it open reads something else")
		}
		must(t, open.Close())
		wantContent(t, m.document(second, "original"), large)
	}
	if n := len(o.asked("GET", "/pdf")); n != 2 {
		t.Errorf("%d downloads", n)
	}
}

// The files have the attributes of the document, and nothing can be changed through them.
func TestDocumentsByIDAreReadOnly(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := get(o.AddDocument(t.Context(), server.NewDocument{
		Folder: o.bills, Name: "r.txt", Created: time.Date(2024, 3, 1, 0, 0, 0, 0, time.UTC), Archived: time.Now(), Keywords: []string{"a", "b"},
	}, strings.NewReader("Rechnung")))(t)
	scan := o.put(t, o.inbox, "scan.txt", "scan")
	m := o.mount(t, nil)
	for _, name := range []string{"original", "data.json", "text.txt"} {
		path := m.document(id, name)
		if got := attr(t, path, "keywords"); got != "a,b" {
			t.Errorf("%s: keywords %q", name, got)
		}
		if got := attr(t, path, "state"); got != "archived" {
			t.Errorf("%s: state %q", name, got)
		}
		wantErrno(t, "write", os.WriteFile(path, nil, 0o600), syscall.EPERM)
		wantErrno(t, "truncate", os.Truncate(path, 0), syscall.EPERM)
		wantErrno(t, "set", setAttr(path, "keywords", "c"), syscall.EPERM)
		wantErrno(t, "remove attribute", xattr.Remove(path, "user.archive.keywords"), syscall.EPERM)
		wantErrno(t, "remove", os.Remove(path), syscall.EPERM)
		must(t, os.Chmod(path, 0o600))
		must(t, os.Chtimes(path, time.Now(), time.Now()))
	}
	if got := attr(t, m.document(scan, "original"), "state"); got != "inbox" {
		t.Errorf("state of an inbox document: %q", got)
	}
	for _, dir := range []string{m.path(".archivefs", "documents"), m.document(id), m.search("r"), m.path(".archivefs", "by-id")} {
		wantErrno(t, "mkdir", os.Mkdir(dir+"/new", 0o700), syscall.EPERM)
		wantErrno(t, "create", os.WriteFile(dir+"/new", nil, 0o600), syscall.EPERM)
		wantErrno(t, "link", os.Symlink("x", dir+"/new"), syscall.EPERM)
	}
	if n := len(o.asked("POST", "")) - len(o.asked("POST", "/search")); n != 0 {
		t.Errorf("%d changes were asked for", n)
	}
}

// Changed contents are read again after the ttl, and never mixed with what an open handle still
// reads.
func TestDocumentsByIDChange(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	old, young := strings.Repeat("alt ", 50_000), strings.Repeat("neu ", 60_000)
	scan := f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte(old), Text: "alt"})
	m, c := f.slow(t)
	path := m.document(scan, "original")
	reader := get(os.Open(path))(t)
	first := make([]byte, 4096)
	_ = get(io.ReadFull(reader, first))(t)
	wantContent(t, m.document(scan, "text.txt"), "alt")
	f.Change(scan, func(d *hostile.Document) { d.Content, d.Text = []byte(young), "neu" })
	wantContent(t, path, old) // within the ttl
	c.advance(2 * longTTL)
	wantContent(t, path, young)
	wantContent(t, m.document(scan, "text.txt"), "neu")
	if rest := get(io.ReadAll(reader))(t); string(first)+string(rest) != old {
		t.Error("who had it open reads something else")
	}
	must(t, reader.Close())
	wantContent(t, path, young)
}

// Writing to an inbox document evicts the renditions of its old bytes.
func TestDocumentsByIDAfterAReplacement(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	text := o.put(t, o.inbox, "scan.txt", "alt")
	picture := o.put(t, o.inbox, "scan.jpg", photo(t))
	m := o.mount(t, nil)
	wantContent(t, m.document(text, "text.txt"), "alt")
	wantContent(t, m.document(text, "original"), "alt")
	page := m.document(picture, "pages", "0001.jpg")
	before := get(os.ReadFile(page))(t)
	must(t, setAttr(m.path("inboxes", "Administrator", "scan.txt"), "keywords", "neu"))
	must(t, os.WriteFile(m.path("inboxes", "Administrator", "scan.txt"), []byte("neu und länger"), 0o600))
	var b bytes.Buffer
	must(t, jpeg.Encode(&b, image.NewGray(image.Rect(0, 0, 10, 10)), nil))
	must(t, os.WriteFile(m.path("inboxes", "Administrator", "scan.jpg"), b.Bytes(), 0o600))
	wantContent(t, m.document(text, "text.txt"), "neu und länger")
	wantContent(t, m.document(text, "original"), "neu und länger")
	if got := attr(t, m.document(text, "original"), "keywords"); got != "neu" {
		t.Errorf("keywords %q", got)
	}
	if after := get(os.ReadFile(page))(t); bytes.Equal(before, after) {
		t.Error("the page is the one of before")
	}
}

// An error of one file does not affect the others.
func TestDocumentsByIDWithAnError(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "r.txt", Content: []byte("x")})
	m := f.mount(t, nil)
	f.Fault(hostile.Fault{Path: "/document/{id}/ocr-result", Times: hostile.Always, Do: hostile.Answer(500, "")})
	wantNames(t, m.document(id), "original", "document.pdf", "data.json", "text.txt")
	_, err := os.ReadFile(m.document(id, "text.txt"))
	wantErrno(t, "text", err, syscall.EIO)
	wantContent(t, m.document(id, "original"), "x")
}

// On a service with only the eight operations there is only the data.
func TestDocumentsByIDOnEightOperations(t *testing.T) {
	t.Parallel()
	for status, none := range map[int]syscall.Errno{404: syscall.ENOENT, 405: syscall.ENOTSUP, 501: syscall.ENOTSUP} {
		t.Run(fmt.Sprint(status), func(t *testing.T) {
			f := newForeign(t, hostile.Config{OnlyEight: true, WithoutStatus: status})
			id := f.AddDocument(f.bills, hostile.Document{Name: "r.txt", Content: []byte("x")})
			m := f.mount(t, nil)
			for range 2 {
				wantNames(t, m.document(id), "data.json")
				for _, name := range []string{"original", "document.pdf"} {
					_, err := os.ReadFile(m.document(id, name))
					wantErrno(t, name, err, syscall.ENOTSUP)
				}
				for _, name := range []string{"text.txt", "pages/0001.jpg"} {
					_, err := os.ReadFile(m.document(id, name))
					wantErrno(t, name, err, none)
				}
			}
			if got := get(os.ReadFile(m.document(id, "data.json")))(t); !strings.Contains(string(got), `"r.txt"`) {
				t.Errorf("the data are %q", got)
			}
		})
	}
}

// Previews of pages take no request before they are opened.
func TestPages(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	picture := bytes.Repeat([]byte("JPEG"), 1000)
	id := f.AddDocument(f.bills, hostile.Document{Name: "r.pdf", Pages: 30, Preview: picture})
	m := f.mount(t, nil)
	all := []string{}
	for i := range 30 {
		all = append(all, fmt.Sprintf("%04d.jpg", i+1))
	}
	wantNames(t, m.document(id, "pages"), all...)
	sh(t, m, `ls -l "$1/.archivefs/documents/1/pages" > /dev/null`)
	previews := func() (n int) {
		for _, r := range f.Requests() {
			if strings.HasSuffix(r.Path, "/preview") {
				n++
			}
		}
		return n
	}
	if n := previews(); n != 1 { // the first tells that there are some
		t.Errorf("%d previews were asked for", n)
	}
	wantContent(t, m.document(id, "pages", "0030.jpg"), string(picture))
	sh(t, m, `cmp "$1/.archivefs/documents/1/pages/0029.jpg" "$1/.archivefs/documents/1/pages/0030.jpg"`)
	if n := previews(); n != 3 {
		t.Errorf("%d previews were asked for", n)
	}
}

// A link by id leads to the document's file, even in a folder that was never looked up.
func TestByID(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	deep := get(o.AddFolder(t.Context(), get(o.AddFolder(t.Context(), o.bills, "2024"))(t), "Mai"))(t)
	first := o.put(t, deep, "r", "eins")
	second := o.put(t, deep, "r", "zwei")
	scan := o.put(t, o.inbox, "scan.txt", "scan")
	other := o.put(t, get(o.AddMandator(t.Context(), "Andere AG"))(t), "a.txt", "andere")
	m := o.mount(t, nil)
	wantNames(t, m.path(".archivefs", "by-id"))
	for id, want := range map[archive.ID]struct{ target, content string }{
		first:  {"../../Muster GmbH/Rechnungen/2024/Mai/r.txt", "eins"},
		second: {fmt.Sprintf("../../Muster GmbH/Rechnungen/2024/Mai/r (%d).txt", second), "zwei"},
		scan:   {"../../inboxes/Administrator/scan.txt", "scan"},
		other:  {"../../Andere AG/a.txt", "andere"},
	} {
		link := m.path(".archivefs", "by-id", fmt.Sprint(id))
		if got := get(os.Readlink(link))(t); got != want.target {
			t.Errorf("%d leads to %s, want %s", id, got, want.target)
		}
		wantContent(t, link, want.content)
	}
	for _, name := range []string{"999", "x", "01"} {
		_, err := os.Lstat(m.path(".archivefs", "by-id", name))
		wantErrno(t, name, err, syscall.ENOENT)
	}
}

// Documents that the mount does not show in a folder can still be reached by id.
func TestByIDOfHiddenDocuments(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	id := o.put(t, o.bills, "alt.txt", "alt")
	m := o.mount(t, func(opts *fs.Options) { opts.List.CreatedAfter = time.Now() })
	wantNames(t, m.path("Muster GmbH", "Rechnungen"))
	link := m.path(".archivefs", "by-id", fmt.Sprint(id))
	if got, want := get(os.Readlink(link))(t), fmt.Sprintf("../../.archivefs/documents/%d/original", id); got != want {
		t.Errorf("it leads to %s, want %s", got, want)
	}
	wantContent(t, link, "alt")
}

// A walk never enters the control directory.
func TestControlDirectoryIsNotWalked(t *testing.T) {
	o := newOffice(t, nil)
	o.put(t, o.bills, "r.txt", "x")
	m := o.mount(t, nil)
	out := get(exec.CommandContext(t.Context(), "find", m.dir).Output())(t)
	if strings.Contains(string(out), ".archivefs") {
		t.Errorf("find comes to\n%s", out)
	}
	below := sh(t, m, `find "$1/.archivefs" -printf '%P\n'`)
	got := strings.Fields(below)
	slices.Sort(got)
	if want := controlNames(t); !slices.Equal(got, want) {
		t.Errorf("find in it comes to %q", got)
	}
	if n := len(o.asked("POST", "/search")); n != 0 {
		t.Errorf("%d searches", n)
	}
}

// What people put on a document is drawn on its own PDF, which is listed where there is something to draw.
func TestAnnotatedPDF(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	plain := f.AddDocument(f.bills, hostile.Document{Name: "a.pdf", Content: []byte("%PDF-1.4 a %%EOF")})
	paid := f.AddDocument(f.bills, hostile.Document{Name: "b.pdf", Content: []byte("%PDF-1.4 b %%EOF"), Stamps: []string{"paid"}})
	m := f.mount(t, nil)
	for id, listed := range map[int64]bool{plain: false, paid: true} {
		names := get(os.ReadDir(m.document(id)))(t)
		if got := slices.ContainsFunc(names, func(e os.DirEntry) bool { return e.Name() == "annotated.pdf" }); got != listed {
			t.Errorf("document %d lists it: %v", id, got)
		}
		content := get(os.ReadFile(m.document(id, "annotated.pdf")))(t)
		if !bytes.HasPrefix(content, []byte("%PDF-")) {
			t.Errorf("document %d holds %.10q", id, content)
		}
	}
	if !slices.ContainsFunc(f.Requests(), func(r hostile.Request) bool { return r.Query.Get("annotations") == "stamp,text,symbol,note" }) {
		t.Error("no annotations were asked for")
	}
}
