package fs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// forest fills the mandator with 4 folders of 4 folders of 8 folders, two documents in each
// but the innermost of every second one. It returns the paths of the documents.
func (f *foreign) forest() (paths []string) {
	var grow func(at int64, path string, widths []int)
	grow = func(at int64, path string, widths []int) {
		for i := range widths[0] {
			name := fmt.Sprintf("Ordner %d", i)
			id := f.AddFolder(at, name)
			if len(widths) > 1 {
				grow(id, path+name+"/", widths[1:])
			} else if i%2 == 1 {
				continue
			}
			for j := range 2 {
				doc := fmt.Sprintf("%d.txt", j)
				f.AddDocument(id, hostile.Document{Name: doc, Content: []byte(doc), Pages: 1})
				paths = append(paths, path+name+"/"+doc)
			}
		}
	}
	grow(f.mandator, "Muster GmbH/", []int{4, 4, 8})
	slices.Sort(paths)
	return paths
}

// walks runs find over the mount and fails the test unless it shows exactly these files.
func (m *mounted) walks(t *testing.T, want []string) {
	t.Helper()
	out := string(get(exec.CommandContext(t.Context(), "find", m.dir, "-name", ".archivefs", "-prune", "-o", "-type", "f", "-printf", "%P\n").CombinedOutput())(t))
	got := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("find shows %d files, want %d: %.2000q", len(got), len(want), got)
	}
}

// A walk shows what each folder would show alone, however the service answers requests for many
// folders, and takes few requests if these answers can be trusted.
func TestWalkAsksForManyFoldersAtOnce(t *testing.T) {
	const folders = 4 + 4*4 + 4*4*8
	for name, tt := range map[string]struct {
		cfg   hostile.Config
		fault hostile.Fault
		most  int // requests
	}{
		"in full":                  {most: 14},
		"ids as strings":           {cfg: hostile.Config{StringIDs: true}, most: 14},
		"no folder ids":            {cfg: hostile.Config{List: hostile.ListShape{FolderID: hostile.Absent}}, most: folders + 20},
		"null folder ids":          {cfg: hostile.Config{List: hostile.ListShape{FolderID: hostile.Null}}, most: folders + 20},
		"no recursion":             {cfg: hostile.Config{List: hostile.ListShape{NotRecursive: true}}, most: folders + 20},
		"the structure fails once": {fault: hostile.Fault{Path: "/archivestructure", Nth: 4, Do: hostile.Answer(400, "no")}, most: 20},
		"the list fails once":      {fault: hostile.Fault{Path: "/document/list", Nth: 4, Do: hostile.Answer(400, "no")}, most: folders + 20},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, tt.cfg)
			want := f.forest()
			m, _ := f.slow(t) // however long the programs take between two folders
			if tt.fault.Do != nil {
				f.Fault(tt.fault)
			}
			m.walks(t, want)
			if n := len(f.Requests()); n > tt.most {
				t.Errorf("%d requests", n)
			}
			before := len(f.Requests())
			m.walks(t, want)
			if n := len(f.Requests()) - before; n > 0 {
				t.Errorf("%d requests for what is known", n)
			}
		})
	}
}

// A change by this mount after the prefetch shows at once.
func TestWalkShowsOwnChanges(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	want := f.forest()
	m, _ := f.slow(t)
	m.walks(t, want)
	in := "Muster GmbH/Ordner 1/Ordner 2"
	must(t, os.WriteFile(m.path(in, "neu.txt"), []byte("new"), 0o600))
	must(t, os.Mkdir(m.path(in, "Neu"), 0o700))
	must(t, os.WriteFile(m.path(in, "Neu", "neu.txt"), []byte("newer"), 0o600))
	want = append(want, in+"/neu.txt", in+"/Neu/neu.txt")
	slices.Sort(want)
	m.walks(t, want)
	m.remount()
	m.walks(t, want)
}

// Looking at folders, one below the other, requests only these.
func TestLookingAtFoldersIsNoWalk(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.forest()
	m, _ := f.slow(t)
	for _, path := range []string{"", "Muster GmbH", "Muster GmbH/Ordner 1", "Muster GmbH/Ordner 1/Ordner 2", "Muster GmbH/Ordner 1/Ordner 2/Ordner 3"} {
		sh(t, m, "ls \"$1/"+filepath.FromSlash(path)+"\" >/dev/null")
	}
	for _, r := range f.Requests() {
		if r.Query.Get("subfolders-recursive") == "true" || r.Path == "/archivestructure" && r.Query.Get("lazy") != "true" {
			t.Errorf("%s %s?%s", r.Method, r.Path, r.Query.Encode())
		}
	}
}

// A walk that looks at each file gets the same attributes as a program that opens one folder.
func TestWalkThatLooksAtFiles(t *testing.T) {
	f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
	want := f.forest()
	m, _ := f.slow(t)
	m.walks(t, want)
	before := len(f.Requests())
	out := string(get(exec.CommandContext(t.Context(), "find", m.path("Muster GmbH"), "-type", "f", "-printf", "%i %s %f\n").Output())(t))
	seen := map[string]bool{}
	for line := range strings.Lines(out) {
		ino, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if seen[ino] || rest != "5 0.txt" && rest != "5 1.txt" {
			t.Errorf("%q", line)
		}
		seen[ino] = true
	}
	if n := len(f.Requests()) - before; len(seen) != len(want) || n > 1 {
		t.Errorf("%d files of %d, %d requests", len(seen), len(want), n)
	}
	numbers := string(get(exec.CommandContext(t.Context(), "ls", "-iR", m.path("Muster GmbH")).Output())(t))
	for line := range strings.Lines(numbers) {
		if ino, name, _ := strings.Cut(strings.TrimSpace(line), " "); strings.HasSuffix(name, ".txt") && !seen[ino] {
			t.Errorf("ls has another number: %q", line)
		}
	}
}
