package change

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/state"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
	"github.com/archivefs/archivefs/xattr"
)

// service has a folder and an inbox, each with one document and no sub-folders. It counts changes, and
// listings of documents and of folders.
type service struct {
	remotetest.Folder
	changes  []string
	keywords []string // of the last document that was archived
	lists    atomic.Int64
	replaces bool
	archives string // the name under which it archives the document of the inbox; empty: it refuses that
}

func (s *service) Documents(_ context.Context, folder archive.ID, _ archive.ListOptions) ([]archive.Document, error) {
	s.lists.Add(1)
	docs := []archive.Document{remotetest.Named(1, "invoice.pdf")}
	switch {
	case folder == inboxID:
		return []archive.Document{{ID: 2, Name: "scan.pdf", Keywords: []string{"scanned"}}}, nil
	case s.archives != "":
		docs = append(docs, remotetest.Named(2, s.archives))
	}
	return docs, nil
}

func (s *service) Children(context.Context, archive.ID) (archive.Structure, error) {
	s.lists.Add(1)
	return archive.Structure{Free: true}, nil
}

func (s *service) Inboxes(context.Context) (archive.Inboxes, error) {
	return archive.Inboxes{Inboxes: []archive.Inbox{{Folder: archive.Folder{ID: inboxID, Name: "Post"}}}}, nil
}

func (s *service) LacksReplace() bool { return !s.replaces }

func (s *service) CreateFolder(_ context.Context, _ archive.ID, name string) (archive.Folder, error) {
	s.changes = append(s.changes, "create "+name)
	return archive.Folder{ID: 99, Name: name}, nil
}

func (s *service) Rename(_ context.Context, _ archive.ID, name string) error {
	s.changes = append(s.changes, "rename to "+name)
	return nil
}

func (s *service) Archive(_ context.Context, _ archive.ID, to archive.ArchiveTarget) error {
	s.changes, s.keywords = append(s.changes, "archive as "+to.Name), to.Keywords
	if s.archives != "" {
		return nil
	}
	return &archive.Error{Op: "archive", Kind: archive.KindForbidden}
}

func (s *service) Delete(context.Context, archive.ID) error {
	s.changes = append(s.changes, "delete")
	return nil
}

const (
	folderID = 77
	inboxID  = 88
)

// desk is a mount without a kernel.
type desk struct {
	*Files
	service       *service
	folder, inbox *tree.Dir
}

// noThumbnails is a mount that makes no thumbnails.
type noThumbnails struct{}

func (noThumbnails) Has(string) bool { return false }
func (noThumbnails) Remove(string)   {}

func newDesk(t *testing.T, readOnly, allowDelete bool, grace ...time.Duration) *desk {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	kept, err := state.Open(filepath.Join(t.TempDir(), "state.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := kept.Close(); err != nil {
			t.Error(err)
		}
	})
	cached, err := cache.OpenContent(cache.Options{Dir: t.TempDir(), Limit: 1 << 20, Log: log})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cached.Close(); err != nil {
			t.Error(err)
		}
	})
	d := &desk{service: &service{}}
	s := staging.New(staging.Config{
		Spool: spooltest.Empty(t), State: kept, ReadOnly: readOnly, Grace: append(grace, 0)[0],
		WhileAlive: func(ctx context.Context) (context.Context, func()) { return ctx, func() {} },
		People:     staging.People{Of: func(context.Context) (uint32, bool) { return 0, false }},
	}, time.Now)
	s.Contents = content.New(t.Context(), content.Config{
		Config: remote.Config{Archive: d.service, TTL: time.Hour, Listings: 16, Log: log, Now: time.Now, Work: new(background.Work), Answers: s.Queue.Wake},
		Mode:   view.Original, Content: cached, Thumbnails: noThumbnails{}, Memory: new(background.Memory),
		Staged: &s.Placing, NewLeaf: s.LeafFor, Changed: func(*tree.Dir, []string) {},
	})
	d.Files = New(s, kept, allowDelete)
	d.folder = tree.NewDir(s.Tree, tree.FolderDir, folderID, s.Inodes.Folder(folderID), s.Root, "Akten")
	d.inbox = tree.NewDir(s.Tree, tree.InboxDir, inboxID, s.Inodes.Folder(inboxID), s.Root, "Post")
	return d
}

// put creates an empty file.
func (d *desk) put(t *testing.T, in *tree.Dir, name string, as names.Working) *tree.Entry {
	t.Helper()
	e, err := d.create(t.Context(), in, name, as)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// Each change is made or refused by what the names stand for; one that is refused sends no request.
func TestWhatIsRefused(t *testing.T) {
	long := strings.Repeat("x", 256)
	for name, c := range map[string]struct {
		do   func(d *desk, ctx context.Context) error
		want syscall.Errno // 0 for none
		sent string
	}{
		"mkdir":                      {func(d *desk, ctx context.Context) error { return d.mkdir(ctx, d.folder, "2026") }, 0, "create 2026"},
		"mkdir in the root":          {func(d *desk, ctx context.Context) error { return d.mkdir(ctx, d.s.Root, "2026") }, syscall.EPERM, ""},
		"mkdir of a long name":       {func(d *desk, ctx context.Context) error { return d.mkdir(ctx, d.folder, long) }, syscall.ENAMETOOLONG, ""},
		"mkdir of a name not UTF-8":  {func(d *desk, ctx context.Context) error { return d.mkdir(ctx, d.folder, "\xff") }, syscall.EILSEQ, ""},
		"mkdir of a workshop":        {func(d *desk, ctx context.Context) error { return d.mkdir(ctx, d.folder, ".git") }, syscall.EPERM, ""},
		"mkdir of a local directory": {func(d *desk, ctx context.Context) error { return d.mkdir(ctx, d.folder, ".Trash-0") }, 0, ""},
		"rename an archived document": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.folder, "invoice.pdf", d.folder, "bill.pdf", 0)
		}, 0, "rename to bill.pdf"},
		"exchange names": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.folder, "invoice.pdf", d.folder, "bill.pdf", 2)
		}, syscall.EPERM, ""},
		"move an archived document back": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.folder, "invoice.pdf", d.inbox, "invoice.pdf", 0)
		}, syscall.EPERM, ""},
		"archive": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.inbox, "scan.pdf", d.folder, "contract.pdf", 0)
		}, syscall.EACCES, "archive as contract.pdf"},
		"archive over a document": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.inbox, "scan.pdf", d.folder, "invoice.pdf", 0)
		}, errno.Of(errno.ErrOverArchived), ""},
		"archive without replacing": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.inbox, "scan.pdf", d.folder, "invoice.pdf", renameNoReplace)
		}, syscall.EEXIST, ""},
		"archive under a temporary name": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.inbox, "scan.pdf", d.folder, "scan.pdf~", 0)
		}, syscall.EPERM, ""},
		"hide an inbox document that cannot be replaced": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.inbox, "scan.pdf", d.inbox, "scan.pdf~", 0)
		}, errno.Of(errno.ErrNoReplace), ""},
		"rename what is not there": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.folder, "none.pdf", d.folder, "bill.pdf", 0)
		}, syscall.ENOENT, ""},
		"remove an archived document": {func(d *desk, ctx context.Context) error { return d.Unlink(ctx, d.folder, "invoice.pdf") }, syscall.EPERM, ""},
		"remove an inbox document":    {func(d *desk, ctx context.Context) error { return d.Unlink(ctx, d.inbox, "scan.pdf") }, syscall.EPERM, ""},
		"create beside the mandators": {func(d *desk, ctx context.Context) error {
			_, _, err := d.CreateOpen(ctx, d.s.Root, "a.txt", content.Access{}, names.Real)
			return err
		}, syscall.EPERM, ""},
		"create what is to replace an archived document": {func(d *desk, ctx context.Context) error {
			_, _, err := d.CreateOpen(ctx, d.folder, "invoice.pdf.part", content.Access{}, names.Real)
			return err
		}, syscall.EPERM, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, false, false)
			for _, dir := range []*tree.Dir{d.folder, d.inbox} { // as after an ls
				if err := dir.Tree.LoadDocuments(t.Context(), dir, tree.NeedNames); err != nil {
					t.Fatal(err)
				}
			}
			err := c.do(d, t.Context())
			if got := errno.Of(err); got != c.want {
				t.Errorf("got %v (%v), want %v", got, err, c.want)
			}
			if got := strings.Join(d.service.changes, ", "); got != c.sent {
				t.Errorf("sent %q, want %q", got, c.sent)
			}
			readOnly := newDesk(t, true, true)
			if err := c.do(readOnly, t.Context()); !errors.Is(err, syscall.EROFS) {
				t.Errorf("on a read-only mount: %v", err)
			}
			if len(readOnly.service.changes) > 0 {
				t.Errorf("a read-only mount sent %q", readOnly.service.changes)
			}
		})
	}
}

// What has a name keeps another Unicode form of it from being made, and is changed by it.
func TestOtherUnicodeFormsOfANameStandForIt(t *testing.T) {
	const nfc, nfd = "Pr\u00fcfung", "Pru\u0308fung"
	for name, forms := range map[string][2]string{"decomposed": {nfc, nfd}, "composed": {nfd, nfc}} {
		t.Run(name, func(t *testing.T) {
			there, other := forms[0], forms[1]
			d := newDesk(t, false, false)
			doc := tree.NewEntry(there+".pdf", &archive.Document{ID: 7, Name: there + ".pdf"}, nil)
			doc.Keep = d.s.KeepFor()
			d.folder.Add(doc)
			d.Folders.addFolder(d.folder, 78, there)
			d.put(t, d.folder, "draft~", names.Certain)
			local := d.put(t, d.inbox, there+"~", names.Certain).Upload()
			for what, err := range map[string]error{
				"create": func() error {
					_, _, err := d.CreateOpen(t.Context(), d.folder, other+".pdf", content.Access{}, names.Real)
					return err
				}(),
				"mkdir":                    d.mkdir(t.Context(), d.folder, other),
				"rename without replacing": d.Rename(t.Context(), d.folder, "draft~", d.folder, other+".pdf", renameNoReplace),
			} {
				if errno.Of(err) != syscall.EEXIST {
					t.Errorf("%s: %v", what, err)
				}
			}
			if err := d.Rename(t.Context(), d.folder, "draft~", d.folder, other+".pdf", 0); !errors.Is(err, errno.ErrOverArchived) {
				t.Errorf("rename over it: %v", err)
			}
			if err := d.Unlink(t.Context(), d.folder, other+".pdf"); !errors.Is(err, errNoRemoval) {
				t.Errorf("remove: %v", err)
			}
			if err := d.Unlink(t.Context(), d.inbox, other+"~"); err != nil {
				t.Error(err)
			}
			if _, kept := d.s.Spool.Get(local.ID()); kept || len(d.service.changes) > 0 {
				t.Errorf("the local file is there still: %t; sent %q", kept, d.service.changes)
			}
			if err := d.Rename(t.Context(), d.folder, "invoice.pdf", d.folder, other+" 2.pdf", 0); err != nil || d.service.changes[0] != "rename to "+other+" 2.pdf" {
				t.Errorf("a new name: %v; sent %q", err, d.service.changes)
			}
		})
	}
}

func (d *desk) mkdir(ctx context.Context, in *tree.Dir, name string) error {
	_, err := d.Folders.Mkdir(ctx, in, name)
	return err
}

func TestAnInboxDocumentIsRemovedWhereThatIsAllowed(t *testing.T) {
	d := newDesk(t, false, true)
	if err := d.Unlink(t.Context(), d.inbox, "scan.pdf"); err != nil {
		t.Fatal(err)
	}
	if d.inbox.Reach("scan.pdf") != nil || len(d.service.changes) != 1 {
		t.Errorf("it is still shown, or sent %q", d.service.changes)
	}
}

// Services add the keywords that go along to those of the document, so that one it has would be doubled.
func TestArchivingSendsTheKeywordsThatWereAdded(t *testing.T) {
	for name, c := range map[string]struct{ set, ofFolder, want string }{
		"none":                            {"", "", ""},
		"new ones":                        {"urgent,rent", "", "urgent,rent"},
		"those that it has, and new ones": {"scanned,urgent,urgent", "", "urgent"},
		"those that it has":               {"scanned", "letters", ""},
		"those of the folder":             {"", "scanned,letters", "letters"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, false, false)
			if err := d.state.SetDefaults(folderID, archive.Attributes{Keywords: words(t, c.ofFolder)}); err != nil {
				t.Fatal(err)
			}
			e, err := d.s.Lookup(t.Context(), d.inbox, "scan.pdf")
			if err != nil {
				t.Fatal(err)
			}
			keywords, err := xattr.Parse("user.archive.keywords")
			if err == nil && c.set != "" {
				err = staging.FileAttrs(staging.FileOf(d.inbox, e)).Change(t.Context(), keywords, []byte(c.set))
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := d.Rename(t.Context(), d.inbox, "scan.pdf", d.folder, "scan.pdf", 0); errno.Of(err) != syscall.EACCES {
				t.Fatal(err)
			}
			if got := strings.Join(d.service.keywords, ","); got != c.want {
				t.Errorf("sent %q, want %q", got, c.want)
			}
		})
	}
}

func words(t *testing.T, list string) []string {
	t.Helper()
	words, err := xattr.ParseKeywords([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	return words
}

// A local file moves with its record, and replaces a local file.
func TestALocalFileMoves(t *testing.T) {
	d := newDesk(t, false, false)
	e := d.put(t, d.folder, "draft~", names.Certain)
	d.put(t, d.inbox, "other~", names.Certain)
	up := e.Upload()
	if err := d.Rename(t.Context(), d.folder, "draft~", d.inbox, "other~", 0); err != nil {
		t.Fatal(err)
	}
	if got := d.inbox.Reach("other~"); got == nil || got.Upload() != up || d.folder.Reach("draft~") != nil {
		t.Errorf("shown: %+v", got)
	}
	if r := up.Record(); r.Folder != inboxID || !r.Inbox || r.Name != "other~" {
		t.Errorf("its record is %+v", r)
	}
	if err := d.Unlink(t.Context(), d.inbox, "other~"); err != nil {
		t.Fatal(err)
	}
	if _, kept := d.s.Spool.Get(up.ID()); kept || len(d.service.changes) > 0 {
		t.Errorf("the spool has it still: %t; sent %q", kept, d.service.changes)
	}
}

// A directory that stays local is moved and removed without the service, and only when it is empty.
func TestALocalDirectoryMoves(t *testing.T) {
	d := newDesk(t, false, false)
	if err := d.mkdir(t.Context(), d.folder, ".Trash-0"); err != nil {
		t.Fatal(err)
	}
	trash := d.folder.Reach(".Trash-0").Dir
	if err := d.mkdir(t.Context(), trash, "files"); err != nil {
		t.Fatal(err)
	}
	d.put(t, trash.Reach("files").Dir, "a.txt", names.Real)
	if err := d.Rename(t.Context(), trash, "files", trash, "info", 0); err != nil {
		t.Fatal(err)
	}
	moved := trash.Reach("info").Dir
	if r := moved.Reach("a.txt").Upload().Record(); strings.Join(r.Local, "/") != ".Trash-0/info" {
		t.Errorf("a file in it lies in %q", r.Local)
	}
	if err := d.Folders.Rmdir(t.Context(), trash, "info"); !errors.Is(err, syscall.ENOTEMPTY) {
		t.Errorf("removed with a file in it: %v", err)
	}
	if err := errors.Join(d.Unlink(t.Context(), moved, "a.txt"), d.Folders.Rmdir(t.Context(), trash, "info"), d.Folders.Rmdir(t.Context(), d.folder, ".Trash-0")); err != nil {
		t.Error(err)
	}
	if len(d.service.changes) > 0 || len(d.folder.Entries()) != 0 {
		t.Errorf("sent %q; shown: %v", d.service.changes, d.folder.Entries())
	}
}

// A change made here costs no listing, and is shown by the next one: neither by the service nor by those that
// were listed before. What an inbox document has become in its folder must be asked, once.
func TestOwnChangeKeepsListings(t *testing.T) {
	for name, c := range map[string]struct {
		do    func(d *desk, ctx context.Context) error
		lists int
		shown string // in the folder and in the inbox
	}{
		"mkdir": {func(d *desk, ctx context.Context) error { return d.mkdir(ctx, d.folder, "2026") }, 0, "2026 invoice.pdf scan.pdf"},
		"rename": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.inbox, "scan.pdf", d.inbox, "brief.pdf", 0)
		}, 0, "invoice.pdf brief.pdf"},
		"delete": {func(d *desk, ctx context.Context) error { return d.Unlink(ctx, d.inbox, "scan.pdf") }, 0, "invoice.pdf"},
		"archive": {func(d *desk, ctx context.Context) error {
			return d.Rename(ctx, d.inbox, "scan.pdf", d.folder, "vertrag.pdf", 0)
		}, 1, "invoice.pdf vertrag.pdf"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t, false, true)
			d.service.archives = "vertrag.pdf"
			d.s.Service.Documents.Put(folderID, []archive.Document{remotetest.Named(1, "invoice.pdf")})
			list := func() {
				t.Helper()
				for _, dir := range []*tree.Dir{d.folder, d.inbox} {
					if err := dir.Tree.Load(t.Context(), dir, tree.NeedListing); err != nil {
						t.Fatal(err)
					}
				}
			}
			list()
			before := d.service.lists.Load()
			if err := c.do(d, t.Context()); err != nil {
				t.Fatal(err)
			}
			list()
			if got := int(d.service.lists.Load() - before); got != c.lists {
				t.Errorf("%d listings, want %d", got, c.lists)
			}
			for _, known := range []string{"names", "listings"} {
				var shown []string
				for _, dir := range []*tree.Dir{d.folder, d.inbox} {
					if known == "listings" { // a directory that was not listed yet
						dir = tree.NewDir(dir.Tree, dir.Kind(), dir.ID(), dir.Ino, d.s.Root, "as new")
						if err := dir.Tree.Load(t.Context(), dir, tree.NeedListing); err != nil {
							t.Fatal(err)
						}
					}
					for _, e := range dir.Entries() {
						shown = append(shown, e.Name)
					}
				}
				if got := strings.Join(shown, " "); got != c.shown {
					t.Errorf("%s: %q, want %q", known, got, c.shown)
				}
			}
			if got := int(d.service.lists.Load() - before); got != c.lists {
				t.Errorf("%d listings in the end, want %d", got, c.lists)
			}
		})
	}
}

// A file that failed in a folder is listed and exported where the folder is, even if that does not show it.
func TestWhatFailedGoesAlongWithItsFolder(t *testing.T) {
	d := newDesk(t, false, false, time.Hour)
	e, err := d.Folders.Mkdir(t.Context(), d.folder, "Neuer Ordner")
	if err != nil {
		t.Fatal(err)
	}
	up, err := d.s.Create(d.s.Record(e.Dir, "half.pdf", nil))
	if err == nil {
		err = up.Fail("the program that wrote it was killed", false)
	}
	if err == nil {
		err = d.Rename(t.Context(), d.folder, "Neuer Ordner", d.folder, "Briefe", 0)
	}
	if want := d.folder.PathOf("Briefe"); err != nil || up.Record().Path != want {
		t.Errorf("it is in %q, %v; want %q", up.Record().Path, err, want)
	}
}
