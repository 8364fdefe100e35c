package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
)

// Programs save an inbox document in various ways: the result is always new bytes for the same
// document, and no temporary file is sent.
func TestProgramsReplaceAnInboxDocument(t *testing.T) {
	const vim, python = `vim -u NONE -es -c 'set %s' -c 'normal iGuten Tag ' -c wq brief.txt </dev/null`, "python3 -c '%s'"
	for name, script := range map[string]string{
		"vim":                fmt.Sprintf(vim, "writebackup backupcopy=auto backupskip="),
		"vim, in place":      fmt.Sprintf(vim, "writebackup backupcopy=yes backupskip="),
		"vim, by its backup": fmt.Sprintf(vim, "writebackup backupcopy=no backupskip="),
		"vim, no backup":     fmt.Sprintf(vim, "nowritebackup"),
		"sed -i":             `sed -i 's/^/Guten Tag /' brief.txt`,
		"sed -i, twice":      `sed -i 's/alt/neu/' brief.txt; sed -i 's/neu/Guten Tag alt/' brief.txt`,
		"rsync":              `printf 'Guten Tag alt\n' > "$HOME/brief.txt"; rsync -a "$HOME/brief.txt" ./`,
		"rsync --inplace":    `printf 'Guten Tag alt\n' > "$HOME/brief.txt"; rsync -a --inplace "$HOME/brief.txt" ./`,
		"python, os.replace": fmt.Sprintf(python, `import os, tempfile
f = tempfile.NamedTemporaryFile("w", dir=".", delete=False)
f.write("Guten Tag alt\n"); f.close()
os.replace(f.name, "brief.txt")`),
		"python, in place": fmt.Sprintf(python, `f=open("brief.txt","r+"); s=f.read(); f.seek(0); f.write("Guten Tag "+s); f.close()`),
		"python, mmap": fmt.Sprintf(python, `import mmap
with open("brief.txt", "w") as f: f.write("Guten Tag xxx\n")
f=open("brief.txt","r+b"); m=mmap.mmap(f.fileno(),0); m[10:13]=b"alt"; m.close(); f.close()`),
		"sh, > and >>": `: > brief.txt; printf 'Guten Tag ' >> brief.txt; printf 'alt\n' >> brief.txt`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			id := o.put(t, o.inbox, "brief.txt", "alt\n")
			m := o.mount(t, func(opts *fs.Options) { opts.AllowDelete = true })
			sh(t, m, `cd "$1/inboxes/Administrator"; HOME='`+t.TempDir()+`'; `+script)
			wantReplaced(t, o, m, id, "Guten Tag alt\n")
		})
	}
}

// wantReplaced fails the test unless brief.txt is all that the inbox has, the same document with the content,
// to which nothing was done but that.
func wantReplaced(t *testing.T, o *office, m *mounted, id archive.ID, content string) {
	t.Helper()
	wantNames(t, m.path("inboxes", "Administrator"), "brief.txt")
	wantContent(t, m.path("inboxes", "Administrator", "brief.txt"), content)
	wantArchived(t, o, o.inbox, "brief.txt="+content)
	if docs := o.documents(t, o.inbox); docs[0].ID != id {
		t.Errorf("the document is another one: %d, was %d", docs[0].ID, id)
	}
	for _, r := range o.asked("POST", "") {
		if !strings.HasSuffix(r.Path, "/replace") {
			t.Errorf("asked for %s", r.Path)
		}
	}
	if ups := m.uploads(); len(ups) != 0 {
		t.Errorf("uploads remain: %+v", ups)
	}
}

// What is written under the name of a document that was set aside is new bytes for it. The copy that was set
// aside can be removed, or renamed back.
func TestADocumentThatIsSetAsideAndWrittenAnewIsReplaced(t *testing.T) {
	for name, do := range map[string]func(at, aside string) error{
		"once": func(at, aside string) error {
			return first(os.Rename(at, aside), put(at, "neu"), os.Remove(aside))
		},
		"twice": func(at, aside string) error {
			return first(os.Rename(at, aside), put(at, "x"), os.Rename(at, aside), put(at, "neu"), os.Remove(aside))
		},
		"after it was renamed back": func(at, aside string) error {
			return first(os.Rename(at, aside), os.Rename(aside, at), put(at, "neu"))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			id := o.put(t, o.inbox, "brief.txt", "alt")
			m := o.mount(t, func(opts *fs.Options) { opts.AllowDelete = true })
			at := m.path("inboxes", "Administrator", "brief.txt")
			must(t, do(at, at+"~"))
			wantReplaced(t, o, m, id, "neu")
		})
	}
}

// A document that was only renamed to a backup's name comes back with the next listing.
func TestDocumentSetAsideComesBack(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "brief.txt", "alt")
	m := o.mount(t, nil)
	dir := m.path("inboxes", "Administrator")
	must(t, os.Rename(filepath.Join(dir, "brief.txt"), filepath.Join(dir, "brief.txt~")))
	wantContent(t, filepath.Join(dir, "brief.txt~"), "alt")
	if _, err := os.Stat(filepath.Join(dir, "brief.txt")); !os.IsNotExist(err) {
		t.Errorf("it is shown under its name too: %v", err)
	}
	must(t, os.WriteFile(filepath.Join(dir, "neu.txt"), []byte("neu"), 0o600))
	wantNames(t, dir, "brief.txt~", "neu.txt")
	must(t, m.fs.Refresh(t.Context()))
	wantNames(t, dir, "brief.txt", "brief.txt~", "neu.txt")
	m.remount()
	wantNames(t, dir, "brief.txt", "brief.txt~", "neu.txt")
	wantContent(t, filepath.Join(dir, "brief.txt"), "alt")
	wantArchived(t, o, o.inbox, "brief.txt=alt", "neu.txt=neu")
}
