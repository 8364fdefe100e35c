package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// Problems that first-time users met.

// The length in a listing is that of the original. Another representation must not be truncated to
// it.
func TestListedLengthThatIsNotTheContents(t *testing.T) {
	t.Run("data instead of the original", func(t *testing.T) {
		o := newOffice(t, func(so *server.Options) { so.OnlyEight = true })
		o.put(t, o.bills, "h.txt", "kurz")
		m := o.mount(t, nil)
		got := sh(t, m, `d="$1/Muster GmbH/Rechnungen"; ls -l "$d" >/dev/null; cat "$d/h.txt"`)
		if !strings.HasPrefix(got, "{") || !strings.HasSuffix(strings.TrimSpace(got), "}") {
			t.Errorf("read %q", got)
		}
	})
	for name, skew := range map[string]int64{"too short": -5, "too long": 5} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true, SizeSkew: skew}})
			f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("0123456789")})
			m := f.mount(t, nil)
			got := sh(t, m, `d="$1/Muster GmbH/Rechnungen"; ls -l "$d" >/dev/null; cat "$d/a.txt"`)
			if got != "0123456789" {
				t.Errorf("read %q", got)
			}
		})
	}
}

// tar compares a directory before and after it has read it.
func TestListingDoesNotChangeADirectory(t *testing.T) {
	o := newOffice(t, nil)
	o.put(t, o.bills, "a.txt", "a")
	m := o.mount(t, nil)
	sh(t, m, `tar -C "$1" -cf /dev/null --exclude=inboxes .`)
	if got := sh(t, m, `ls -a "$1/Muster GmbH/Briefe"`); got != ".\n..\n" {
		t.Errorf("an empty folder lists %q", got)
	}
}

func TestKeptFilesCanBeCopiedOut(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	wantErrno(t, "close", os.WriteFile(m.path("Muster GmbH", "Briefe", "halb.pdf"), []byte("%PDF-1.7 half"), 0o600), syscall.EIO)
	out := t.TempDir()
	sh(t, m, `cp "$1"/.archivefs/uploads/* '`+out+`'`)
	wantContent(t, filepath.Join(out, m.uploads()[0].ID+" halb.pdf"), "%PDF-1.7 half")
}

func TestReplaceWhereTheServiceHasNoOperation(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Without: []string{"POST /document/{id}/replace"}})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	m := f.mount(t, nil)
	path := m.path("inboxes", "Administrator", "scan.txt")
	wantErrno(t, "first close", os.WriteFile(path, []byte("neu"), 0o600), syscall.EPERM)
	wantContent(t, path, "alt")
	wantErrno(t, "open after that", os.WriteFile(path, []byte("neu"), 0o600), syscall.EPERM)
	if ups := m.uploads(); len(ups) != 1 {
		t.Errorf("uploads: %+v", ups)
	}
}

func TestHealthTellsThatTheServiceIsAway(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	f.Fault(hostile.Fault{Times: hostile.Always, Do: hostile.Answer(503, "")})
	if _, err := os.ReadDir(m.path("Muster GmbH")); err == nil {
		t.Error("a folder was listed without a service")
	}
	if s := m.fs.Status(); s.Health != "away" || len(s.LastErrors) == 0 {
		t.Errorf("health %q, last error %v", s.Health, s.LastErrors)
	}
	f.ClearFaults()
	m.remount()
	if s := m.fs.Status(); s.Health != "ok" {
		t.Errorf("health %q", s.Health)
	}
}

func TestContentModes(t *testing.T) {
	o := newOffice(t, nil)
	o.put(t, o.bills, "a.txt", "text")
	for mode, want := range map[fs.ContentMode]string{fs.ContentOriginal: "text", fs.ContentData: "{", fs.ContentPDF: "%PDF"} {
		m := o.mount(t, func(opts *fs.Options) { opts.Mode = mode })
		got := sh(t, m, `cat "$1/Muster GmbH/Rechnungen/a.txt"`)
		if !strings.HasPrefix(got, want) {
			t.Errorf("--content %s reads %.40q", mode, got)
		}
	}
}
