package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
)

// A file that was copied in without an extension is found by a second copy, although a fresh mount
// shows it with one.
func TestRsyncAgainAfterARemount(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	src := t.TempDir()
	long := strings.Repeat("n", 255)
	for _, name := range []string{"LIESMICH", "punkt am ende.", " führend und Ende .txt ", "Brief vom 3.4", long, "a.txt"} {
		must(t, os.WriteFile(filepath.Join(src, name), []byte("Inhalt von "+name), 0o600))
	}
	dir := m.path("Muster GmbH", "Briefe")
	const rsync = `rsync -a --itemize-changes `
	sh(t, m, rsync+`'`+src+`/' '`+dir+`/'`)
	before := len(o.documents(t, o.letters))
	if before != 6 {
		t.Fatalf("the archive holds %d documents", before)
	}
	for range 2 {
		m.remount()
		wantNames(t, dir, "LIESMICH.txt", "punkt am ende..txt", " führend und Ende .txt .txt", "Brief vom 3.4.txt", long[:251]+".txt", "a.txt")
		if out := sh(t, m, rsync+`'`+src+`/' '`+dir+`/'`); strings.Contains(out, ">f") {
			t.Errorf("rsync copies again:\n%s", out)
		}
		sh(t, m, `cd '`+src+`'; for f in *; do cmp "$f" '`+dir+`'/"$f"; done`)
	}
	if after := len(o.documents(t, o.letters)); after != before {
		t.Errorf("the archive holds %d documents, before %d", after, before)
	}
}

func TestArchivedDocumentUnderItsPlainName(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.letters, "LIESMICH", "Inhalt")
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	plain, shown := filepath.Join(dir, "LIESMICH"), filepath.Join(dir, "LIESMICH.txt")
	wantContent(t, plain, "Inhalt")
	wantNames(t, dir, "LIESMICH.txt")
	if a, b := get(os.Stat(plain))(t), get(os.Stat(shown))(t); !os.SameFile(a, b) {
		t.Error("the names lead to different files")
	}
	_, err := os.OpenFile(plain, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	wantErrno(t, "create", err, syscall.EEXIST)
	wantErrno(t, "overwrite", os.WriteFile(plain, []byte("x"), 0o600), syscall.EPERM)
	wantErrno(t, "mkdir", os.Mkdir(plain, 0o700), syscall.EEXIST)
	wantErrno(t, "remove", os.Remove(plain), syscall.EPERM)
	wantErrno(t, "NAME.part beside a document", os.WriteFile(plain+".part", []byte("x"), 0o600), syscall.EPERM)
	tmp := filepath.Join(dir, ".goutputstream-AB12CD")
	must(t, os.WriteFile(tmp, []byte("x"), 0o600))
	wantErrno(t, "rename onto it", os.Rename(tmp, plain), syscall.EPERM)
	must(t, os.Remove(tmp))
	must(t, os.Rename(plain, filepath.Join(dir, "ANDERS")))
	wantNames(t, dir, "ANDERS")
	_, err = os.Stat(plain)
	wantErrno(t, "stat", err, syscall.ENOENT)
	heals(t, "the name that was shown goes, too", func() bool { return !exists(shown) })
	wantArchived(t, o, o.letters, "ANDERS=Inhalt")
}

func TestInboxDocumentUnderItsPlainName(t *testing.T) {
	for name, script := range map[string]string{
		"overwrite": `printf neu > "$d/LIESMICH"`,
		"mv over":   `printf neu > "$d/a.part"; mv "$d/a.part" "$d/LIESMICH"`,
		"sed -i":    `sed -i s/alt/neu/ "$d/LIESMICH"`,
		"set aside": `mv "$d/LIESMICH" "$d/LIESMICH~"; [ ! -e "$d/LIESMICH" ]; printf neu > "$d/LIESMICH"; rm "$d/LIESMICH~"`,
		"vim":       `vim -u NONE -es -c 'set nofixeol writebackup backupcopy=no backupskip=' -c 's/alt/neu/' -c wq "$d/LIESMICH" </dev/null`,
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, nil)
			o.put(t, o.inbox, "LIESMICH", "alt")
			o.put(t, o.inbox, "LIESMICH", "anderes")
			m := o.mount(t, nil)
			dir := m.path("inboxes", "Administrator")
			wantNames(t, dir, "LIESMICH.txt", "LIESMICH (2).txt")
			sh(t, m, `d="$1/inboxes/Administrator"; `+script)
			wantArchived(t, o, o.inbox, "LIESMICH=neu", "LIESMICH=anderes")
			wantNames(t, dir, "LIESMICH.txt", "LIESMICH (2).txt")
			wantContent(t, filepath.Join(dir, "LIESMICH"), "neu")
			wantContent(t, filepath.Join(dir, "LIESMICH.txt"), "neu")
		})
	}
}

func TestMoveAndRemoveInboxDocumentsByPlainName(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.inbox, "LIESMICH", "eins")
	o.put(t, o.inbox, "LIESMICH", "zwei")
	o.put(t, o.inbox, "Notiz", "drei")
	m := o.mount(t, func(opts *fs.Options) { opts.AllowDelete = true })
	dir := m.path("inboxes", "Administrator")
	must(t, os.Rename(filepath.Join(dir, "LIESMICH"), m.path("Muster GmbH", "Briefe", "LIESMICH")))
	must(t, os.Remove(filepath.Join(dir, "Notiz")))
	wantNames(t, dir, "LIESMICH (2).txt")
	for _, name := range []string{"LIESMICH", "Notiz"} {
		gone := filepath.Join(dir, name)
		_, err := os.Stat(gone)
		wantErrno(t, "stat "+name, err, syscall.ENOENT)
		heals(t, "the name that was shown goes, too", func() bool { return !exists(gone + ".txt") })
	}
	wantArchived(t, o, o.letters, "LIESMICH=eins")
	wantArchived(t, o, o.inbox, "LIESMICH=zwei")
}

// Lookups of absent names are answered from memory.
func TestAbsentNamesSendNoRequest(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.letters, "LIESMICH", "x")
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	wantNames(t, dir, "LIESMICH.txt")
	o.forget()
	for _, name := range []string{".hidden", "LIESMICH.synctex.gz", "liesmich", "LIESMICH"} {
		_, _ = os.Stat(filepath.Join(dir, name))
	}
	if asked := o.asked("", ""); len(asked) != 0 {
		t.Errorf("asked %v", asked)
	}
}
