package fs_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// search returns a path in the control directory below a query.
func (m *mounted) search(query string, elem ...string) string {
	return m.path(append([]string{".archivefs", "search", query}, elem...)...)
}

// add adds a document that was created on a day.
func (o *office) add(t testing.TB, folder archive.ID, name, day string, change func(*server.NewDocument)) archive.ID {
	t.Helper()
	d := server.NewDocument{Folder: folder, Name: name, Created: get(time.Parse(time.DateOnly, day))(t)}
	if folder != o.inbox {
		d.Archived = d.Created
	}
	if change != nil {
		change(&d)
	}
	return get(o.AddDocument(t.Context(), d, strings.NewReader("content of "+name)))(t)
}

func TestSearch(t *testing.T) {
	o := newOffice(t, nil)
	year := get(o.AddFolder(t.Context(), o.bills, "2024"))(t)
	o.add(t, o.bills, "Rechnung alt.txt", "2023-12-31", nil)
	o.add(t, year, "Rechnung 1.txt", "2024-01-01", func(d *server.NewDocument) { d.Keywords = []string{"Frau Muster", "bezahlt"} })
	last := o.add(t, year, "Rechnung 1.txt", "2024-05-31", func(d *server.NewDocument) { d.Types = []string{"Rechnung"} })
	o.add(t, o.letters, "Brief", "2024-02-01", func(d *server.NewDocument) { d.Notes = []archive.Note{{Text: "zur Rechnung"}} })
	o.add(t, o.inbox, "scan/Rechnung.txt", "2024-03-01", nil)
	second := fmt.Sprintf("Rechnung 1 (%d).txt", last)
	m := o.mount(t, nil)
	wantNames(t, m.path(".archivefs", "search"))
	for query, want := range map[string][]string{
		"rechnung":                            {"Rechnung alt.txt", "Rechnung 1.txt", second, "Brief", "scan_Rechnung.txt"},
		"Rechnung after:2024-01-01":           {"Rechnung 1.txt", second, "Brief", "scan_Rechnung.txt"},
		"rechnung before:2024-01-01":          {"Rechnung alt.txt"},
		"after:2024-01-01 before:2024-02-01":  {"Rechnung 1.txt"},
		"name:rechnung after:2024":            {"Rechnung 1.txt", second, "scan_Rechnung.txt"},
		`keyword:"Frau Muster"`:               {"Rechnung 1.txt"},
		"type:Rechnung":                       {"Rechnung 1.txt"},
		`rechnung in:"Muster GmbH" in:Briefe`: {"Brief"},
		`in:"Muster GmbH" in:Rechnungen`:      {"Rechnung alt.txt", "Rechnung 1.txt", second},
		"in:inboxes in:Administrator":         {"scan_Rechnung.txt"},
		"rechnung brief":                      {"Brief"},
		`name:"scan/Rechnung" after:2024`:     {"scan_Rechnung.txt"},
		`"2024/17"`:                           {},
		"nothing of that kind":                {},
	} {
		wantNames(t, m.search(query), want...)
	}
	const query = "Rechnung after:2024-01-01"
	if got, want := get(os.Readlink(m.search(query, second)))(t), "../../../Muster GmbH/Rechnungen/2024/"+second; got != want {
		t.Errorf("%s leads to %s", second, got)
	}
	if got, want := get(os.Readlink(m.search(query, "Brief")))(t), "../../../Muster GmbH/Briefe/Brief.txt"; got != want {
		t.Errorf("the letter leads to %s, want %s", got, want)
	}
	if got := sh(t, m, `cat "$1/.archivefs/search/`+query+`/scan_Rechnung.txt"`); got != "content of scan/Rechnung.txt" {
		t.Errorf("through a link: %q", got)
	}
	sh(t, m, `cd "$1/.archivefs/search/`+query+`" && ls -l >/dev/null && test -f Brief && cat Brief && test "$(realpath Brief)" = "$1/Muster GmbH/Briefe/Brief.txt"`)
	_, err := os.Lstat(m.search(query, "Rechnung alt.txt"))
	wantErrno(t, "no hit", err, syscall.ENOENT)
}

// A malformed query, or one with an unknown folder, is an error with a reason.
func TestSearchRefused(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m, j, _ := f.logged(t)
	for query, want := range map[string]struct {
		errno  syscall.Errno
		reason string
	}{
		"Rechnung after:gestern":     {syscall.EINVAL, "after: takes a date such as 2024-01-31"},
		`"Rechnung`:                  {syscall.EINVAL, "double quotes"},
		"name:":                      {syscall.EINVAL, "name: takes a value"},
		"x\xff":                      {syscall.EINVAL, "UTF-8"},
		"in:inboxes":                 {syscall.EINVAL, "name of an inbox"},
		`in:"Muster GmbH" in:Nichts`: {syscall.ENOENT, "no folder Muster GmbH/Nichts"},
	} {
		j.take()
		_, err := os.ReadDir(m.search(query))
		wantErrno(t, query, err, want.errno)
		if log := j.take(); !strings.Contains(log, want.reason) {
			t.Errorf("%s: the log says %q", query, log)
		}
	}
	for _, name := range []string{".hidden", ".Trash", "Thumbs.db", "desktop.ini", ".git"} {
		_, err := os.Lstat(m.search(name))
		wantErrno(t, name, err, syscall.ENOENT)
	}
	for _, r := range f.Requests() {
		if r.Path == "/search" {
			t.Errorf("the service was asked for %v", r.Query)
		}
	}
}

func TestSearchOnEightOperations(t *testing.T) {
	t.Parallel()
	for _, status := range []int{404, 405, 501} {
		f := newForeign(t, hostile.Config{OnlyEight: true, WithoutStatus: status})
		m, j, _ := f.logged(t)
		for _, query := range []string{"Rechnung", "Brief", `x in:"Muster GmbH"`} {
			_, err := os.ReadDir(m.search(query))
			wantErrno(t, query, err, syscall.ENOTSUP)
			if log := j.take(); !strings.Contains(log, "the service has no search") {
				t.Errorf("the log says %q", log)
			}
		}
	}
}

// Hits are trusted for the ttl; a link follows a renamed document.
func TestSearchAgain(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "Rechnung.txt", Content: []byte("eins")})
	m, c := f.slow(t)
	wantContent(t, m.search("rechnung", "Rechnung.txt"), "eins")
	f.AddDocument(f.letters, hostile.Document{Name: "Rechnung 2.txt"})
	for range 3 {
		wantNames(t, m.search("rechnung"), "Rechnung.txt")
	}
	must(t, os.Rename(m.path("Muster GmbH", "Rechnungen", "Rechnung.txt"), m.path("Muster GmbH", "Rechnungen", "neu.txt")))
	if got := get(os.Readlink(m.search("rechnung", "Rechnung.txt")))(t); got != "../../../Muster GmbH/Rechnungen/neu.txt" {
		t.Errorf("after a rename it leads to %s", got)
	}
	wantContent(t, m.search("rechnung", "Rechnung.txt"), "eins")
	c.advance(2 * longTTL)
	wantNames(t, m.search("rechnung"), "Rechnung 2.txt")
	f.Remove(id)
}

// All pages are shown, with the folders of all hits found by one request.
func TestSearchFindsMany(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	var want []string
	for i := range 30 {
		folder := f.AddFolder(f.AddFolder(f.bills, fmt.Sprintf("Jahr %d", i)), "Mai")
		for j := range 10 {
			name := fmt.Sprintf("Rechnung %d-%d.txt", i, j)
			f.AddDocument(folder, hostile.Document{Name: name, Content: []byte(name)})
			want = append(want, name)
		}
	}
	m := f.mount(t, nil)
	wantNames(t, m.search("rechnung"), want...)
	for _, name := range want[:25] {
		if got := get(os.Readlink(m.search("rechnung", name)))(t); filepath.Base(got) != name || strings.Contains(got, "documents") {
			t.Errorf("%s leads to %s", name, got)
		}
	}
	wantContent(t, m.search("rechnung", want[299]), want[299])
	counts := map[string]int{}
	for _, r := range f.Requests() {
		counts[r.Path]++
	}
	if counts["/search"] != 3 || counts["/archivestructure"] > 4 || counts["/document/list"] > 5 {
		t.Errorf("requests: %v", counts)
	}
}

// If the service does not reveal a hit's folder, the link leads to the document's directory.
func TestSearchWithoutFolders(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Data: hostile.DataShape{FolderID: hostile.Absent}})
	id := f.AddDocument(f.bills, hostile.Document{Name: "Rechnung.txt", Content: []byte("eins")})
	m := f.mount(t, nil)
	if got, want := get(os.Readlink(m.search("rechnung", "Rechnung.txt")))(t), fmt.Sprintf("../../../.archivefs/documents/%d/original", id); got != want {
		t.Errorf("it leads to %s, want %s", got, want)
	}
	wantContent(t, m.search("rechnung", "Rechnung.txt"), "eins")
}

// manyHits finds more documents than requested.
type manyHits struct{ service }

type service interface{ fs.Archive }

func (manyHits) Search(_ context.Context, _ archive.Search, limit int) (archive.Hits, error) {
	hits := archive.Hits{Total: 2 * limit}
	for i := range limit {
		hits.List = append(hits.List, archive.Hit{Document: archive.ID(i + 1), Name: "Rechnung"})
	}
	return hits, nil
}

// The number of hits is limited, and the log says when there are more.
func TestSearchFindsTooMany(t *testing.T) {
	t.Parallel()
	o, j := newOffice(t, nil), &journal{}
	m := o.mount(t, func(opts *fs.Options) {
		log := logrus.New()
		log.SetOutput(j)
		opts.Log, opts.Archive = log, manyHits{opts.Archive}
	})
	if n := len(names(t, m.search("rechnung"))); n != 10_000 {
		t.Errorf("%d links", n)
	}
	if log := j.take(); !strings.Contains(log, "20000 documents are found") || !strings.Contains(log, "the first 10000 are shown") {
		t.Errorf("the log says %q", log)
	}
}

// The unknown folders of hits in several mandators and inboxes take one request for the structure
// and one for the inboxes.
func TestSearchInSeveralMandators(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	want := map[string]string{}
	add := func(folder archive.ID, name, path string) {
		o.add(t, folder, name, "2024-01-01", func(d *server.NewDocument) {
			if strings.HasPrefix(path, "inboxes") {
				d.Archived = time.Time{}
			}
		})
		want[name] = "../../../" + path + "/" + name
	}
	add(get(o.AddFolder(t.Context(), o.bills, "2024"))(t), "eins.txt", "Muster GmbH/Rechnungen/2024")
	other := get(o.AddMandator(t.Context(), "Andere AG"))(t)
	add(get(o.AddFolder(t.Context(), other, "2024"))(t), "zwei.txt", "Andere AG/2024")
	add(get(o.AddFolder(t.Context(), o.inbox, "Post"))(t), "drei.txt", "inboxes/Administrator/Post")
	m := o.mount(t, nil)
	wantNames(t, m.search("after:2024"), "eins.txt", "zwei.txt", "drei.txt")
	o.forget()
	for name, target := range want {
		if got := get(os.Readlink(m.search("after:2024", name)))(t); got != target {
			t.Errorf("%s leads to %s, want %s", name, got, target)
		}
	}
	if s, i := len(o.asked("GET", "/archivestructure")), len(o.asked("GET", "/inboxes")); s != 1 || i != 1 {
		t.Errorf("%d requests for the structure, %d for the inboxes", s, i)
	}
}

// A word that occurs only in contents finds its documents some time after their upload.
func TestSearchInContents(t *testing.T) {
	o := newOffice(t, nil)
	id := o.put(t, o.bills, "source.txt", "Der Leuchtturmwärter zahlt seine Beiträge.")
	m := o.mount(t, func(options *fs.Options) { options.TTL = time.Millisecond })
	want := []string{"source.txt"}
	if _, err := exec.LookPath("pdftotext"); err == nil {
		sh(t, m, fmt.Sprintf(`cp "$1/.archivefs/documents/%d/document.pdf" "$1/Muster GmbH/Briefe/letter.pdf"`, id))
		want = append(want, "letter.pdf")
	}
	heals(t, "the contents are found", func() bool { // the index waits until the service is idle
		return len(get(os.ReadDir(m.search("leuchtturmwaerter")))(t)) == len(want)
	})
	for _, query := range []string{"leuchtturmwaerter", `"zahlt seine"`, "Beitrag leuchtturm"} {
		wantNames(t, m.search(query), want...)
	}
	for _, query := range []string{`"seine zahlt"`, "turmwärter", "name:leuchtturm"} {
		wantNames(t, m.search(query))
	}
}
