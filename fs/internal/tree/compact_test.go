package tree

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// list takes in a listing of documents as it comes out of the cache, and notes where it came
// from.
func (tr *testTree) list(d *Dir, list ...string) (stale []string) {
	packed := cache.PackedDocuments().Pack(docs(list...))
	docs := cache.PackedDocuments().Unpack(packed)
	stale = sorted(d.Tree.mergeDocuments(d, docs, tr.next(), pdf))
	d.Mu.Lock()
	d.Shown.noteOrigin(docs, tr.spill.Hold(packed))
	d.Mu.Unlock()
	return stale
}

func isCompacted(d *Dir) bool {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return d.Shown.IsCompacted() && len(d.Shown.Held.Docs.List) == 0
}

func shownIn(d *Dir) (names []string) {
	for _, e := range d.Entries() {
		names = append(names, e.Name)
	}
	return names
}

// A compacted directory keeps its names, those that a fresh one would not give included, and finds
// them in the same ways.
func TestCompactingKeepsNames(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d, "5 Brief")
	tr.list(d, "1 Brief", "2 Brief.pdf", "3 Rechnung.pdf", "4 a/b")
	tr.list(d, "2 Brief.pdf", "3 Rechnung.pdf", "4 a/b", "6 Rechnung.pdf") // keeps "Brief (2).pdf"
	before := shownIn(d)
	if want := []string{"Brief", "Brief (2).pdf", "Rechnung (6).pdf", "Rechnung.pdf", "a_b.pdf"}; !slices.Equal(before, want) {
		t.Fatalf("shown are %q, want %q", before, want)
	}
	for range 2 {
		d.Compact()
		if !isCompacted(d) {
			t.Fatal("was not compacted")
		}
		if e := d.Get("Brief"); e == nil || e.Dir == nil || !isCompacted(d) {
			t.Error("a directory is not found in a compacted one")
		}
		if after := shownIn(d); !slices.Equal(after, before) || isCompacted(d) {
			t.Errorf("shown are %q, before %q", after, before)
		}
	}
	d.Compact()
	if e := d.Reach("a_b"); e == nil || e.Name != "a_b.pdf" {
		t.Errorf("the plain name reaches %+v", e)
	}
	d.Compact()
	if stale := tr.list(d, "2 Brief.pdf", "3 Rechnung.pdf"); !slices.Contains(stale, "Rechnung (6).pdf") || !slices.Contains(stale, "a_b.pdf") {
		t.Errorf("a listing after it makes %q stale", stale)
	}
}

// A directory with anything that its listing does not say is not compacted.
// It is alone, so nothing is locked.
func TestCompactingLosesNothing(t *testing.T) {
	for name, change := range map[string]func(*testTree, *Dir){
		"somebody looked at a document": func(_ *testTree, d *Dir) { d.LeafOf(d.Get("Brief.pdf")) },
		"a document was changed here": func(_ *testTree, d *Dir) {
			doc := *d.Document(1)
			doc.Keywords = []string{"eilig"}
			d.Update(&doc)
		},
		"a document came from here": func(tr *testTree, d *Dir) {
			e := NewEntry("neu.pdf", &archive.Document{ID: 9, Name: "neu.pdf"}, nil)
			e.ServiceName = "neu.pdf"
			d.Add(e)
		},
		"a document is gone":              func(_ *testTree, d *Dir) { d.Drop(d.Get("Brief.pdf")) },
		"a document stays for a while":    func(tr *testTree, d *Dir) { d.Get("Brief.pdf").Keep = InstantOf(tr.time.Add(time.Minute)) },
		"a document was not compared yet": func(_ *testTree, d *Dir) { d.Get("Brief.pdf").ServiceName = "" },
		"nothing was listed":              func(_ *testTree, d *Dir) { d.Shown.origin = nil }, // +checklocksignore
	} {
		t.Run(name, func(t *testing.T) {
			tr := newTree()
			d := tr.dir(FolderDir)
			tr.list(d, "1 Brief", "2 Rechnung.pdf")
			change(tr, d)
			d.Compact()
			if isCompacted(d) {
				t.Error("was compacted")
			}
		})
	}
	tr := newTree()
	d := tr.dir(InboxDir)
	tr.list(d, "1 Brief")
	if d.Compact(); isCompacted(d) {
		t.Error("an inbox was compacted")
	}
}

// A file that is not archived stays while documents around it are compacted.
// It is alone, so nothing is locked.
// +checklocksignore
func TestCompactingLeavesFiles(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.list(d, "1 Brief", "2 Rechnung.pdf")
	f := localLeaf(tr.Tree, d, nil, nil)
	f.Entry = NewEntry("offen.pdf", nil, f)
	d.Add(f.Entry)
	d.Compact()
	if !isCompacted(d) || d.Get("offen.pdf") != f.Entry || !isCompacted(d) {
		t.Error("the file is not there, or nothing was compacted")
	}
	if got := shownIn(d); fmt.Sprint(got) != "[Brief.pdf Rechnung.pdf offen.pdf]" {
		t.Errorf("shown are %q", got)
	}
}

// An entry that was found before its directory was compacted leads to the same file as one found later.
// It is alone, so nothing is locked.
// +checklocksignore
func TestCompactingKeepsOneFile(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.list(d, "1 Brief", "2 Rechnung.pdf")
	before := d.Get("Brief.pdf")
	d.Compact()
	f := d.LeafOf(before)
	if d.LeafOf(before) != f || d.LeafOf(d.Get("Brief.pdf")) != f || f.Entry != d.Get("Brief.pdf") {
		t.Error("a document has two files")
	}
	if d.Compact(); isCompacted(d) {
		t.Error("was compacted")
	}
}

// Names shown are read as they were written.
func TestShownNames(t *testing.T) {
	long := strings.Repeat("ü", 200)
	pairs := [][2]string{
		{"", ""}, {"a", "a"}, {"a.pdf", "a"}, {"a (1).pdf", "a.pdf"}, {"_", "/"}, {long[:250] + ".pdf", long}, {"b", ""}, {"a", "a long one"}, {"x", "x"},
	}
	var b []byte
	for _, p := range pairs {
		b = appendShown(b, p[0], p[1])
	}
	rest, shown := string(b), ""
	for _, p := range pairs {
		if shown, rest = nextShown(rest, p[1]); shown != p[0] {
			t.Errorf("%q of %q is read as %q", p[0], p[1], shown)
		}
	}
	if rest != "" {
		t.Errorf("%q is left", rest)
	}
}

// A compacted document takes little more than the bytes of its names, and an expanded one a
// fraction of a kilobyte.
func TestMemoryOfDocuments(t *testing.T) {
	const folders, each = 2000, 10
	tr := newTree()
	dirs := make([]*Dir, folders)
	before := heapInUse()
	for i := range dirs {
		var list []string
		for j := range each {
			list = append(list, fmt.Sprintf("%d Rechnung Stadtwerke 2024-03-01 Nr. %06d.pdf", i*each+j+1, i*each+j+1))
		}
		dirs[i] = tr.dir(FolderDir)
		tr.list(dirs[i], list...)
	}
	expanded := (heapInUse() - before) / (folders * each)
	for _, d := range dirs {
		d.Compact()
	}
	compacted := (heapInUse() - before) / (folders * each)
	t.Logf("bytes for each document, a tenth of its folder included: %d expanded, %d compacted", expanded, compacted)
	if expanded > 500 || compacted > 160 {
		t.Errorf("%d bytes for each document, compacted %d; want at most 500 and 160", expanded, compacted)
	}
	runtime.KeepAlive(dirs)
}

// heapInUse is the memory in use without what is not needed any more.
func heapInUse() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC()
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
