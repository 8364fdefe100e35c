package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// dedup is a service that keeps one document for each external id.
var dedup = hostile.Config{Upload: hostile.UploadShape{SameExternalID: hostile.SameKeepsOld}}

// putAs uploads a file with a given external id, by close or by rename.
func putAs(t testing.TB, path, content string, byRename bool) error {
	t.Helper()
	at := path
	if byRename {
		at += ".part"
	}
	f := get(os.Create(at))(t)
	get(f.WriteString(content))(t)
	must(t, xattr.FSet(f, "user.archive.external-id", []byte("ERP-1")))
	if err := f.Close(); err != nil || !byRename {
		return err
	}
	return os.Rename(at, path)
}

// A document that existed before keeps its name, and the new name disappears.
func TestUploadOfAnExistingDocument(t *testing.T) {
	t.Parallel()
	for name, byRename := range map[string]bool{"close": false, "rename": true} {
		for _, elsewhere := range []bool{false, true} {
			t.Run(name+map[bool]string{true: ", elsewhere"}[elsewhere], func(t *testing.T) {
				f := newForeign(t, dedup)
				folder, where := f.letters, "Briefe"
				if elsewhere {
					folder, where = f.bills, "Rechnungen"
				}
				old := f.AddDocument(folder, hostile.Document{Name: "alt.txt", Content: []byte("Inhalt"), ExternalID: "ERP-1"})
				m, log, _ := f.logged(t)
				dir := m.path("Muster GmbH", "Briefe")
				shown := names(t, dir)
				must(t, putAs(t, filepath.Join(dir, "neu.txt"), "Inhalt", byRename))
				heals(t, "the new name goes", func() bool { return !exists(filepath.Join(dir, "neu.txt")) })
				wantNames(t, dir, shown...)
				wantContent(t, m.path("Muster GmbH", where, "alt.txt"), "Inhalt")
				if docs := append(f.Documents(f.letters), f.Documents(f.bills)...); len(docs) != 1 || docs[0].ID != old {
					t.Errorf("the archive holds %v", docs)
				}
				if ups := m.uploads(); len(ups) != 0 {
					t.Errorf("uploads remain: %v", ups)
				}
				m.unmount()
				if got := log.take(); strings.Count(got, "the archive has it already, as") != 1 || !strings.Contains(got, "alt.txt (document 1)") {
					t.Errorf("the log says\n%s", got)
				}
			})
		}
	}
}

// Content that the service drops does not count as archived.
func TestUploadForWhichTheArchiveKeepsOtherContent(t *testing.T) {
	t.Parallel()
	f := newForeign(t, dedup)
	f.AddDocument(f.letters, hostile.Document{Name: "alt.txt", Content: []byte("anderer Inhalt"), ExternalID: "ERP-1"})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	wantErrno(t, "close", putAs(t, filepath.Join(dir, "neu.txt"), "Inhalt", false), syscall.EIO)
	wantErrno(t, "rename", putAs(t, filepath.Join(dir, "neu.txt"), "Inhalt", true), syscall.EIO)
	wantNames(t, dir, "alt.txt", "neu.txt.part")
	wantContent(t, filepath.Join(dir, "alt.txt"), "anderer Inhalt")
	if ups := m.uploads(); len(ups) != 1 || !strings.Contains(ups[0].Error, "alt.txt (document 1)") {
		t.Errorf("uploads are %v", ups)
	}
}
