package fs_test

import (
	"os"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A mount of one folder has that at its top, with all that a folder can do, and shows nothing else.
func TestAMountOfOneFolder(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	year := get(o.AddFolder(t.Context(), o.bills, "2024"))(t)
	o.put(t, o.bills, "Rechnung 1.txt", "one")
	o.put(t, year, "Rechnung 2.txt", "two")
	o.put(t, o.letters, "Rechnung aus Versehen.txt", "elsewhere")
	m := &mounted{baseURL: o.url, cred: o.cred, folder: "/Muster GmbH/Rechnungen/", tweak: func(opts *fs.Options) { opts.AllowDelete = true }}
	m.begin(t)

	wantNames(t, m.dir, "2024", "Rechnung 1.txt")
	wantContent(t, m.path("2024", "Rechnung 2.txt"), "two")
	for _, name := range []string{"Muster GmbH", "inboxes", "Briefe"} {
		_, err := os.Lstat(m.path(name))
		wantErrno(t, name, err, syscall.ENOENT)
	}

	must(t, os.WriteFile(m.path("Rechnung 3.txt"), []byte("three"), 0o600))
	must(t, os.Mkdir(m.path("2025"), 0o700))
	must(t, os.WriteFile(m.path("2025", "Rechnung 4.txt"), []byte("four"), 0o600))
	sh(t, m, `cd "$1/2025" && test "$(ls -A ..)" = "$(ls -A "$1")" && cat "../Rechnung 3.txt" >/dev/null`)
	if docs := o.documents(t, o.bills); len(docs) != 2 {
		t.Errorf("%d documents in the folder", len(docs))
	}
	if got := get(os.ReadFile(m.path(".archivefs", "status.json")))(t); len(got) == 0 {
		t.Error("there is no status")
	}
	// What is told and kept of a file, for a mount of the whole archive as well, has its path in that.
	sh(t, m, `test "$(getfattr --only-values -n user.archive.path "$1/2025")" = "/Muster GmbH/Rechnungen/2025"`)

	wantNames(t, m.search("Rechnung"), "Rechnung 1.txt", "Rechnung 2.txt", "Rechnung 3.txt", "Rechnung 4.txt")
	wantNames(t, m.search("Rechnung in:2024"), "Rechnung 2.txt")
	link := m.search("Rechnung", "Rechnung 2.txt")
	if got := get(os.Readlink(link))(t); got != "../../../2024/Rechnung 2.txt" {
		t.Errorf("a hit leads to %s", got)
	}
	wantContent(t, link, "two")

	m.folder = "inboxes/Administrator"
	m.remount()
	must(t, os.WriteFile(m.path("scan.txt"), []byte("scan"), 0o600))
	must(t, os.Remove(m.path("scan.txt")))
	wantNames(t, m.dir)
	m.folder = ""
	m.remount()
	wantContent(t, m.path("Muster GmbH", "Rechnungen", "2025", "Rechnung 4.txt"), "four")
}

// A folder that is renamed at the service stays the top of the mount. Later it is found under its new name alone.
func TestAMountOfAFolderThatIsRenamed(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "Rechnung.txt", Content: []byte("one")})
	m := &mounted{baseURL: f.url, cred: f.cred, folder: "Muster GmbH/Rechnungen"}
	m.begin(t)
	f.RenameFolder(f.bills, "Faktura")
	must(t, m.fs.Refresh(t.Context()))
	wantNames(t, m.dir, "Rechnung.txt")
	must(t, os.WriteFile(m.path("Rechnung 2.txt"), []byte("two"), 0o600))
	if docs := f.Documents(f.bills); len(docs) != 2 {
		t.Errorf("%d documents in the renamed folder", len(docs))
	}
	m.unmount()
	wantErrno(t, "a mount of a folder that is gone", m.open(), syscall.ENOENT)
	m.folder = "Muster GmbH/Faktura"
	m.remount()
	wantContent(t, m.path("Rechnung 2.txt"), "two")
}
