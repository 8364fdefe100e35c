package fs_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// cats reads the documents of these paths, one process for each, several at a time.
func (m *mounted) cats(t *testing.T, paths ...string) {
	t.Helper()
	list := filepath.Join(t.TempDir(), "list")
	must(t, os.WriteFile(list, []byte(strings.Join(paths, "\x00")), 0o600))
	sh(t, m, `cd "$1" && xargs -0 -a "`+list+`" -n 1 -P 4 cat > /dev/null`)
}

// count splits the requests into those for contents, those for many folders, and others.
func (f *foreign) count() (contents, many, single int) {
	for _, r := range f.Requests() {
		switch {
		case strings.HasPrefix(r.Path, "/document/") && r.Path != "/document/list":
			contents++
		case r.Query.Get("subfolders-recursive") == "true" || r.Path == "/archivestructure" && r.Query.Get("lazy") != "true":
			many++
		default:
			single++
		}
	}
	return contents, many, single
}

// Processes that are handed paths into many folders find them with few requests, however the
// service answers requests for many folders.
func TestLookupsInManyFoldersAreAWalk(t *testing.T) {
	for name, tt := range map[string]struct {
		list         hostile.ListShape
		many, single int
	}{
		"in full":       {many: 12, single: 24},
		"no recursion":  {list: hostile.ListShape{NotRecursive: true}, many: 12, single: 200},
		"no folder ids": {list: hostile.ListShape{FolderID: hostile.Absent}, many: 12, single: 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{List: tt.list})
			var first []string
			for _, path := range f.forest() {
				if strings.HasSuffix(path, "/0.txt") {
					first = append(first, path)
				}
			}
			m, _ := f.slow(t) // however long the programs take between two folders
			m.cats(t, first...)
			if contents, many, single := f.count(); contents < len(first) || many == 0 || many > tt.many || single > tt.single {
				t.Errorf("%d documents: %d requests for contents, %d for many folders, %d for one", len(first), contents, many, single)
			}
		})
	}
}

// Looking at a few documents requests only their folders; folders and documents of each are
// requested at the same time.
func TestLookingAtDocumentsIsNoWalk(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	f.forest()
	m, _ := f.slow(t)
	sh(t, m, `ls -d "$1/Muster GmbH/Ordner 1"`)
	folders, documents := hostile.NewGate(), hostile.NewGate()
	f.Fault(hostile.Fault{Path: "/archivestructure", Do: hostile.StallBefore(folders)})
	f.Fault(hostile.Fault{Path: "/document/list", Do: hostile.StallBefore(documents)})
	var reader sync.WaitGroup
	reader.Go(func() { m.cats(t, "Muster GmbH/Ordner 1/0.txt") })
	<-folders.Arrived()
	<-documents.Arrived()
	folders.Open()
	documents.Open()
	reader.Wait()
	m.cats(t, "Muster GmbH/Ordner 1/Ordner 1/0.txt", "Muster GmbH/Ordner 1/Ordner 1/Ordner 2/0.txt", "Muster GmbH/Ordner 2/0.txt")
	if _, many, single := f.count(); many != 0 || single > 12 {
		t.Errorf("%d requests for many folders, %d for one", many, single)
	}
}
