package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
)

// One name in two Unicode forms, as people type it and as macOS stores it.
const (
	composedName   = "Pr\u00fcfung.txt"
	decomposedName = "Pru\u0308fung.txt"
)

// Which of its Unicode forms a name has does not matter to what the kernel asks for, and keeps.
func TestANameInAnotherUnicodeFormIsTheSameFile(t *testing.T) {
	t.Parallel()
	for by, names := range map[string][2]string{"decomposed": {composedName, decomposedName}, "composed": {decomposedName, composedName}} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			o := newOffice(t, nil)
			m := o.mount(t, func(opts *fs.Options) { opts.AllowDelete = true })
			letters, inbox := m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
			there, other := filepath.Join(letters, names[0]), filepath.Join(letters, names[1])
			_, err := os.Stat(other) // the kernel may keep that it is absent
			wantErrno(t, "stat before", err, syscall.ENOENT)
			must(t, os.WriteFile(there, []byte("Inhalt"), 0o600))
			wantContent(t, other, "Inhalt")
			if a, b := get(os.Stat(there))(t), get(os.Stat(other))(t); !os.SameFile(a, b) {
				t.Error("the names lead to different files")
			}
			_, err = os.OpenFile(other, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
			wantErrno(t, "create", err, syscall.EEXIST)
			wantErrno(t, "overwrite", os.WriteFile(other, []byte("x"), 0o600), syscall.EPERM)
			wantErrno(t, "mkdir", os.Mkdir(other, 0o700), syscall.EEXIST)
			wantErrno(t, "remove", os.Remove(other), syscall.EPERM)
			tmp := filepath.Join(letters, ".goutputstream-AB12CD")
			must(t, os.WriteFile(tmp, []byte("x"), 0o600))
			wantErrno(t, "rename onto it", os.Rename(tmp, other), syscall.EPERM)
			must(t, os.Remove(tmp))
			must(t, xattr.Set(other, "user.archive.keywords", []byte("neu")))
			if got := attr(t, there, "keywords"); got != "neu" {
				t.Errorf("its keywords are %q", got)
			}
			must(t, os.WriteFile(filepath.Join(inbox, names[0]), []byte("zwei"), 0o600))
			wantErrno(t, "archive it over another", os.Rename(filepath.Join(inbox, names[1]), other), syscall.EPERM)
			must(t, os.Remove(filepath.Join(inbox, names[1])))
			for _, name := range names {
				_, err := os.Stat(filepath.Join(inbox, name))
				wantErrno(t, "stat after", err, syscall.ENOENT)
			}
			must(t, os.Mkdir(filepath.Join(letters, "A"+names[0]), 0o700))
			wantErrno(t, "mkdir again", os.Mkdir(filepath.Join(letters, "A"+names[1]), 0o700), syscall.EEXIST)
			must(t, os.WriteFile(filepath.Join(letters, "A"+names[1], "a.txt"), []byte("a"), 0o600))
			wantContent(t, filepath.Join(letters, "A"+names[0], "a.txt"), "a")
			wantNames(t, letters, names[0], "A"+names[0])
			wantArchived(t, o, o.letters, names[0]+"=Inhalt")
			wantArchived(t, o, o.inbox)
		})
	}
}

// What somebody else has made in two forms stays two files.
func TestTwoUnicodeFormsOfTheServiceAreBothThere(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, o.letters, decomposedName, "eins")
	o.put(t, o.letters, composedName, "zwei")
	m := o.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	for range 2 {
		wantContent(t, filepath.Join(dir, decomposedName), "eins")
		wantContent(t, filepath.Join(dir, composedName), "zwei")
		wantNames(t, dir, decomposedName, composedName)
	}
}

// A tree from a Mac is copied once, whether the archive has it in the same form or another, and a program
// that stands in one of its folders stays there whoever uses another form.
func TestToolsCopyADecomposedTreeOnce(t *testing.T) {
	o := newOffice(t, nil)
	m := o.mount(t, nil)
	src := t.TempDir()
	const folder, decomposedFolder = "Vertr\u00e4ge", "Vertra\u0308ge"
	must(t, os.Mkdir(filepath.Join(src, decomposedFolder), 0o700))
	for _, name := range []string{decomposedName, "U\u0308bersicht.txt"} {
		must(t, os.WriteFile(filepath.Join(src, decomposedFolder, name), []byte("Vertrag in "+decomposedFolder), 0o600))
	}
	to := m.path("Muster GmbH", "Briefe")
	must(t, os.Mkdir(filepath.Join(to, folder), 0o700))
	sh(t, m, `cp -p '`+filepath.Join(src, decomposedFolder, decomposedName)+`' '`+filepath.Join(to, folder, composedName)+`'`)
	for i, want := range []int{1, 0, 0} {
		out := sh(t, m, `rsync -a --itemize-changes '`+src+`/' '`+to+`/'`)
		if got := strings.Count(out, ">f") + strings.Count(out, "cd"); got != want {
			t.Errorf("run %d of rsync copies %d:\n%s", i+1, got, out)
		}
		if i == 1 {
			m.remount()
		}
	}
	sh(t, m, `cd '`+filepath.Join(to, folder)+`'; ls '`+filepath.Join(to, decomposedFolder)+`' >/dev/null; [ "$(ls | wc -l)" = 2 ]; [ -e ./`+composedName+` ]
		cp '`+filepath.Join(src, decomposedFolder, decomposedName)+`' . 2>/dev/null && exit 1
		mkdir '../`+decomposedFolder+`' 2>/dev/null && exit 1; ls .. | wc -l | grep -qx 1
		python3 -c 'import os,sys; os.chdir(sys.argv[1]); os.stat(sys.argv[2]); print(len(os.listdir(".")))' '`+filepath.Join(to, decomposedFolder)+`' '`+filepath.Join(to, folder)+`' | grep -qx 2`)
	for _, in := range []string{folder, decomposedFolder} {
		if got := sh(t, m, `ls "$1/.archivefs/search/in:\"Muster GmbH\" in:Briefe in:`+in+` name:bersicht"`); got != "U\u0308bersicht.txt\n" {
			t.Errorf("in:%q finds %q", in, got)
		}
	}
}
