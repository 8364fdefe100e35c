package tree

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
)

// testTree is a tree without a service whose clock a test moves.
type testTree struct {
	*Tree
	time   time.Time
	serial uint64
	spill  *cache.Spill // of the listings that list takes in
}

func newTree() *testTree {
	tr := &testTree{time: time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)}
	tr.Tree = treeOf(nil, func() time.Time { return tr.time })
	return tr
}

// treeOf is the tree of a service in which nothing waits on this machine.
func treeOf(service remote.Archive, now func() time.Time) *Tree {
	log := logrus.New()
	log.SetOutput(io.Discard)
	work := new(background.Work)
	reps := &view.Representations{Mode: view.Original, Log: log, Now: now, Work: work}
	return New(Config{
		Service: remote.New(remote.Config{
			Archive: service, TTL: time.Minute, Listings: 16, Log: log, Now: now, Work: work, Answers: func() {},
		}),
		Reps: reps, Lengths: &view.Lengths{Representations: reps}, Started: now(), Staged: nothing{},
		Changed: func(*Dir, []string) {}, Vanished: func(*Dir, archive.ID, string) {}, Altered: func(*Dir, string, *archive.Document, *archive.Document) {}, Expanded: func(int) {},
		NewLeaf: func(ino uint64, d *Dir, e *Entry, doc *archive.Document) *Leaf {
			return &Leaf{Tree: d.Tree, Ino: ino, Dir: d, Entry: e, Doc: doc}
		},
	})
}

// nothing waits on this machine.
type nothing struct{}

func (nothing) Identify(context.Context, *Dir, []archive.Document)          {}
func (nothing) PlaceWaitingLocked(*Dir)                                     {}
func (nothing) RefillLocked(*Dir, *Entry)                                   {}
func (nothing) ShowListedLocked(*Dir, []*archive.Document) (stale []string) { return nil }

// localLeaf is a file that is not archived.
func localLeaf(t *Tree, d *Dir, e *Entry, up *spool.Upload) *Leaf {
	return &Leaf{Tree: t, Dir: d, Entry: e, Up: up}
}

// dir is a new directory of a kind.
func (tr *testTree) dir(kind DirKind) *Dir {
	if kind == RootDir {
		return tr.Root
	}
	return NewDir(tr.Tree, kind, 77, tr.Inodes.Folder(77), tr.Root, "Akten")
}

// next is the next listing.
func (tr *testTree) next() Merged {
	tr.serial++
	return Merged{Serial: tr.serial, Fetched: tr.time, Known: true}
}

// folders and documents take in listings, written as "ID NAME".
func (tr *testTree) folders(d *Dir, list ...string) (stale []string) {
	var all []archive.Folder
	for _, text := range list {
		id, name := parse(text)
		all = append(all, archive.Folder{ID: id, Name: name})
	}
	return sorted(d.Tree.mergeFolders(d, all, tr.next(), true))
}

func (tr *testTree) documents(d *Dir, list ...string) (stale []string) {
	return sorted(d.Tree.mergeDocuments(d, docs(list...), tr.next(), pdf))
}

func docs(list ...string) []archive.Document {
	var all []archive.Document
	for _, text := range list {
		id, name := parse(text)
		all = append(all, archive.Document{ID: id, Name: name})
	}
	return all
}

func pdf(*archive.Document) string { return ".pdf" }

func parse(text string) (id archive.ID, name string) {
	number, name, _ := strings.Cut(text, " ")
	if _, err := fmt.Sscan(number, &id); err != nil {
		panic("no id in " + text)
	}
	return id, name
}

func sorted(names []string) []string {
	slices.Sort(names)
	return names
}

// shown lists what a directory shows as "NAME = ID", with a slash behind directories, in
// the order of these texts.
func shown(d *Dir) []string {
	var all []string
	for _, e := range d.Entries() {
		switch {
		case e.Dir != nil && e.Dir.Kind() == InboxesDir:
		case e.Dir != nil:
			all = append(all, fmt.Sprintf("%s/ = %d", e.Name, e.Dir.ID()))
		case e.Doc.Load() != nil:
			all = append(all, fmt.Sprintf("%s = %d", e.Name, e.Doc.Load().ID))
		default:
			all = append(all, e.Name+" = local")
		}
	}
	return sorted(all)
}

func wantShown(t *testing.T, d *Dir, want ...string) {
	t.Helper()
	if got := shown(d); !slices.Equal(got, want) {
		t.Errorf("shown is\n\t%s\nwant\n\t%s", strings.Join(got, "\n\t"), strings.Join(want, "\n\t"))
	}
}

func wantStale(t *testing.T, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("the kernel is to forget %q, want %q", got, want)
	}
}

func TestNamesOfDocuments(t *testing.T) {
	tests := []struct {
		name string
		list []string
		want []string
	}{
		{"nothing", nil, nil},
		{"names as they are", []string{"1 a.pdf", "2 b.eml"}, []string{"a.pdf = 1", "b.eml = 2"}},
		{"added extensions", []string{"1 Rechnung", "2 Version 1.2"}, []string{"Rechnung.pdf = 1", "Version 1.2.pdf = 2"}},
		{"the least id gets the name", []string{"9 a.pdf", "3 a.pdf", "5 a.pdf"}, []string{"a (5).pdf = 5", "a (9).pdf = 9", "a.pdf = 3"}},
		{"compared with the extension", []string{"1 a", "2 a.pdf"}, []string{"a (2).pdf = 2", "a.pdf = 1"}},
		{"a document that is called so", []string{"1 a (3).pdf", "2 a.pdf", "3 a.pdf"}, []string{"a (3) (3).pdf = 3", "a (3).pdf = 1", "a.pdf = 2"}},
		{"one is called so later", []string{"1 a.pdf", "2 a.pdf", "3 a (2).pdf"}, []string{"a (2) (3).pdf = 3", "a (2).pdf = 2", "a.pdf = 1"}},
		{"unsafe names meet", []string{"1 a/b.pdf", "2 a_b.pdf"}, []string{"a_b (2).pdf = 2", "a_b.pdf = 1"}},
		{"listed twice", []string{"1 a.pdf", "1 a.pdf", "2 b.pdf"}, []string{"a.pdf = 1", "b.pdf = 2"}},
		{"junk that the archive has", []string{"1 Thumbs.db", "2 a.part"}, []string{"Thumbs.db = 1", "a.part = 2"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, backwards := range []bool{false, true} {
				if backwards {
					slices.Reverse(tt.list)
				}
				tr := newTree()
				d := tr.dir(FolderDir)
				wantStale(t, tr.documents(d, tt.list...)) // nothing was known before
				wantShown(t, d, tt.want...)
			}
		})
	}
}

func TestNamesOfFolders(t *testing.T) {
	tests := []struct {
		name string
		list []string
		want []string
	}{
		{"names as they are", []string{"1 2018", "2 2019"}, []string{"2018/ = 1", "2019/ = 2"}},
		{"the least id gets the name", []string{"9 a", "3 a", "5 a"}, []string{"a (5)/ = 5", "a (9)/ = 9", "a/ = 3"}},
		{"no extension is split off", []string{"1 a.alt", "2 a.alt"}, []string{"a.alt (2)/ = 2", "a.alt/ = 1"}},
		{"listed twice", []string{"1 a", "1 a"}, []string{"a/ = 1"}},
		{"unsafe", []string{"1 ..", "2 ", "3 a/b"}, []string{"_/ = 2", "__/ = 1", "a_b/ = 3"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, backwards := range []bool{false, true} {
				if backwards {
					slices.Reverse(tt.list)
				}
				tr := newTree()
				d := tr.dir(MandatorDir)
				wantStale(t, tr.folders(d, tt.list...))
				wantShown(t, d, tt.want...)
			}
		})
	}
}

func TestMandatorsNamedLikeWhatTheMountHas(t *testing.T) {
	tr := newTree()
	tr.folders(tr.Root, "1 inboxes", "2 .archivefs", "3 Inboxes", "4 Muster GmbH", "5 searches")
	wantShown(t, tr.Root, ".archivefs (2)/ = 2", "Inboxes/ = 3", "Muster GmbH/ = 4", "inboxes (1)/ = 1", "searches (5)/ = 5")
	if e := tr.Root.Get(InboxesName); e == nil || e.Dir.Kind() != InboxesDir {
		t.Errorf("inboxes is %+v", e)
	}

	d := tr.dir(MandatorDir)
	tr.folders(d, "1 inboxes", "2 .archivefs")
	wantShown(t, d, ".archivefs/ = 2", "inboxes/ = 1")
}

func TestFoldersAreNamedBeforeDocuments(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d, "9 a.pdf")
	tr.documents(d, "1 a.pdf", "9 b.pdf")
	wantShown(t, d, "a (1).pdf = 1", "a.pdf/ = 9", "b.pdf = 9")
}

func TestRunningMountKeepsNames(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.documents(d, "5 a.pdf", "7 a.pdf")
	wantShown(t, d, "a (7).pdf = 7", "a.pdf = 5")

	// A lower id comes: those that are shown keep their names.
	wantStale(t, tr.documents(d, "3 a.pdf", "5 a.pdf", "7 a.pdf"), "a (3).pdf")
	wantShown(t, d, "a (3).pdf = 3", "a (7).pdf = 7", "a.pdf = 5")

	// The one that had the name goes: nobody moves up.
	wantStale(t, tr.documents(d, "3 a.pdf", "7 a.pdf"), "a.pdf")
	wantShown(t, d, "a (3).pdf = 3", "a (7).pdf = 7")

	// The next that comes finds the name free.
	wantStale(t, tr.documents(d, "3 a.pdf", "7 a.pdf", "9 a.pdf"), "a.pdf")
	wantShown(t, d, "a (3).pdf = 3", "a (7).pdf = 7", "a.pdf = 9")

	// One goes and another of its name comes in the same listing: the name is free.
	wantStale(t, tr.documents(d, "3 a.pdf", "7 a.pdf", "8 a.pdf"), "a.pdf", "a.pdf")
	wantShown(t, d, "a (3).pdf = 3", "a (7).pdf = 7", "a.pdf = 8")
	wantStale(t, tr.documents(d, "3 a.pdf", "7 a.pdf", "9 a.pdf"), "a.pdf", "a.pdf")

	// Listed in another order, nothing changes.
	wantStale(t, tr.documents(d, "9 a.pdf", "7 a.pdf", "3 a.pdf"))
	wantShown(t, d, "a (3).pdf = 3", "a (7).pdf = 7", "a.pdf = 9")

	// A fresh mount names them anew.
	fresh := newTree()
	d = fresh.dir(FolderDir)
	fresh.documents(d, "9 a.pdf", "7 a.pdf", "3 a.pdf")
	wantShown(t, d, "a (7).pdf = 7", "a (9).pdf = 9", "a.pdf = 3")
}

func TestRunningMountKeepsFolders(t *testing.T) {
	tr := newTree()
	d := tr.dir(MandatorDir)
	tr.folders(d, "5 a", "7 a")
	five, seven := d.Get("a").Dir, d.Get("a (7)").Dir
	wantStale(t, tr.folders(d, "3 a", "5 a", "7 a"), "a (3)")
	wantShown(t, d, "a (3)/ = 3", "a (7)/ = 7", "a/ = 5")
	if d.Get("a").Dir != five || d.Get("a (7)").Dir != seven {
		t.Error("a folder that stays became another directory")
	}
	wantStale(t, tr.folders(d, "3 a", "7 a"), "a")
	wantShown(t, d, "a (3)/ = 3", "a (7)/ = 7")
}

func TestRenamedAtTheService(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d, "1 alt")
	tr.documents(d, "1 a.pdf", "2 b.pdf", "3 b.pdf")
	old := d.Get("alt").Dir
	f := d.LeafOf(d.Get("a.pdf"))

	wantStale(t, tr.folders(d, "1 neu"), "alt", "neu")
	wantStale(t, tr.documents(d, "1 b", "2 c.pdf", "3 b.pdf"), "a.pdf", "b", "b (1).pdf", "b.pdf", "c.pdf")
	wantShown(t, d, "b (1).pdf = 1", "b (3).pdf = 3", "c.pdf = 2", "neu/ = 1")
	if d.Get("neu").Dir != old || old.Path() != "Akten/neu" {
		t.Errorf("the folder became another, or says it is at %s", old.Path())
	}
	if e := d.Get("b (1).pdf"); e.File.Load() != f || f.Document().Name != "b" || f.Path() != "Akten/b (1).pdf" {
		t.Errorf("the file of the document became another, of %q at %s", f.Document().Name, f.Path())
	}
}

func TestNamesSwappedAtTheService(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.documents(d, "1 a.pdf", "2 b.pdf")
	tr.documents(d, "1 b.pdf", "2 a.pdf")
	for id, name := range map[archive.ID]string{1: "b.pdf", 2: "a.pdf"} {
		if doc := d.Document(id); doc == nil || doc.Name != name {
			t.Errorf("document %d is %+v, want it with the name %s", id, doc, name)
		}
	}
	if n := len(shown(d)); n != 2 {
		t.Errorf("%d names are shown for 2 documents: %q", n, shown(d))
	}
}

func TestChangedDocumentReachesItsFile(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	d.Tree.mergeDocuments(d, []archive.Document{{ID: 1, Name: "a.pdf", Keywords: []string{"alt"}}}, tr.next(), pdf)
	f := d.LeafOf(d.Get("a.pdf"))
	d.Tree.mergeDocuments(d, []archive.Document{{ID: 1, Name: "a.pdf", Keywords: []string{"neu"}}}, tr.next(), pdf)
	if got := f.Document().Keywords[0]; got != "neu" {
		t.Errorf("the file has the keyword %s", got)
	}
	if d.LeafOf(d.Get("a.pdf")) != f {
		t.Error("the document has another file")
	}
}

func TestWhatWasJustMadeHereStaysListed(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d)
	tr.documents(d)
	made := &archive.Document{ID: 9, Name: "neu.pdf"}
	fresh := NewEntry("neu.pdf", made, nil)
	fresh.Keep = tr.KeepFor()
	d.Add(fresh)
	below := NewDir(tr.Tree, FolderDir, 8, tr.Inodes.Folder(8), d, "neu")
	d.Add(&Entry{Name: "neu", Dir: below, Keep: tr.KeepFor()})

	for _, wait := range []time.Duration{0, 30 * time.Second, 30 * time.Second} {
		tr.time = tr.time.Add(wait)
		wantStale(t, tr.folders(d))
		wantStale(t, tr.documents(d))
		wantShown(t, d, "neu.pdf = 9", "neu/ = 8")
	}
	// Listed at last, it keeps its name although the service has another.
	wantStale(t, tr.folders(d, "8 neu (intern)"))
	wantStale(t, tr.documents(d, "9 neu"))
	wantShown(t, d, "neu.pdf = 9", "neu/ = 8")

	tr.time = tr.time.Add(time.Second)
	wantStale(t, tr.folders(d), "neu")
	wantStale(t, tr.documents(d), "neu.pdf")
	wantShown(t, d)
}

// spooled is an empty file in a spool.
func spooled(t *testing.T, s *spool.Spool) *spool.Upload {
	t.Helper()
	up, err := s.Create(spool.Record{})
	if err != nil {
		t.Fatal(err)
	}
	return up
}

func TestFilesThatAreNotArchivedStay(t *testing.T) {
	tr := newTree()
	d := tr.dir(InboxDir)
	tr.documents(d, "1 a.pdf", "2 b.pdf")
	d.Add(NewEntry("entwurf.txt", nil, localLeaf(tr.Tree, nil, nil, spooled(t, spooltest.Empty(t)))))
	replaced := d.LeafOf(d.Get("a.pdf"))
	replaced.Mu.Lock()
	replaced.Up = spooled(t, spooltest.Empty(t))
	replaced.Mu.Unlock()

	wantStale(t, tr.documents(d), "b.pdf")
	wantShown(t, d, "a.pdf = 1", "entwurf.txt = local")

	// A document does not take a local file's name.
	tr.documents(d, "1 a.pdf", "5 entwurf.txt")
	wantShown(t, d, "a.pdf = 1", "entwurf (5).txt = 5", "entwurf.txt = local")
}

func TestEntriesAreInTheOrderOfNames(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	for _, list := range [][]string{{"1 c", "2 a"}, {"1 c", "2 a", "3 b", "4 B", "5 ä"}} {
		tr.folders(d, list...)
		tr.documents(d, list...)
		entries := d.Entries()
		if len(entries) != 2*len(list) || !slices.IsSortedFunc(entries, func(a, b *Entry) int { return strings.Compare(a.Name, b.Name) }) {
			t.Errorf("%d entries for %d folders and documents, or not in order: %q", len(entries), len(list), shown(d))
		}
	}
}

// It is alone, so nothing is locked.
// +checklocksignore
func TestOlderListingChangesNothing(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d, "1 a")
	tr.documents(d, "1 b.pdf")
	for before := range uint64(2) {
		older := func(m Merged) Merged {
			return Merged{Serial: m.Serial - before, Fetched: tr.time.Add(-time.Second), Known: true}
		}
		wantStale(t, d.Tree.mergeFolders(d, []archive.Folder{{ID: 2, Name: "z"}}, older(d.Subs), true))
		wantStale(t, d.Tree.mergeDocuments(d, docs("2 z.pdf"), older(d.Files), pdf))
		wantShown(t, d, "a/ = 1", "b.pdf = 1")
	}
}

func TestMergeLeavesListingsUnchanged(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	folders := []archive.Folder{{ID: 2, Name: "b"}, {ID: 1, Name: "a"}}
	list := docs("2 b.pdf", "1 a.pdf")
	d.Tree.mergeFolders(d, folders, tr.next(), true)
	d.Tree.mergeDocuments(d, list, tr.next(), pdf)
	if folders[0].ID != 2 || list[0].ID != 2 {
		t.Error("a listing that others share was put in order")
	}
}

// It is alone, so nothing is locked.
// +checklocksignore
func TestMergeTellsWhetherFoldersMayBeMade(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	for _, free := range []bool{false, true, false} {
		d.Tree.mergeFolders(d, nil, tr.next(), free)
		if d.Free.Load() != free {
			t.Errorf("free is %v, want %v", d.Free.Load(), free)
		}
	}
}

func TestKindsOfFolders(t *testing.T) {
	tests := map[DirKind]DirKind{
		RootDir: MandatorDir, MandatorDir: FolderDir, FolderDir: FolderDir, InboxesDir: InboxDir, InboxDir: InboxDir,
	}
	for kind, want := range tests {
		tr := newTree()
		d := tr.dir(kind)
		tr.folders(d, "5 a")
		if got := d.Get("a").Dir; got.Kind() != want || got.ID() != 5 || got.Ino != tr.Inodes.Folder(5) {
			t.Errorf("a folder below a directory of kind %d is of kind %d, id %d, inode %d", kind, got.Kind(), got.ID(), got.Ino)
		}
	}
}

// It is alone, so nothing is locked.
// +checklocksignore
func TestModificationTimeFollowsNames(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.documents(d, "1 a.pdf")
	first := tr.time
	tr.time = tr.time.Add(time.Hour)
	tr.documents(d, "1 a.pdf")
	if !d.Shown.Changed.Equal(first) {
		t.Errorf("a listing without news changed the directory's time to %v", d.Shown.Changed)
	}
	tr.documents(d, "1 a.pdf", "2 b.pdf")
	if !d.Shown.Changed.Equal(tr.time) {
		t.Errorf("a new document left the directory's time at %v", d.Shown.Changed)
	}
}

// What was asked for before the directory turned out to differ from the service may be from
// before the difference: it is shown, and asked for again.
func TestListingFromBeforeADoubtIsNotTrusted(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	early := tr.next()
	early.asked = d.asking()
	d.Distrust()
	late := tr.next()
	late.asked = d.asking()
	for _, tt := range []struct {
		listing Merged
		trusted bool
	}{{early, false}, {late, true}, {early, false}} {
		d.Tree.mergeFolders(d, []archive.Folder{{ID: 2, Name: "a"}}, tt.listing, true)
		d.Tree.mergeDocuments(d, docs("1 b.pdf"), tt.listing, pdf)
		wantShown(t, d, "a/ = 2", "b.pdf = 1")
		if d.KnowsFolders(NeedNames) != tt.trusted || d.KnowsDocuments(NeedNames) != tt.trusted {
			t.Errorf("listing %d: want trusted %v", tt.listing.Serial, tt.trusted)
		}
	}
}

// To find a known name allocates nothing.
func TestFindAllocatesNothing(t *testing.T) {
	tr := newTree()
	d := tr.dir(FolderDir)
	tr.folders(d)
	tr.documents(d, "1 a.pdf", "2 b.pdf")
	allocs := testing.AllocsPerRun(100, func() {
		if e, err := d.Tree.Lookup(context.Background(), d, "b.pdf"); err != nil || e == nil {
			t.Fatal(e, err)
		}
	})
	if allocs > 0 {
		t.Errorf("%v allocations", allocs)
	}
}
