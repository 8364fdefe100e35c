package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A program's own directory is refused, with the reason in the log, so it becomes neither folders
// nor documents.
func TestWorkshopsAreRefused(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m, log, _ := f.logged(t)
	for _, at := range []string{"Muster GmbH", "Muster GmbH/Briefe", "inboxes/Administrator"} {
		for _, name := range []string{
			".git", ".svn", ".hg", ".bzr", "_darcs", ".jj", ".idea", ".vscode", ".vs", "node_modules", "__pycache__", ".venv", ".tox",
			".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".terraform",
		} {
			log.take()
			wantErrno(t, "mkdir "+name, os.Mkdir(m.path(at, name), 0o700), syscall.EPERM)
			if got := log.take(); strings.Count(got, "mkdir refused: ") != 1 || !strings.Contains(got, "keeps for itself") || !strings.Contains(got, name) {
				t.Errorf("the log says %q of %s", got, name)
			}
		}
		must(t, os.MkdirAll(m.path(at, ".Trash-0", "files", ".git"), 0o700)) // stays local in any case
		for _, name := range []string{"git", ".github", ".Git", "Node_modules", "CVS", "venv", "idea"} {
			must(t, os.Mkdir(m.path(at, name), 0o700))
		}
	}
	if n := len(f.Folders(f.letters)); n != 7 {
		t.Errorf("%d folders are made, want 7", n)
	}
	must(t, os.WriteFile(m.path("Muster GmbH/Briefe/.git"), []byte("gitdir: ../x\n"), 0o600)) // a file of that name is a document
	f.wantHolds(t, f.letters, ".git=gitdir: ../x\n")
}

// An existing folder with such a name is a normal folder; mkdir and rename give no queued folder
// such a name.
func TestFoldersNamedLikeWorkshops(t *testing.T) {
	t.Parallel()
	a := newAsync(t, hostile.Config{}, func(f *foreign) {
		f.AddDocument(f.AddFolder(f.letters, ".git"), hostile.Document{Name: "a.txt", Content: []byte("a")})
		f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	})
	wantContent(t, filepath.Join(a.letters, ".git", "a.txt"), "a")
	must(t, os.WriteFile(filepath.Join(a.letters, ".git", "b.txt"), []byte("b"), 0o600))
	must(t, os.Mkdir(filepath.Join(a.letters, ".git", "Neu"), 0o700))
	a.sends()
	a.goesAway(t)
	must(t, os.Mkdir(a.path("Muster GmbH", "Neu"), 0o700))
	wantErrno(t, "mkdir", os.Mkdir(a.path("Muster GmbH", "node_modules"), 0o700), syscall.EPERM)
	wantErrno(t, "rename", os.Rename(a.path("Muster GmbH", "Neu"), a.path("Muster GmbH", ".svn")), syscall.EPERM)
	a.line.mend()
	a.sends()
	a.wantTree(t, "Neu/", "Briefe/.git/", "Briefe/.git/Neu/", "Briefe/.git/a.txt=a", "Briefe/.git/b.txt=b")
}

// Programs that make such a directory leave nothing behind.
func TestProgramsThatMakeWorkshops(t *testing.T) {
	for name, script := range map[string]string{
		"git":    `git init -q . && exit 1; true`,
		"python": `echo x=1 > a.py; python3 -m compileall -q a.py || true`,
		"cp -r":  `mkdir -p "$HOME/src/.git/refs"; echo x > "$HOME/src/.git/HEAD"; echo y > "$HOME/src/.git/refs/a"; cp -r "$HOME/src/.git" . && exit 1; true`,
		"rsync":  `mkdir -p "$HOME/src/.git/refs"; echo x > "$HOME/src/.git/HEAD"; rsync -a "$HOME/src/" . && exit 1; true`,
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			m := f.mount(t, nil)
			sh(t, m, `export HOME='`+t.TempDir()+`'; cd "$1/Muster GmbH/Briefe"; `+script)
			if made := f.tree(f.letters, ""); len(made) > 0 && name != "python" || len(f.Folders(f.letters)) > 0 {
				t.Errorf("the service has %q", made)
			}
		})
	}
}
