package fs_test

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"
	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// keyword returns a path below the directory of a keyword.
func (m *mounted) keyword(elem ...string) string {
	return m.path(append([]string{".archivefs", "by-keyword"}, elem...)...)
}

func TestByKeyword(t *testing.T) {
	o := newOffice(t, nil)
	o.add(t, o.bills, "Rechnung 1.txt", "2024-01-01", func(d *server.NewDocument) { d.Keywords = []string{`a, "b"`, "offen"} })
	o.add(t, o.bills, "Rechnung 1.txt", "2024-01-02", func(d *server.NewDocument) { d.Keywords = []string{"offen"} })
	m := o.mount(t, nil)
	wantNames(t, m.keyword())
	wantNames(t, m.keyword(`a, "b"`), "Rechnung 1.txt")
	wantNames(t, m.keyword("nothing"))
	if got := sh(t, m, `cd "$1/.archivefs/by-keyword" && stat -c %s offen nothing && getfattr --only-values -n user.archive.hits offen && cat offen/*`); got != "2\n0\n2content of Rechnung 1.txtcontent of Rechnung 1.txt" {
		t.Errorf("read %q", got)
	}
	for _, name := range []string{".hidden", "Thumbs.db", " x"} {
		_, err := os.Lstat(m.keyword(name))
		wantErrno(t, name, err, syscall.ENOENT)
	}
}

// A document that is moved to the directory of a keyword gets it, and stays where it is. mv does not fall
// back to copying.
func TestMoveToAKeyword(t *testing.T) {
	o := newOffice(t, nil)
	o.add(t, o.inbox, "scan 1.txt", "2024-03-01", func(d *server.NewDocument) { d.Keywords = []string{"alt"} })
	o.add(t, o.inbox, "scan 2.txt", "2024-03-01", nil)
	o.add(t, o.bills, "Rechnung.txt", "2024-03-01", nil)
	j := &journal{}
	m := o.mount(t, func(opts *fs.Options) {
		log := logrus.New()
		log.SetOutput(j)
		opts.Log = log
		opts.ReadSearches = func() ([]fs.Search, error) { return []fs.Search{{Name: "Open", Query: `keyword:"is open"`}}, nil }
	})
	sh(t, m, `cd "$1/inboxes/Administrator" && ls -l >/dev/null && cat * >/dev/null && mv 'scan 1.txt' "$1/.archivefs/by-keyword/is open/"`)
	wantNames(t, m.path("inboxes", "Administrator"), "scan 1.txt", "scan 2.txt")
	wantNames(t, m.keyword("is open"), "scan 1.txt")
	wantContent(t, m.path("inboxes", "Administrator", "scan 1.txt"), "content of scan 1.txt")
	wantContent(t, m.keyword("is open", "scan 1.txt"), "content of scan 1.txt")
	if got := sh(t, m, `cd "$1/inboxes/Administrator" && getfattr --only-values -n user.archive.keywords 'scan 1.txt'`); got != "alt,is open" {
		t.Errorf("its keywords are %q", got)
	}
	// A saved search for one keyword is such a directory, too; twice is once, also where the link is in the way.
	sh(t, m, `cd "$1/inboxes/Administrator" && mv 'scan 1.txt' 'scan 2.txt' "$1/searches/Open"`)
	wantNames(t, m.path("searches", "Open"), "scan 1.txt", "scan 2.txt")
	wantNames(t, m.path("inboxes", "Administrator"), "scan 1.txt", "scan 2.txt")
	// That of an archived document is changed at the service.
	sh(t, m, `mv "$1/Muster GmbH/Rechnungen/Rechnung.txt" "$1/.archivefs/by-keyword/bezahlt"`)
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "Rechnung.txt")
	wantNames(t, m.search("keyword:bezahlt"), "Rechnung.txt")
	// Keywords of inbox documents go to the archive with them.
	sh(t, m, `cd "$1/inboxes/Administrator" && mv 'scan 1.txt' 'scan 2.txt' "$1/Muster GmbH/Briefe"`)
	wantNames(t, m.path("inboxes", "Administrator"))
	wantNames(t, m.search(`keyword:"is open" in:"Muster GmbH" in:Briefe`), "scan 1.txt", "scan 2.txt")

	j.take()
	must(t, os.WriteFile(m.path("inboxes", "Administrator", "x.txt.part"), []byte("x"), 0o600))
	refusals := map[string]struct {
		err    error
		reason string
	}{
		"cp":           {os.WriteFile(m.keyword("offen", "new.txt"), nil, 0o600), "only a document of the archive can be given a keyword"},
		"another name": {os.Rename(m.path("Muster GmbH", "Briefe", "scan 1.txt"), m.keyword("offen", "y.txt")), "keeps its name"},
		"a folder":     {os.Rename(m.path("Muster GmbH", "Briefe"), m.keyword("offen", "Briefe")), "only documents have keywords"},
		"a local file": {os.Rename(m.path("inboxes", "Administrator", "x.txt.part"), m.keyword("offen", "x.txt.part")), "not archived yet"},
		"a search":     {os.Rename(m.path("Muster GmbH", "Briefe", "scan 1.txt"), m.search("offen", "scan 1.txt")), "nothing can be put into"},
		"a hit":        {os.Remove(m.keyword("is open", "scan 1.txt")), ""},
	}
	log := j.take()
	for what, c := range refusals {
		wantErrno(t, what, c.err, syscall.EPERM)
		if !strings.Contains(log, c.reason) {
			t.Errorf("%s: the log does not say %q", what, c.reason)
		}
	}
}

// The keywords that were set on an inbox document, and wait for its archiving, go along with its bytes if it is
// renamed over another one, which keeps its own.
func TestARenameOverAnInboxDocumentTakesTheKeywordsAlong(t *testing.T) {
	for name, tt := range map[string]struct{ old, renamed, want string }{
		"of the renamed one":              {"", "offen", "alt,offen"},
		"of both":                         {"bezahlt,offen", "offen,neu", "alt,bezahlt,offen,neu"},
		"of the replaced one":             {"bezahlt", "", "alt,bezahlt"},
		"of none":                         {"", "", "alt,Vorgabe"},
		"one that the replaced one has":   {"", "alt", "alt"},
		"of the renamed one, and a comma": {"", `a\,b`, `alt,a\,b`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			o.add(t, o.inbox, "brief.txt", "2024-03-01", func(d *server.NewDocument) { d.Keywords = []string{"alt"} })
			o.add(t, o.inbox, "kopie.txt", "2024-03-01", nil)
			m := o.mount(t, func(opts *fs.Options) { opts.AllowDelete = true })
			brief, kopie := m.path("inboxes", "Administrator", "brief.txt"), m.path("inboxes", "Administrator", "kopie.txt")
			for path, keywords := range map[string]string{brief: tt.old, kopie: tt.renamed} {
				if keywords != "" {
					must(t, xattr.Set(path, "user.archive.keywords", []byte(keywords)))
				}
			}
			must(t, xattr.Set(m.path("Muster GmbH", "Briefe"), "user.archive.upload.keywords", []byte("Vorgabe")))
			must(t, os.Rename(kopie, brief))
			wantContent(t, brief, "content of kopie.txt")
			m.remount()
			must(t, os.Rename(brief, m.path("Muster GmbH", "Briefe", "brief.txt")))
			if got := attr(t, m.path("Muster GmbH", "Briefe", "brief.txt"), "keywords"); got != tt.want {
				t.Errorf("its keywords are %q, want %q", got, tt.want)
			}
		})
	}
}

// Where the service has neither a search nor an operation for keywords, those of inbox documents are kept
// here, and shown; an archived document cannot be given one.
func TestKeywordsOnEightOperations(t *testing.T) {
	f := newForeign(t, hostile.Config{OnlyEight: true})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("eins")})
	f.AddDocument(f.inbox, hostile.Document{Name: "other.txt", Content: []byte("zwei")})
	f.AddDocument(f.bills, hostile.Document{Name: "Rechnung.txt", Content: []byte("drei")})
	m, j, _ := f.logged(t)
	wantNames(t, m.keyword("offen"))
	if log := j.take(); !strings.Contains(log, "the service has no search: of the documents with the keyword") {
		t.Errorf("the log says %q", log)
	}
	inbox := names(t, m.path("inboxes", "Administrator"))
	sh(t, m, `cd "$1/inboxes/Administrator" && mv scan.txt* "$1/.archivefs/by-keyword/offen/"`)
	wantNames(t, m.path("inboxes", "Administrator"), inbox...)
	wantNames(t, m.keyword("offen"), "scan.txt")
	name := names(t, m.path("Muster GmbH", "Rechnungen"))[0]
	j.take()
	wantErrno(t, "an archived document", os.Rename(m.path("Muster GmbH", "Rechnungen", name), m.keyword("offen", name)), syscall.EPERM)
	if log := j.take(); !strings.Contains(log, "change the keywords") {
		t.Errorf("the log says %q", log)
	}
}
