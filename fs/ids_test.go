package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// 0 and negative numbers are ids like any other, of mandators, folders, inboxes and documents.
func TestLowIDs(t *testing.T) {
	t.Parallel()
	for low := range int64(7) {
		t.Run(fmt.Sprint(low), func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{LowIDs: low})
			for _, name := range []string{"a.txt", "b.txt", "b.txt"} {
				f.AddDocument(f.bills, hostile.Document{Name: name, Content: []byte(name)})
			}
			scan := f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan")})
			m := f.mount(t, nil)
			bills, letters, inbox := m.path("Muster GmbH", "Rechnungen"), m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
			ids := []int64{1 - low, 2 - low, 3 - low}
			if low == 3 { // among equal names 0 comes first
				ids = []int64{-2, 0, -1}
			}
			second := fmt.Sprintf("b (%d).txt", ids[2])
			wantNames(t, bills, "a.txt", "b.txt", second)
			wantNames(t, inbox, "scan.txt")
			inodes := func() (all []uint64) {
				for _, path := range []string{m.path("Muster GmbH"), bills, letters, inbox, filepath.Join(bills, "a.txt"), filepath.Join(bills, second)} {
					all = append(all, get(os.Lstat(path))(t).Sys().(*syscall.Stat_t).Ino)
				}
				return all
			}
			first := inodes()
			for i, name := range []string{"a.txt", "b.txt", second} {
				id := fmt.Sprint(ids[i])
				wantAttr(t, filepath.Join(bills, name), "user.archive.id", id)
				wantContent(t, m.document(id, "original"), name[:1]+".txt")
				wantContent(t, m.path(".archivefs", "by-id", id), name[:1]+".txt")
			}
			must(t, os.Rename(filepath.Join(inbox, "scan.txt"), filepath.Join(letters, "scan.txt")))
			must(t, os.Mkdir(filepath.Join(letters, "2024"), 0o700))
			must(t, os.WriteFile(filepath.Join(letters, "2024", "new.txt"), []byte("new"), 0o600))
			m.remount()
			if again := inodes(); !slices.Equal(first, again) {
				t.Errorf("the inodes were %v and are %v", first, again)
			}
			wantNames(t, letters, "2024", "scan.txt")
			wantContent(t, filepath.Join(letters, "2024", "new.txt"), "new")
			if d, there := f.Document(scan); there && d.Folder == f.inbox {
				t.Error("the scan is in its inbox")
			}
		})
	}
}
