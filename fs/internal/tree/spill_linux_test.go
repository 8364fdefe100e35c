package tree

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/cache"
)

// A directory whose listing was spilled has the same names when it is expanded. If the listing cannot be
// read back, the directory is listed again; once it was found to be known, it shows its names whatever
// happens to the disk.
// It is alone, so nothing is locked.
// +checklocksignore
func TestSpilledListings(t *testing.T) {
	const folders = 100
	tr := newTree()
	disk, log := t.TempDir(), logrus.New()
	log.SetOutput(t.Output())
	tr.spill = cache.NewSpill(disk, 1, log)
	dirs := make([]*Dir, folders)
	before := make([][]string, folders)
	for i := range dirs {
		dirs[i] = tr.dir(FolderDir)
		long := fmt.Sprintf("4 %s %d", strings.Repeat("lang", 60), i)
		tr.list(dirs[i], "1 Brief", "2 Brief.pdf", long)
		tr.list(dirs[i], "2 Brief.pdf", "3 Brief.pdf", long) // the shown names are not those of a first listing
		before[i] = shownIn(dirs[i])
		dirs[i].Compact()
	}
	for i, d := range dirs {
		if !isCompacted(d) || !d.KnowsDocuments(NeedNames) || !isCompacted(d) {
			t.Fatal("was not compacted, or is not known")
		}
		if after := shownIn(d); !slices.Equal(after, before[i]) {
			t.Fatalf("shown are %q, before %q", after, before[i])
		}
		d.Compact()
	}

	known := dirs[0]
	if !known.KnowsDocuments(NeedNames) {
		t.Fatal("is not known")
	}
	emptySpilled(t, disk)
	if after := shownIn(known); !slices.Equal(after, before[0]) {
		t.Errorf("shown are %q, before %q", after, before[0])
	}
	lost := 0
	for _, d := range dirs[1:] {
		if d.KnowsDocuments(NeedNames) {
			continue
		}
		lost++
		if d.Shown.IsCompacted() {
			t.Error("a directory that is lost is still compacted")
		}
		tr.list(d, "1 Neu", "2 Brief.pdf")
		if after := shownIn(d); !d.KnowsDocuments(NeedNames) || !slices.Equal(after, []string{"Brief.pdf", "Neu.pdf"}) {
			t.Errorf("shown after another listing are %q", after)
		}
	}
	if lost < folders/2 {
		t.Errorf("%d of %d directories are to be listed again", lost, folders)
	}
}

// emptySpilled empties the file of the spill in dir, which this process has open without a name.
func emptySpilled(t *testing.T, dir string) {
	t.Helper()
	open, err := filepath.Glob("/proc/self/fd/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, fd := range open {
		if at, err := os.Readlink(fd); err == nil && strings.HasPrefix(at, dir) {
			if err := os.Truncate(fd, 0); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatal("nothing was spilled")
}
