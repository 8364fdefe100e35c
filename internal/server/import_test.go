package server_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/store"
)

// plant makes files, by their paths below a new directory of that name.
func plant(t *testing.T, name string, files map[string]string) string {
	t.Helper()
	root := filepath.Join(t.TempDir(), name)
	for path, content := range files {
		file := filepath.Join(root, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(file, day, day); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

func (h *service) imported(dir string) server.Imported {
	h.t.Helper()
	made, err := h.Import(h.t.Context(), server.Import{Dir: dir})
	if err != nil {
		h.t.Fatal(err)
	}
	return made
}

// paths returns the documents of the archive, each with the path of its folder.
func (h *service) paths() []string {
	h.t.Helper()
	type folder struct {
		ID      archive.ID
		Name    string
		Folders []folder
	}
	var found []string
	var walk func(folders []folder, above string)
	walk = func(folders []folder, above string) {
		for _, f := range folders {
			path := above + "/" + f.Name
			found = append(found, path+"/")
			for _, d := range h.list(f.ID) {
				found = append(found, path+"/"+d.Name)
			}
			walk(f.Folders, path)
		}
	}
	walk(decode[struct{ Folders []folder }](h.t, h.get("/archivestructure")).Folders, "")
	slices.Sort(found)
	return found
}

func TestImport(t *testing.T) {
	t.Parallel()
	h := start(t)
	files := map[string]string{
		"Muster GmbH/Rechnungen/2018/Rechnung 1.txt": "one",
		"Muster GmbH/Rechnungen/2018/Rechnung 2.txt": "two",
		"Muster GmbH/again.txt":                      "one", // the same content twice
		"Other AG/empty":                             "",
		"note.txt":                                   "of the directory itself",
	}
	dir := plant(t, "office", files)
	if err := os.MkdirAll(filepath.Join(dir, "Other AG", "nothing in it"), 0o700); err != nil {
		t.Fatal(err)
	}
	want := server.Imported{Folders: 6, Documents: 5, Bytes: 3 + 3 + 3 + 23}
	if made := h.imported(dir); made != want {
		t.Errorf("imported %+v, want %+v", made, want)
	}
	tree := []string{
		"/Muster GmbH/", "/Muster GmbH/Rechnungen/", "/Muster GmbH/Rechnungen/2018/", "/Muster GmbH/Rechnungen/2018/Rechnung 1.txt",
		"/Muster GmbH/Rechnungen/2018/Rechnung 2.txt", "/Muster GmbH/again.txt",
		"/Other AG/", "/Other AG/empty", "/Other AG/nothing in it/", "/office/", "/office/note.txt",
	}
	if got := h.paths(); !slices.Equal(got, tree) {
		t.Errorf("the archive has %q, want %q", got, tree)
	}
	for _, d := range h.list(1, "&subfolders-recursive=true") {
		if d.Created != "2023-11-22T14:14:29" || d.Archived == nil || *d.Length != int64(len(files["note.txt"])) {
			t.Errorf("the document is %+v", d)
		}
		if a := h.get("/document/" + text(d.ID) + "/pdf?original=true"); a.body != files["note.txt"] {
			t.Errorf("its content is %q", a.body)
		}
	}
	// Once more, with a change: only that is added.
	if err := os.WriteFile(filepath.Join(dir, "Other AG", "empty"), []byte("not any more"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "Muster GmbH", "again.txt"), []byte("won"), 0o600); err != nil { // of the same length
		t.Fatal(err)
	}
	want = server.Imported{Documents: 2, Bytes: 12 + 3, Present: 3}
	if made := h.imported(dir); made != want {
		t.Errorf("imported %+v the second time, want %+v", made, want)
	}
	if made := h.imported(dir); made.Documents != 0 || made.Present != 5 {
		t.Errorf("imported %+v the third time, want nothing", made)
	}
	if n := h.kept(); n != 6 {
		t.Errorf("%d contents, want 6", n)
	}
	wantStaged(t, h, 0)
}

// A directory may have the name of its parent; both are then one mandator.
func TestImportOfNamesakes(t *testing.T) {
	t.Parallel()
	h := start(t)
	dir := plant(t, "office", map[string]string{"a": "1", "office/a": "1", "office/b": "2"})
	if made := h.imported(dir); made != (server.Imported{Folders: 1, Documents: 2, Bytes: 2, Present: 1}) {
		t.Errorf("imported %+v", made)
	}
	if got, want := h.paths(), []string{"/office/", "/office/a", "/office/b"}; !slices.Equal(got, want) {
		t.Errorf("the archive has %q, want %q", got, want)
	}
}

// Entries that cannot be documents are reported and skipped; the rest is imported.
func TestImportSkips(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.MaxUpload = 10 })
	dir := plant(t, "office", map[string]string{
		"M/good": "x", "M/large": "eleven bytes", "M/bad\xff": "x", "M/secret/x": "x", "N/b\tad/x": "x", "locked": "x",
	})
	deepest := "D" + strings.Repeat("/d", store.MaxDepth-1)
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, deepest, "too deep", "below"), 0o700), os.Symlink("/", filepath.Join(dir, "M", "link")), syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600),
		os.Rename(h.options.Data, filepath.Join(dir, "M", "data"))); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.Rename(filepath.Join(dir, "M", "data"), h.options.Data) })
	if err := os.Symlink(filepath.Join(dir, "M", "data"), h.options.Data); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"M/large": "larger than 10 B", "M/bad\xff": "bad name: not UTF-8", "N/b\tad": "bad name: contains a control character",
		deepest + "/too deep": "it lies more than 200 directories deep",
		"M/link":              "a symbolic link", "pipe": "a named pipe", "M/data": "the archive's own data directory",
	}
	if os.Getuid() != 0 {
		for _, unreadable := range []string{"M/secret", "locked"} {
			want[unreadable] = syscall.EACCES.Error()
			if err := os.Chmod(filepath.Join(dir, unreadable), 0); err != nil {
				t.Fatal(err)
			}
		}
		t.Cleanup(func() { _ = os.Chmod(filepath.Join(dir, "M", "secret"), 0o700) })
	}
	got := map[string]string{}
	made, err := h.Import(t.Context(), server.Import{Dir: dir, Skipped: func(path, reason string) {
		below, _ := filepath.Rel(dir, path)
		got[below] = reason
	}})
	if err != nil || made.Skipped != len(want) || !reflect.DeepEqual(got, want) {
		t.Errorf("skipped %d, %q, want %q, %v", made.Skipped, got, want, err)
	}
	if !slices.Contains(h.paths(), "/M/good") {
		t.Errorf("the archive has %q", h.paths())
	}
}

func TestImportOfTheDataDirectoryIsRefused(t *testing.T) {
	t.Parallel()
	h := start(t)
	for _, dir := range []string{h.options.Data, filepath.Join(h.options.Data, "contents"), filepath.Join(h.options.Data, "absent")} {
		if made, err := h.Import(t.Context(), server.Import{Dir: dir}); err == nil || made != (server.Imported{}) {
			t.Errorf("%s: %+v, %v", dir, made, err)
		}
	}
}

// A modification time in the future, or in 1970 or before, is ignored.
func TestImportedDates(t *testing.T) {
	t.Parallel()
	h := start(t)
	dir := plant(t, "office", map[string]string{"M/ahead": "1", "M/none": "2"})
	for name, changed := range map[string]time.Time{"ahead": time.Now().AddDate(1, 0, 0), "none": time.Unix(0, 0)} {
		if err := os.Chtimes(filepath.Join(dir, "M", name), changed, changed); err != nil {
			t.Fatal(err)
		}
	}
	h.imported(dir)
	for _, d := range h.list(1) {
		if d.Created != *d.Archived {
			t.Errorf("%s was created %s and archived %s", d.Name, d.Created, *d.Archived)
		}
	}
}

// An interrupted import leaves complete documents, and the next one adds the rest.
func TestAnInterruptedImportGoesOn(t *testing.T) {
	t.Parallel()
	h := start(t)
	files := map[string]string{}
	for i := range 1500 {
		files[fmt.Sprintf("M/%d/%d.txt", i%3, i)] = fmt.Sprint("document ", i)
	}
	dir := plant(t, "office", files)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var seen atomic.Int64
	first, err := h.Import(ctx, server.Import{Dir: dir, Done: func(int64) {
		if seen.Add(1) == 700 {
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || first.Documents == 0 || first.Documents >= len(files) {
		t.Fatalf("imported %+v, %v; want some and to be interrupted", first, err)
	}
	wantStaged(t, h, 0)
	if n := h.kept(); n < first.Documents {
		t.Errorf("%d contents for %d documents", n, first.Documents)
	}
	if listed := h.list(1, "&subfolders-recursive=true"); len(listed) != first.Documents {
		t.Errorf("%d documents are listed, want %d", len(listed), first.Documents)
	}
	second := h.imported(dir)
	if second.Documents != len(files)-first.Documents || second.Present != first.Documents {
		t.Errorf("imported %+v and then %+v, of %d", first, second, len(files))
	}
	if n := strings.Join(h.paths(), "\n"); strings.Count(n, ".txt") != len(files) {
		t.Errorf("%d documents, want %d", strings.Count(n, ".txt"), len(files))
	}
}
