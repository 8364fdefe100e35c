package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/fs"
)

// Editors save an inbox document in various ways: the result is always new bytes for the same
// document, and no temporary file is sent.
func TestEditorsReplaceAnInboxDocument(t *testing.T) {
	for name, script := range map[string]string{
		"vim":              `vim -u NONE -es -c 'set writebackup backupcopy=auto backupskip=' -c 'normal iGuten Tag ' -c wq brief.txt </dev/null`,
		"vim, in place":    `vim -u NONE -es -c 'set writebackup backupcopy=yes backupskip=' -c 'normal iGuten Tag ' -c wq brief.txt </dev/null`,
		"vim, no backup":   `vim -u NONE -es -c 'set nowritebackup' -c 'normal iGuten Tag ' -c wq brief.txt </dev/null`,
		"sed -i":           `sed -i 's/^/Guten Tag /' brief.txt`,
		"Emacs":            `mv brief.txt brief.txt~; printf 'Guten Tag alt\n' > brief.txt; rm brief.txt~`,
		"gio":              `printf 'Guten Tag alt\n' > .goutputstream-AB12CD; mv .goutputstream-AB12CD brief.txt`,
		"LibreOffice":      `echo me > '.~lock.brief.txt#'; printf 'Guten Tag alt\n' > lu12ab.tmp; mv lu12ab.tmp brief.txt; rm '.~lock.brief.txt#'`,
		"python":           `python3 -c 'f=open("brief.txt","r+"); s=f.read(); f.seek(0); f.write("Guten Tag "+s); f.close()'`,
		"python, mmap":     `printf 'Guten Tag xxx\n' > brief.txt; python3 -c 'import mmap; f=open("brief.txt","r+b"); m=mmap.mmap(f.fileno(),0); m[10:13]=b"alt"; m.close(); f.close()'`,
		"twice":            `mv brief.txt brief.txt~; echo x > brief.txt; mv brief.txt brief.txt~; printf 'Guten Tag alt\n' > brief.txt; rm brief.txt~`,
		"backup put back":  `mv brief.txt brief.txt~; mv brief.txt~ brief.txt; printf 'Guten Tag alt\n' > brief.txt`,
		"truncate, append": `: > brief.txt; printf 'Guten Tag ' >> brief.txt; printf 'alt\n' >> brief.txt`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			id := o.put(t, o.inbox, "brief.txt", "alt\n")
			m := o.mount(t, func(opts *fs.Options) { opts.AllowDelete = true })
			sh(t, m, `cd "$1/inboxes/Administrator"; `+script)
			wantNames(t, m.path("inboxes", "Administrator"), "brief.txt")
			wantContent(t, m.path("inboxes", "Administrator", "brief.txt"), "Guten Tag alt\n")
			wantArchived(t, o, o.inbox, "brief.txt=Guten Tag alt\n")
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
