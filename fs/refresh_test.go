package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// clock is a clock that a test moves.
type clock struct {
	mu  sync.Mutex
	now time.Time // +checklocks:mu
}

func newClock() *clock { return &clock{now: time.Now()} }

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// longTTL is longer than any test, so that the kernel drops only what it is told to.
const longTTL = time.Hour

// slow mounts with a ttl that ends when the test moves the clock.
func (f *foreign) slow(t testing.TB, tweaks ...func(*fs.Options)) (*mounted, *clock) {
	t.Helper()
	c := newClock()
	return f.mount(t, func(o *fs.Options) {
		o.TTL, o.Now = longTTL, c.Now
		o.Content = get(cache.OpenContent(cache.Options{Dir: filepath.Join(t.TempDir(), "content"), Limit: 1 << 30, Now: c.Now}))(t)
		t.Cleanup(func() { must(t, o.Content.Close()) })
		for _, tweak := range tweaks {
			tweak(o)
		}
	}), c
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestDocumentsChangedAtTheService(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	one := f.AddDocument(f.bills, hostile.Document{Name: "eins.txt", Content: []byte("1")})
	two := f.AddDocument(f.bills, hostile.Document{Name: "zwei.txt", Content: []byte("2")})
	f.AddDocument(f.bills, hostile.Document{Name: "zwei.txt", Content: []byte("another")})
	m, c := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	wantNames(t, dir, "eins.txt", "zwei.txt", "zwei (3).txt")
	for _, name := range []string{"eins.txt", "drei.txt", "drei neu.txt"} {
		_ = exists(m.path("Muster GmbH", "Rechnungen", name)) // the kernel remembers both answers
	}
	f.Remove(two)
	f.Change(one, func(d *hostile.Document) { d.Name = "drei neu.txt" })
	f.AddDocument(f.bills, hostile.Document{Name: "drei.txt", Content: []byte("3")})
	wantNames(t, dir, "eins.txt", "zwei.txt", "zwei (3).txt") // within the ttl
	c.advance(2 * longTTL)
	wantNames(t, dir, "drei neu.txt", "drei.txt", "zwei (3).txt") // which keeps its name
	heals(t, "the old names go and the new ones come", func() bool {
		return !exists(dir+"/eins.txt") && !exists(dir+"/zwei.txt") && exists(dir+"/drei.txt") && exists(dir+"/drei neu.txt")
	})
	wantContent(t, dir+"/drei neu.txt", "1")
	wantContent(t, dir+"/drei.txt", "3")
	wantContent(t, dir+"/zwei (3).txt", "another")
	m.remount()
	wantNames(t, dir, "drei neu.txt", "drei.txt", "zwei.txt")
}

func TestFoldersChangedAtTheService(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	m, c := f.slow(t)
	wantNames(t, m.dir, "Muster GmbH", "inboxes")
	wantNames(t, m.path("Muster GmbH"), "Rechnungen", "Briefe")
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "a.txt")
	wantNames(t, m.path("inboxes"), "Administrator")
	if exists(m.path("Zweite AG")) {
		t.Fatal("a mandator before its time")
	}
	f.RemoveFolder(f.bills)
	f.AddFolder(f.mandator, "Verträge")
	f.AddFolder(f.AddMandator("Zweite AG"), "Akten")
	f.AddInbox(2, "Buchhaltung")
	c.advance(2 * longTTL)
	wantNames(t, m.dir, "Muster GmbH", "Zweite AG", "inboxes")
	wantNames(t, m.path("Muster GmbH"), "Briefe", "Verträge")
	wantNames(t, m.path("inboxes"), "Administrator", "Buchhaltung")
	heals(t, "folders follow the service", func() bool {
		return !exists(m.path("Muster GmbH", "Rechnungen")) && exists(m.path("Zweite AG", "Akten"))
	})
	f.RemoveFolder(f.mandator)
	f.RemoveFolder(f.inbox)
	c.advance(2 * longTTL)
	wantNames(t, m.dir, "Zweite AG", "inboxes")
	wantNames(t, m.path("inboxes"), "Buchhaltung")
	heals(t, "the mandator and the inbox go", func() bool {
		return !exists(m.path("Muster GmbH")) && !exists(m.path("inboxes", "Administrator"))
	})
}

// Opening a folder that is gone fails, and its parent is listed again.
func TestFolderGoneWithinTheTTL(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m, c := f.slow(t)
	wantNames(t, m.path("Muster GmbH"), "Rechnungen", "Briefe")
	f.RemoveFolder(f.bills)
	c.advance(longTTL / 2)
	_, err := os.ReadDir(m.path("Muster GmbH", "Rechnungen"))
	wantErrno(t, "list a folder that is gone", err, syscall.ENOENT)
	wantNames(t, m.path("Muster GmbH"), "Briefe")
}

func TestDocumentGoneWithinTheTTL(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	f.AddDocument(f.bills, hostile.Document{Name: "b.txt", Content: []byte("b")})
	m, _ := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	wantNames(t, dir, "a.txt", "b.txt")
	f.Remove(id)
	_, err := os.ReadFile(dir + "/a.txt")
	wantErrno(t, "read a document that is gone", err, syscall.ENOENT)
	wantNames(t, dir, "b.txt")
	heals(t, "the name goes", func() bool { return !exists(dir + "/a.txt") })
}

// Reading an attribute also reveals that the document is gone.
func TestAttributesOfADocumentThatIsGone(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	m, _ := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	wantNames(t, dir, "a.txt")
	f.Remove(id)
	_, err := xattr.Get(dir+"/a.txt", "user.archive.notes")
	wantErrno(t, "notes of a document that is gone", err, syscall.ENOENT)
	wantNames(t, dir)
}

// A folder and a document that were moved at the service have their new identity, although the
// kernel still knows them at their old place.
func TestDocumentArchivedAtTheServiceUnderTheSameID(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan")})
	m, c := f.slow(t)
	wantNames(t, m.path("inboxes", "Administrator"), "scan.txt")
	old := get(os.Open(m.path("inboxes", "Administrator", "scan.txt")))(t) // the kernel keeps it
	defer func() { must(t, old.Close()) }()
	f.Change(id, func(d *hostile.Document) { d.Folder = f.bills })
	c.advance(2 * longTTL)
	moved := m.path("Muster GmbH", "Rechnungen", "scan.txt")
	wantNames(t, m.path("Muster GmbH", "Rechnungen"), "scan.txt")
	if got := attr(t, moved, "state"); got != "archived" {
		t.Errorf("state is %q", got)
	}
	w, err := os.OpenFile(moved, os.O_WRONLY, 0)
	if err == nil {
		must(t, w.Close())
	}
	wantErrno(t, "overwrite what is archived", err, syscall.EPERM)
	if _, err := os.ReadDir(m.path("inboxes", "Administrator")); err != nil {
		t.Error(err)
	}
	heals(t, "it leaves the inbox", func() bool { return !exists(m.path("inboxes", "Administrator", "scan.txt")) })
	wantContent(t, moved, "scan")
}

// While the service is away, known listings are still shown, and unknown ones are an error.
func TestServiceAway(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.bills, hostile.Document{Name: "a.txt", Content: []byte("a")})
	m, c := f.slow(t)
	dir := m.path("Muster GmbH", "Rechnungen")
	wantNames(t, dir, "a.txt")
	wantContent(t, dir+"/a.txt", "a")
	f.Fault(hostile.Fault{Times: hostile.Always, Do: hostile.Answer(500, "")})
	c.advance(2 * longTTL)
	wantNames(t, dir, "a.txt")
	wantContent(t, dir+"/a.txt", "a")
	_, err := os.ReadDir(m.path("Muster GmbH", "Briefe"))
	wantErrno(t, "list what was never listed", err, syscall.EIO)
	f.ClearFaults()
	c.advance(time.Minute) // errors are not cached that long
	wantNames(t, m.path("Muster GmbH", "Briefe"))
}

// A folder renamed at the service stays the same directory for programs in it, and later changes
// show there, even if nobody has looked up its new name.
func TestFolderRenamedWhileSomebodyIsInIt(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	id := f.AddDocument(f.bills, hostile.Document{Name: "eins.txt", Content: []byte("1")})
	m, c := f.slow(t)
	inside := get(os.Open(m.path("Muster GmbH", "Rechnungen")))(t)
	defer func() { must(t, inside.Close()) }()
	dir := fmt.Sprintf("/proc/self/fd/%d", inside.Fd())
	f.RenameFolder(f.bills, "Faktura")
	c.advance(2 * longTTL)
	_ = exists(m.path("Muster GmbH", "sonst.txt")) // the kernel's own clock has not moved
	heals(t, "the old name goes", func() bool { return !exists(m.path("Muster GmbH", "Rechnungen")) })
	if !exists(dir+"/eins.txt") || exists(dir+"/zwei.txt") { // the kernel remembers both answers
		t.Fatal("the directory does not show what is in it")
	}
	f.Change(id, func(d *hostile.Document) { d.Name = "zwei.txt" })
	c.advance(2 * longTTL)
	wantNames(t, dir, "zwei.txt")
	heals(t, "the name of the document follows", func() bool {
		return !exists(dir+"/eins.txt") && exists(dir+"/zwei.txt")
	})
	wantNames(t, m.path("Muster GmbH", "Faktura"), "zwei.txt")
}

// After Refresh changes show at once, everywhere.
func TestRefresh(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	one := f.AddDocument(f.bills, hostile.Document{Name: "eins.txt", Content: []byte("1")})
	m, _ := f.slow(t)
	bills := m.path("Muster GmbH", "Rechnungen")
	inside := get(os.Open(bills))(t)
	defer func() { must(t, inside.Close()) }()
	dir := fmt.Sprintf("/proc/self/fd/%d", inside.Fd())
	wantNames(t, m.path("inboxes"), "Administrator")
	if !exists(bills+"/eins.txt") || exists(bills+"/zwei.txt") || exists(m.path("Zweite AG")) { // the kernel remembers the answers
		t.Fatal("the mount does not show what the archive has")
	}
	f.Change(one, func(d *hostile.Document) { d.Name = "zwei.txt" })
	f.AddFolder(f.bills, "2026")
	f.AddMandator("Zweite AG")
	f.AddInbox(2, "Buchhaltung")
	if !exists(bills+"/eins.txt") || exists(bills+"/2026") || exists(m.path("Zweite AG")) {
		t.Fatal("what changed shows within the ttl by itself, so that the test shows nothing")
	}
	must(t, m.fs.Refresh(t.Context()))
	for _, path := range []string{bills, dir} {
		if exists(path+"/eins.txt") || !exists(path+"/zwei.txt") || !exists(path+"/2026") {
			t.Errorf("%s is not as the archive has it", path)
		}
		wantNames(t, path, "2026", "zwei.txt")
	}
	wantNames(t, m.path("inboxes"), "Administrator", "Buchhaltung")
	heals(t, "the new mandator is there", func() bool { return exists(m.path("Zweite AG")) })
	f.Fault(hostile.Fault{Times: hostile.Always, Do: hostile.Answer(500, "")})
	if err := m.fs.Refresh(t.Context()); err == nil {
		t.Error("no error from a refresh that could not ask")
	}
	wantNames(t, bills, "2026", "zwei.txt")
}
