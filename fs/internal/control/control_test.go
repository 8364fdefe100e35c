package control

import (
	"context"
	"errors"
	"fmt"
	"io"
	iofs "io/fs"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// fakeMount is a mount whose archive is a few maps.
type fakeMount struct {
	data    map[archive.ID]archive.DocumentData
	hits    []archive.Hit
	folders map[archive.ID]fakeFolder
	inboxes map[archive.ID]bool
	lacks   map[cache.Key]error // result of Measure for a rendition
	uploads []Upload            // pending
	locals  []Upload
	kept    []archive.ID
	whose   string               // the credentials of whoever asks
	hidden  map[archive.ID]error // what Sees returns for documents
	// Search and Locate fail with these.
	searchErr, locateErr, rereadErr error

	asked, searched, located, measured int
	evicted                            []cache.Key
	discarded                          []string
}

func (m *fakeMount) Data(_ context.Context, id archive.ID) (archive.DocumentData, error) {
	m.asked++
	if data, ok := m.data[id]; ok {
		return data, nil
	}
	return archive.DocumentData{}, &archive.Error{Kind: archive.KindNotFound}
}

func (m *fakeMount) Search(_ context.Context, s archive.Search, limit int) (archive.Hits, error) {
	m.searched++
	return archive.Hits{List: m.hits, Total: len(m.hits)}, m.searchErr
}

func (m *fakeMount) Listed(folder, id archive.ID) (*archive.Document, bool, bool) {
	in, known := m.folders[folder]
	if !known || in.docs[id] == "" {
		return nil, known && !m.inboxes[folder], known
	}
	return &archive.Document{ID: id, Name: "as listed", Folder: folder}, !m.inboxes[folder], true
}

func (m *fakeMount) FolderNamed(_ context.Context, path []string) (archive.ID, error) {
	if len(path) > 0 {
		return 0, syscall.ENOENT
	}
	return 0, nil
}

func (m *fakeMount) Locate(_ context.Context, wanted map[archive.ID]string) (map[archive.ID]Folder, error) {
	m.located++
	found := map[archive.ID]Folder{}
	for id := range wanted {
		if in, ok := m.folders[id]; ok {
			found[id] = in
		}
	}
	return found, m.locateErr
}

// fakeFolder has paths of documents.
type fakeFolder struct{ docs map[archive.ID]string }

func (f fakeFolder) PathOf(_ context.Context, doc archive.ID) (string, error) {
	return f.docs[doc], nil
}

// fakeFile is a file of the Mount.
type fakeFile struct {
	mount *fakeMount
	of    Rendition
	doc   archive.Document
	id    string
}

func (f *fakeFile) Number() uint64 { return inode.OfPath(f.of.Path + f.id) }

func (f *fakeFile) Measure(context.Context) error {
	f.mount.measured++
	return f.mount.lacks[f.of.Key]
}

func (m *fakeMount) Rendition(r Rendition, doc *archive.Document) Measured {
	return &fakeFile{mount: m, of: r, doc: *doc}
}
func (m *fakeMount) Representation() archive.Representation { return archive.PDF }
func (m *fakeMount) Evict(key cache.Key)                    { m.evicted = append(m.evicted, key) }
func (m *fakeMount) Pending() []Upload                      { return m.uploads }

func (m *fakeMount) Upload(id string) (Upload, bool) {
	for _, up := range append(slices.Clone(m.uploads), m.locals...) {
		if up.ID == id {
			return up, true
		}
	}
	return Upload{}, false
}

func (m *fakeMount) WithKeyword(string) []archive.ID { return m.kept }

func (m *fakeMount) RereadSearches() error { return m.rereadErr }

func (m *fakeMount) UploadFile(id string) (Node, error) { return &fakeFile{mount: m, id: id}, nil }

func (m *fakeMount) Discard(id string) error {
	m.discarded = append(m.discarded, id)
	return errno.ErrSending
}

func (m *fakeMount) Status(context.Context) any { return map[string]string{"health": "ok"} }

func (m *fakeMount) Whose(context.Context) string { return m.whose }

func (m *fakeMount) Sees(_ context.Context, doc archive.ID) error { return m.hidden[doc] }

// tree is the control directory of a mount, with a clock.
func tree(m *fakeMount) (t *Tree, now *time.Time) {
	now = new(time.Time)
	*now = time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	log := logrus.New()
	log.SetOutput(io.Discard)
	return New(m, log, func() time.Time { return *now }, time.Minute), now
}

// walk looks up one name after the other, from the control directory.
func (t *Tree) walk(ctx context.Context, path string) (Node, error) {
	var node Node = t.Root()
	for name := range strings.SplitSeq(path, "/") {
		dir, ok := node.(*Dir)
		if !ok {
			return nil, syscall.ENOTDIR
		}
		var err error
		if node, err = dir.Lookup(ctx, name); err != nil {
			return nil, err
		}
	}
	return node, nil
}

// finds returns the node at a path.
func finds[N Node](t *testing.T, tr *Tree, path string) N {
	t.Helper()
	node, err := tr.walk(t.Context(), path)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	n, ok := node.(N)
	if !ok {
		t.Fatalf("%s is a %T", path, node)
	}
	return n
}

// wantErrno fails unless the lookup of a path fails with want.
func wantErrno(t *testing.T, tr *Tree, path string, want syscall.Errno) {
	t.Helper()
	if _, err := tr.walk(t.Context(), path); errno.Of(err) != want {
		t.Errorf("%s: %v, want %v", path, err, want)
	}
}

// lists fails unless the directory at a path lists these names.
func lists(t *testing.T, tr *Tree, path string, want ...string) {
	t.Helper()
	dir := tr.Root()
	if path != "" {
		dir = finds[*Dir](t, tr, path)
	}
	var got []string
	if dir.List != nil {
		list, err := dir.List(t.Context())
		if err != nil {
			t.Fatalf("list %s: %v", path, err)
		}
		for _, e := range list {
			got = append(got, e.Name)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s lists %q, want %q", path, got, want)
	}
}

// leadsTo fails unless the link at a path leads there.
func leadsTo(t *testing.T, tr *Tree, path, want string) {
	t.Helper()
	if got, err := finds[*Link](t, tr, path).Target(t.Context()); err != nil || got != want {
		t.Errorf("%s leads to %q, %v, want %q", path, got, err, want)
	}
}

// What is at the top is in docs/REFERENCE.md and in the manual, and nothing else is.
func TestRootIsDescribed(t *testing.T) {
	tr, _ := tree(&fakeMount{})
	entries, err := tr.Root().List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, e := range entries {
		want = append(want, e.Name)
	}
	slices.Sort(want)
	for file, pattern := range map[string]string{
		"docs/REFERENCE.md": `(?m)^    /\.archivefs/([\w.-]+)`,
		"cmd/archivefs/internal/manual/share/archivefs.1": `(?m)^\.It Pa \.archivefs/([\w.\\-]+)`,
	} {
		text, err := os.ReadFile("../../../" + file)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, name := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			got = append(got, strings.ReplaceAll(string(name[1]), `\-`, "-"))
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s describes %q, want %q", file, got, want)
		}
	}
}

func TestRoot(t *testing.T) {
	tr, now := tree(&fakeMount{})
	lists(t, tr, "", "status.json", "uploads", "documents", "by-id", "search", "by-keyword")
	numbers := map[uint64]bool{0: true, inode.Control: true}
	entries, err := tr.Root().List(t.Context())
	for _, e := range entries {
		if numbers[e.Ino] {
			t.Errorf("%s has the inode number of another node, or none", e.Name)
		}
		numbers[e.Ino] = true
	}
	if err != nil {
		t.Error(err)
	}
	for _, empty := range []string{"uploads", "documents", "by-id", "search", "by-keyword"} {
		lists(t, tr, empty)
	}
	status := finds[*File](t, tr, "status.json")
	text, err := status.Content(t.Context())
	if want := "{\n  \"health\": \"ok\"\n}\n"; err != nil || string(text) != want {
		t.Errorf("the status is %q, %v", text, err)
	}
	want := Attr{Ino: inode.Status, Mode: syscall.S_IFREG | 0o444, Size: int64(len(text)), Time: *now}
	if a, err := status.Attr(t.Context()); err != nil || a != want {
		t.Errorf("its attributes are %+v, %v", a, err)
	}
	wantErrno(t, tr, "x", syscall.ENOENT)
}

func TestAttributesOfTheDirectoryAreRefused(t *testing.T) {
	tr, _ := tree(&fakeMount{})
	if err := tr.Root().SetAttr("user.archive.keywords", []byte("x")); !errors.Is(err, syscall.ENOTSUP) {
		t.Error(err)
	}
}

// letter is a document of three pages, of which two have an id.
func letter(id, folder archive.ID) archive.DocumentData {
	return archive.DocumentData{ID: id, Name: "letter", Folder: folder, Mandator: "Muster GmbH", NumPages: 3, Pages: []archive.Page{{ID: 71}, {}, {ID: 72}}}
}

func TestNamesOfDocuments(t *testing.T) {
	m := &fakeMount{data: map[archive.ID]archive.DocumentData{7: letter(7, 3)}}
	tr, now := tree(m)
	for _, name := range []string{"-0", "+7", "07", "-07", "x", "", "7 ", "99999999999999999999", "-9223372036854775808"} {
		for _, dir := range []string{"documents/", "by-id/"} {
			wantErrno(t, tr, dir+name, syscall.ENOENT)
		}
	}
	if m.asked != 0 {
		t.Errorf("%d requests for what is no id", m.asked)
	}
	wantErrno(t, tr, "documents/8", syscall.ENOENT)
	for range 3 {
		finds[*Dir](t, tr, "documents/7")
		finds[*Link](t, tr, "by-id/7")
	}
	if m.asked != 2 {
		t.Errorf("%d requests for two documents", m.asked)
	}
	*now = now.Add(time.Hour)
	finds[*Dir](t, tr, "documents/7")
	tr.DataChanged(7)
	finds[*Dir](t, tr, "documents/7")
	if m.asked != 4 {
		t.Errorf("%d requests, also after the ttl and a change", m.asked)
	}
	if a, b := finds[*Dir](t, tr, "documents/7"), finds[*Dir](t, tr, "documents/7/pages"); a.Ino != finds[*Dir](t, tr, "documents/7").Ino || a.Ino == b.Ino {
		t.Error("inode numbers are not those of paths")
	}
}

// A representation that the service lacks is not listed; one that could not be checked is listed,
// and fails.
func TestDocument(t *testing.T) {
	lacking, broken := &archive.Error{Kind: archive.KindUnsupported}, &archive.Error{Kind: archive.KindServer}
	m := &fakeMount{
		data: map[archive.ID]archive.DocumentData{7: letter(7, 3), 8: {ID: 8}},
		lacks: map[cache.Key]error{
			{Document: 7, Representation: archive.PDF}:  lacking,
			{Document: 7, Representation: archive.Text}: broken,
			{Document: 8, Representation: archive.Text}: &archive.Error{Kind: archive.KindNotFound},
		},
	}
	tr, _ := tree(m)
	lists(t, tr, "documents/7", "original", "data.json", "text.txt", "pages")
	lists(t, tr, "documents/8", "original", "document.pdf", "data.json")
	wantErrno(t, tr, "documents/7/document.pdf", syscall.ENOTSUP)
	wantErrno(t, tr, "documents/7/text.txt", syscall.EIO)
	wantErrno(t, tr, "documents/7/x", syscall.ENOENT)
	wantErrno(t, tr, "documents/8/pages", syscall.ENOENT)
	_, err := tr.walk(t.Context(), "documents/7/text.txt")
	var at *iofs.PathError
	if !errors.As(err, &at) || at.Op != "lookup" || at.Path != ".archivefs/documents/7/text.txt" {
		t.Errorf("the error is %v", err)
	}
	f := finds[*fakeFile](t, tr, "documents/7/original")
	if want := (Rendition{Key: cache.Key{Document: 7, Representation: archive.Original}, Path: ".archivefs/documents/7/original"}); f.of != want {
		t.Errorf("the file holds %+v", f.of)
	}
	lists(t, tr, "documents/7/pages", "0001.jpg", "0002.jpg")
	before := m.measured
	f = finds[*fakeFile](t, tr, "documents/7/pages/0002.jpg")
	if f.of.Key != (cache.Key{Document: 72, Representation: archive.Preview}) || m.measured != before+1 { // of the first page
		t.Errorf("the page holds %+v, after %d measurements", f.of, m.measured-before)
	}
	wantErrno(t, tr, "documents/7/pages/0003.jpg", syscall.ENOENT)
	wantErrno(t, tr, "documents/7/pages/1.jpg", syscall.ENOENT)
}

// The listing of a known folder takes precedence over the data of the document.
func TestFolderOfADocument(t *testing.T) {
	shown := fakeFolder{map[archive.ID]string{1: "inboxes/a/a.txt", 2: "Muster GmbH/b.txt"}}
	m := &fakeMount{
		data: map[archive.ID]archive.DocumentData{
			1: {ID: 1, Folder: 10, Mandator: "Muster GmbH"}, 2: {ID: 2, Folder: 20}, 3: {ID: 3, Folder: 20}, 4: {ID: 4, Folder: 30},
		},
		folders: map[archive.ID]fakeFolder{10: shown, 20: shown}, inboxes: map[archive.ID]bool{10: true},
	}
	tr, _ := tree(m)
	for id, want := range map[archive.ID]struct {
		archived, inbox bool
		name            string
	}{
		1: {false, true, "as listed"},
		2: {true, false, "as listed"},
		3: {true, false, ""},
		4: {false, true, ""}, // the folder is unknown, and there is no mandator
	} {
		f := finds[*fakeFile](t, tr, fmt.Sprintf("documents/%d/original", id))
		if f.of.Archived != want.archived || f.of.Inbox != want.inbox || f.doc.Name != want.name {
			t.Errorf("%d: %+v of %+v, want %+v", id, f.of, f.doc, want)
		}
	}
}

func TestBytesChanged(t *testing.T) {
	m := &fakeMount{data: map[archive.ID]archive.DocumentData{7: letter(7, 3)}}
	tr, _ := tree(m)
	finds[*Dir](t, tr, "documents/7")
	tr.BytesChanged(7)
	want := []cache.Key{
		{Document: 7, Representation: archive.PDF},
		{Document: 7, Representation: archive.Annotated},
		{Document: 7, Representation: archive.Data},
		{Document: 7, Representation: archive.Text},
		{Document: 71, Representation: archive.Preview},
		{Document: 72, Representation: archive.Preview},
	}
	if !slices.Equal(m.evicted, want) {
		t.Errorf("evicted %+v", m.evicted)
	}
	finds[*Dir](t, tr, "documents/7")
	if m.asked != 2 {
		t.Errorf("%d requests for the data", m.asked)
	}
}

// A link follows its document, and leads to the directory documents if no folder shows it.
func TestByID(t *testing.T) {
	in := fakeFolder{map[archive.ID]string{7: "Muster GmbH/letter.txt"}}
	m := &fakeMount{
		data:    map[archive.ID]archive.DocumentData{7: letter(7, 3), 8: letter(8, 3), 9: letter(9, 4)},
		folders: map[archive.ID]fakeFolder{3: in},
	}
	tr, _ := tree(m)
	link := finds[*Link](t, tr, "by-id/7")
	if m.located != 0 {
		t.Error("a lookup locates the folder")
	}
	in.docs[7] = "Muster GmbH/renamed.txt"
	if got, err := link.Target(t.Context()); err != nil || got != "../../Muster GmbH/renamed.txt" {
		t.Errorf("the link leads to %q, %v", got, err)
	}
	leadsTo(t, tr, "by-id/8", "../../.archivefs/documents/8/document.pdf")
	m.locateErr = syscall.EIO
	leadsTo(t, tr, "by-id/9", "../../.archivefs/documents/9/document.pdf")
}

func TestSearch(t *testing.T) {
	in := fakeFolder{map[archive.ID]string{1: "Muster GmbH/bill.txt", 2: "Muster GmbH/bill (2).txt"}}
	m := &fakeMount{
		hits:    []archive.Hit{{Document: 2, Name: "bill", Folder: 3}, {Document: 1, Name: "bill", Folder: 3}, {Document: 5, Name: "other", Folder: 4}},
		folders: map[archive.ID]fakeFolder{3: in},
	}
	tr, now := tree(m)
	for range 3 {
		lists(t, tr, "search/bill", "bill", "bill (2)", "other")
	}
	leadsTo(t, tr, "search/bill/bill", "../../../Muster GmbH/bill.txt")
	leadsTo(t, tr, "search/bill/bill (2)", "../../../Muster GmbH/bill (2).txt")
	leadsTo(t, tr, "search/bill/other", "../../../.archivefs/documents/5/document.pdf")
	wantErrno(t, tr, "search/bill/x", syscall.ENOENT)
	if m.searched != 1 || m.located != 1 {
		t.Errorf("%d searches, folders located %d times", m.searched, m.located)
	}
	was := finds[*Link](t, tr, "search/bill/bill").Ino
	m.hits = []archive.Hit{{Document: 9, Name: "bill", Folder: 3}}
	*now = now.Add(time.Hour)
	lists(t, tr, "search/bill", "bill")
	if finds[*Link](t, tr, "search/bill/bill").Ino == was {
		t.Error("another document has the inode number of the former hit")
	}
	tr.InvalidateAll()
	lists(t, tr, "search/bill", "bill")
	if m.searched != 3 {
		t.Errorf("%d searches", m.searched)
	}
}

// Within quotes a query goes on behind a slash of the path.
func TestSearchWithSlashes(t *testing.T) {
	m := &fakeMount{hits: []archive.Hit{{Document: 2, Name: "bill", Folder: 3}}, folders: map[archive.ID]fakeFolder{3: {map[archive.ID]string{2: "M/bill.txt"}}}}
	tr, _ := tree(m)
	if _, err := finds[*Dir](t, tr, `search/"2024`).List(t.Context()); errno.Of(err) != syscall.EINVAL || !strings.Contains(err.Error(), "double quotes") || m.searched != 0 {
		t.Errorf("half a query: %v, %d searches", err, m.searched)
	}
	wantErrno(t, tr, `search/"2024/.hidden`, syscall.ENOENT)
	wantErrno(t, tr, `search/"2024/17" after:never`, syscall.EINVAL)
	lists(t, tr, `search/"2024/17/b" x`, "bill")
	leadsTo(t, tr, `search/"2024/17/b" x/bill`, "../../../../../M/bill.txt")
}

func TestMalformedSearch(t *testing.T) {
	m := &fakeMount{}
	tr, _ := tree(m)
	for name, want := range map[string]syscall.Errno{
		".DS_Store":              syscall.ENOENT,
		".hidden":                syscall.ENOENT,
		"autorun.inf~":           syscall.ENOENT,
		"after:never":            syscall.EINVAL,
		strings.Repeat("x", 256): syscall.ENAMETOOLONG,
		"in:nowhere":             syscall.ENOENT,
	} {
		wantErrno(t, tr, "search/"+name, want)
	}
	if m.searched != 0 {
		t.Errorf("%d searches", m.searched)
	}
	m.searchErr = &archive.Error{Kind: archive.KindUnsupported}
	_, err := tr.walk(t.Context(), "search/bill")
	if errno.Of(err) != syscall.ENOTSUP || !strings.Contains(err.Error(), "the service has no search") {
		t.Errorf("the error is %v", err)
	}
}

// A failure to locate folders is cached for a moment, then retried.
func TestLocateAgain(t *testing.T) {
	m := &fakeMount{
		hits:      []archive.Hit{{Document: 1, Name: "a", Folder: 3}},
		folders:   map[archive.ID]fakeFolder{3: {map[archive.ID]string{1: "Muster GmbH/a.txt"}}},
		locateErr: syscall.EIO,
	}
	tr, now := tree(m)
	for range 3 {
		leadsTo(t, tr, "search/a/a", "../../../.archivefs/documents/1/document.pdf")
	}
	m.locateErr = nil
	*now = now.Add(2 * time.Second)
	for range 3 {
		leadsTo(t, tr, "search/a/a", "../../../Muster GmbH/a.txt")
	}
	if m.located != 2 {
		t.Errorf("folders were located %d times", m.located)
	}
}

func TestUploads(t *testing.T) {
	changed := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	m := &fakeMount{
		uploads: []Upload{{ID: "b1", Name: "b1 a.txt", Changed: changed}, {ID: "b2", Name: "b2 b.txt"}},
		locals:  []Upload{{ID: "b3", Name: "b3 x.part"}},
	}
	tr, _ := tree(m)
	lists(t, tr, "uploads", "b1 a.txt", "b2 b.txt")
	for path, id := range map[string]string{"b1 a.txt": "b1", "b2 b.txt": "b2", "b3 x.part": "b3"} {
		if f := finds[*fakeFile](t, tr, "uploads/"+path); f.id != id {
			t.Errorf("%s is the file of %s", path, f.id)
		}
	}
	leadsTo(t, tr, "uploads/b1", "b1 a.txt")
	link := finds[*Link](t, tr, "uploads/b1")
	want := Attr{Ino: link.Ino, Mode: syscall.S_IFLNK | 0o777, Size: 8, Time: changed}
	if a, err := link.Attr(t.Context()); err != nil || a != want {
		t.Errorf("the attributes of the link are %+v, %v", a, err)
	}
	for _, name := range []string{"b1 b.txt", "b4", "b4 x"} {
		wantErrno(t, tr, "uploads/"+name, syscall.ENOENT)
	}
	remove := finds[*Dir](t, tr, "uploads").Remove
	for _, name := range []string{"b1", "b1 x", "x"} {
		if err := remove(name); !errors.Is(err, syscall.ENOENT) {
			t.Errorf("remove %s: %v", name, err)
		}
	}
	if err := remove("b3 x.part"); !errors.Is(err, errno.ErrSending) || !slices.Equal(m.discarded, []string{"b3"}) {
		t.Errorf("discarded %q: %v", m.discarded, err)
	}
}

// Only uploads can be removed, and attributes can be set only on the control directory.
func TestReadOnly(t *testing.T) {
	m := &fakeMount{data: map[archive.ID]archive.DocumentData{7: letter(7, 3)}}
	tr, _ := tree(m)
	dirs := map[string]*Dir{"": tr.Root()}
	for _, path := range []string{"documents", "documents/7", "documents/7/pages", "by-id", "search", "search/x"} {
		dirs[path] = finds[*Dir](t, tr, path)
	}
	for _, path := range slices.Sorted(maps.Keys(dirs)) {
		if d := dirs[path]; d.Remove != nil || d.SetAttr != nil && path != "" {
			t.Errorf("%q can be changed", path)
		}
		if a, err := dirs[path].Attr(t.Context()); err != nil || a != (Attr{Ino: dirs[path].Ino, Mode: syscall.S_IFDIR | 0o555}) {
			t.Errorf("%q has %+v, %v", path, a, err)
		}
	}
}

// Users with other credentials have other hits, and data that somebody else has asked for is only for those
// who see the document.
func TestUsersHaveHitsOfTheirOwn(t *testing.T) {
	m := &fakeMount{hits: []archive.Hit{{Document: 1, Name: "bill", Folder: 3}}, data: map[archive.ID]archive.DocumentData{1: {ID: 1}}}
	tr, _ := tree(m)
	lists(t, tr, "search/bill", "bill")
	m.whose, m.hits = "1.0", nil
	lists(t, tr, "search/bill")
	m.whose = ""
	lists(t, tr, "search/bill", "bill")
	finds[*Link](t, tr, "by-id/1")
	m.hidden = map[archive.ID]error{1: syscall.ENOENT}
	wantErrno(t, tr, "by-id/1", syscall.ENOENT)
	wantErrno(t, tr, "documents/1", syscall.ENOENT)
	m.hidden = map[archive.ID]error{1: syscall.EACCES}
	wantErrno(t, tr, "by-id/1", syscall.EACCES)
}
