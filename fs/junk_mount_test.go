package fs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
)

// ordinary are names that only look a little like those of temporary files.
var ordinary = []string{
	"zinssatz", "zimmer01", "Zimmer01", "ziegel24", "zimmer2B", "zielgruppe", "sedimente", "sedation", "sed2024ab", "sed202401", "zi123456",
	".bashrc.backup", ".env.sample", ".profile.200124", ".profile.Januar", ".env.BACKUP", ".config.backup.txt", ".env.produktion",
	"sedán.txt", "zi 2024", "sedAb3xYz.txt", ".Brief.Ab3xYz.pdf", ".Ab3xYz",
}

func TestOrdinaryNamesAreArchived(t *testing.T) {
	ways := map[string]string{
		"cp":     `for n; do cp -p "$src" "$d/$n"; done`,
		"shell":  `for n; do cat "$src" > "$d/$n"; done`,
		"dd":     `for n; do dd if="$src" of="$d/$n" status=none conv=excl; done`,
		"python": `python3 -c 'import shutil,sys; [shutil.copy(sys.argv[1], sys.argv[2]+"/"+n) for n in sys.argv[3:]]' "$src" "$d" "$@"`,
		"mv":     `for n; do cp "$src" "$d/$n.part" && mv "$d/$n.part" "$d/$n"; done`,
		"rsync":  `for n; do cp "$src" "$HOME/$n" && rsync -a "$HOME/$n" "$d/"; done`,
	}
	for way, script := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{})
			m := f.mount(t, nil)
			home := t.TempDir()
			src := filepath.Join(home, "src")
			must(t, os.WriteFile(src, []byte("Inhalt"), 0o600))
			var want []string
			for _, n := range ordinary {
				want = append(want, n+"=Inhalt")
			}
			sh(t, m, `export HOME='`+home+`'; d="$1/Muster GmbH/Briefe"; src="$HOME/src"; set -- '`+strings.Join(ordinary, "' '")+`'; `+script)
			f.wantHolds(t, f.letters, want...)
			if s := m.fs.Status(); s.Uploads.Local > 0 || len(s.Uploads.List) > 0 {
				t.Errorf("%+v", s.Uploads)
			}
		})
	}
}

// A file that mkstemp(3) made, and that is renamed later, is not a document, whatever its six
// characters; under another name it is.
func TestTemporaryFilesOfProgramsStay(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	temporary := []string{"sedAb3xYz", "sedimente", "ziAb3xYz", "zimmer01", ".Rechnung.pdf.Ab3xYz", ".Rechnung.pdf.backup", ".a.123456"}
	makes := func(name string) {
		t.Helper()
		w := get(os.OpenFile(filepath.Join(dir, name), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))(t)
		get(w.WriteString(name))(t)
		must(t, w.Close())
	}
	for _, name := range temporary {
		makes(name)
		if got := attr(t, filepath.Join(dir, name), "state"); got != "local" {
			t.Errorf("%s is %s", name, got)
		}
	}
	makes("sedimente.txt") // not a name of sed -i
	m.remount()
	wantNames(t, dir, append(slices.Clone(temporary), "sedimente.txt")...)
	f.wantHolds(t, f.letters, "sedimente.txt=sedimente.txt")
	must(t, os.Rename(filepath.Join(dir, "zimmer01"), filepath.Join(dir, "akten.zip.txt")))
	must(t, os.Rename(filepath.Join(dir, "sedimente"), filepath.Join(dir, "sediment1"))) // now a chosen name
	f.wantHolds(t, f.letters, "sedimente.txt=sedimente.txt", "akten.zip.txt=zimmer01", "sediment1=sedimente")
	must(t, os.WriteFile(filepath.Join(dir, ".Brief.pdf.xY7bQ2"), []byte("plain"), 0o600)) // no word
	if got := attr(t, filepath.Join(dir, ".Brief.pdf.xY7bQ2"), "state"); got != "local" {
		t.Errorf("it is %s", got)
	}
}

// sed, zip and rsync themselves: their temporary files are never sent.
func TestProgramsWriteTemporaryFiles(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	in := m.path("inboxes", "Administrator")
	must(t, os.WriteFile(filepath.Join(in, "a.txt"), []byte("alt"), 0o600))
	for range 20 { // each with other names
		sh(t, m, `cd "$1/inboxes/Administrator"; sed -i s/alt/neu/ a.txt; sed -i s/neu/alt/ a.txt`)
	}
	home := t.TempDir()
	sh(t, m, `cd '`+home+`'; echo b > b.txt; for i in 1 2 3 4 5; do zip -q "$1/Muster GmbH/Briefe/$i.zip" b.txt; mkdir $i; cp b.txt $i; rsync -a $i "$1/Muster GmbH/Rechnungen/"; done`)
	f.wantHolds(t, f.inbox, "a.txt=alt")
	names := []string{}
	for _, d := range f.Documents(f.letters) {
		names = append(names, d.Name)
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "1.zip 2.zip 3.zip 4.zip 5.zip" {
		t.Errorf("the archive has %s", got)
	}
	if s := m.fs.Status(); s.Uploads.Local > 0 || len(s.Uploads.List) > 0 {
		t.Errorf("%+v", s.Uploads)
	}
}

// Local files with content are listed beside the uploads, and can be opened by name.
func TestLocalFilesAreListed(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.MkdirAll(filepath.Join(dir, ".Trash-0", "files"), 0o700))
	for _, name := range []string{"Angebot.docx~", ".Trash-0/files/b.txt", "l.md.part"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(name)[:len(name)%9], 0o600))
	}
	for range 2 {
		list := m.fs.Status().Uploads.Locals
		if len(list) != 2 {
			t.Fatalf("%+v", list)
		}
		for i, path := range []string{"Muster GmbH/Briefe/Angebot.docx~", "Muster GmbH/Briefe/.Trash-0/files/b.txt"} {
			if u := list[i]; u.State != fs.StateLocal || u.Path != path || u.Size == 0 || u.Error == "" || u.Incomplete {
				t.Errorf("%+v", u)
			}
		}
		wantNames(t, m.path(".archivefs", "uploads"))
		m.remount()
	}
	u := m.fs.Status().Uploads.Locals[0]
	file := get(os.Readlink(m.path(".archivefs", "uploads", u.ID)))(t)
	if file != u.ID+" Angebot.docx~" {
		t.Errorf("the link is %q", file)
	}
	wantContent(t, m.path(".archivefs", "uploads", file), "Ange")
	wantErrno(t, "retry", m.retryNow(u), syscall.EPERM)
	must(t, os.Remove(m.path(".archivefs", "uploads", file)))
	wantNames(t, dir, ".Trash-0", "l.md.part")
	f.wantHolds(t, f.letters)
}

// A temporary file that is unchanged for a week leaves its folder, with a line in the log, and can
// be exported for another week.
func TestOldTemporaryFilesAreKeptForAnotherTerm(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m, log, c := f.logged(t)
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.Mkdir(filepath.Join(dir, ".Trash-0"), 0o700))
	for _, name := range []string{"Angebot.docx~", "leer.txt", ".Trash-0/b.txt", "l.md.part"} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte("Inhalt")[:6*min(1, strings.Count(name, "o")+strings.Count(name, "/"))], 0o600))
	}
	days := func(n int) string {
		t.Helper()
		log.take()
		c.advance(time.Duration(n) * 24 * time.Hour)
		m.remount()
		return log.take()
	}
	if said := days(6); strings.Contains(said, "temporary") {
		t.Errorf("the log says %s", said)
	}
	wantNames(t, dir, "Angebot.docx~", "leer.txt", "l.md.part", ".Trash-0")
	said := days(2)
	for _, path := range []string{"Muster GmbH/Briefe/Angebot.docx~", "Muster GmbH/Briefe/.Trash-0/b.txt"} {
		if strings.Count(said, path) != 1 || !strings.Contains(said, "uploads export") {
			t.Errorf("the log says %s", said)
		}
	}
	wantNames(t, dir, "leer.txt")
	for range 2 { // it stays so
		list := m.fs.Status().Uploads.Locals
		if len(list) != 2 || list[0].State != fs.StateLocal || !strings.Contains(list[0].Error, "no longer in its folder") {
			t.Fatalf("%+v", list)
		}
		file := get(os.Readlink(m.path(".archivefs", "uploads", list[0].ID)))(t)
		wantContent(t, m.path(".archivefs", "uploads", file), "Inhalt")
		must(t, os.WriteFile(filepath.Join(dir, "Angebot.docx~"), []byte("anew"), 0o600)) // the name is free
		must(t, os.Remove(filepath.Join(dir, "Angebot.docx~")))
		if said := days(3); strings.Contains(said, "Angebot") {
			t.Errorf("the log says %s", said)
		}
	}
	second := m.fs.Status().Uploads.Locals[1]
	must(t, os.Remove(m.kept(second))) // a person need not wait
	if said := days(2); strings.Count(said, "Angebot.docx~") != 1 || strings.Contains(said, "b.txt") {
		t.Errorf("the log says %s", said)
	}
	if s := m.fs.Status().Uploads; len(s.Locals) > 0 || s.Local != 1 {
		t.Errorf("%+v", s)
	}
	wantNames(t, dir, "leer.txt")
	f.wantHolds(t, f.letters)
}

// A file that an older version treated as temporary stays in its folder until a person decides
// about it.
func TestOrdinaryLocalFilesAreNotForgotten(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	var days atomic.Int64
	m := o.mount(t, func(opts *fs.Options) {
		opts.Now = func() time.Time { return time.Now().AddDate(0, 0, int(days.Load())) }
	})
	dir := m.path("Muster GmbH", "Briefe")
	must(t, os.WriteFile(filepath.Join(dir, "x.txt.part"), []byte("Inhalt"), 0o600))
	id := m.fs.Status().Uploads.Locals[0].ID
	m.unmount()
	spooltest.Rewrite(t, filepath.Join(m.state, "spool"), id, func(record []byte) []byte {
		return []byte(strings.ReplaceAll(string(record), `"name":"x.txt.part","temporary":true`, `"name":"zinssatz"`))
	})
	for range 3 {
		m.remount()
		wantContent(t, filepath.Join(dir, "zinssatz"), "Inhalt")
		if list := m.fs.Status().Uploads.Locals; len(list) != 1 || !strings.Contains(list[0].Error, "another name") {
			t.Errorf("%+v", list)
		}
		days.Add(10)
	}
	must(t, os.Rename(filepath.Join(dir, "zinssatz"), filepath.Join(dir, "Zinssatz.txt")))
	wantArchived(t, o, o.letters, "Zinssatz.txt=Inhalt")
}

// A whole document under a working name may be somebody's: the status tells of it at once, and the person
// after a while.
func TestAWholeDocumentThatStaysHereIsToldOf(t *testing.T) {
	t.Parallel()
	n := new(notified)
	s := newScanner(t, hostile.Config{}, func(o *fs.Options) { o.Grace, o.Number, o.Notifier = 0, false, n })
	at := s.path("Muster GmbH", "Briefe")
	write(t, filepath.Join(at, "brief.pdf.part"), "%PDF-1.7\n%%EOF\n")
	write(t, filepath.Join(at, "notes.txt.part"), "just text")
	status := s.fs.Status()
	if got := status.Uploads.HeldBack(); !slices.Equal(got, []string{"Muster GmbH/Briefe/brief.pdf.part"}) {
		t.Errorf("held back: %q", got)
	}
	if n.has("brief.pdf.part") {
		t.Error("the person is told at once")
	}
	s.later.Add(int64(time.Hour))
	s.remount()
	heals(t, "it is told of", func() bool { return n.has("failed", "brief.pdf.part", "rename it") })
	if n.has("notes.txt.part") {
		t.Error("the person is told of a file that is no document")
	}
	must(t, os.Rename(filepath.Join(at, "brief.pdf.part"), filepath.Join(at, "brief.pdf")))
	s.wantHolds(t, s.letters, "brief.pdf=%PDF-1.7\n%%EOF\n")
}
