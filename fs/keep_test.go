package fs_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

const (
	keepAttr   = "user.archive.keep"
	cachedAttr = "user.archive.cached"
)

// wantAttr fails the test unless an attribute has that value, empty for none.
func wantAttr(t testing.TB, path, name, want string) {
	t.Helper()
	got, err := xattr.Get(path, name)
	if want == "" && err != nil {
		return
	}
	if err != nil || string(got) != want {
		t.Errorf("%s of %s is %q, %v; want %q", name, filepath.Base(path), got, err, want)
	}
}

// kept waits until the keeper is in a state, and returns its status.
func (m *mounted) keeps(state string) fs.KeptStatus {
	m.t.Helper()
	var s *fs.KeptStatus
	heals(m.t, "kept: "+state, func() bool {
		s = m.fs.Status().Kept
		return s != nil && s.State == state
	})
	return *s
}

// often lists what is kept often.
func often(o *fs.Options) { o.TTL, o.KeepEvery = 50*time.Millisecond, 200*time.Millisecond }

// bytesOf is a content of n bytes that differs from all others.
func bytesOf(i, n int) []byte {
	return bytes.Repeat(fmt.Appendf(nil, "%08d", i), n/8)
}

// A folder that is kept reads whole without the service after a restart: the documents in it and
// below, and those of an inbox.
func TestKeptFolderReadsWithoutTheService(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	const n = 40
	sub := f.AddFolder(f.bills, "2018")
	for i := range n {
		f.AddDocument([]int64{f.bills, sub, f.inbox}[i%3], hostile.Document{Name: fmt.Sprintf("doc %02d.txt", i), Content: bytesOf(i, 4000), Pages: 1})
	}
	f.AddDocument(f.letters, hostile.Document{Name: "other.txt", Content: []byte("not kept"), Pages: 1})
	l, address := newLine(t, f.url)
	m := mount(t, address, f.cred, often)
	must(t, xattr.Set(m.path("Muster GmbH", "Rechnungen"), keepAttr, []byte("1")))
	must(t, xattr.Set(m.path("inboxes", "Administrator"), keepAttr, []byte("1")))
	s := m.keeps(fs.KeptComplete)
	if s.Documents != n || s.Bytes != n*4000 || s.Missing != 0 || s.Marked != 2 {
		t.Errorf("kept: %+v", s)
	}
	dirs := []string{m.path("Muster GmbH", "Rechnungen"), m.path("Muster GmbH", "Rechnungen", "2018"), m.path("inboxes", "Administrator")}
	look := func() {
		t.Helper()
		for i := range n {
			path := filepath.Join(dirs[i%3], fmt.Sprintf("doc %02d.txt", i))
			info := get(os.Stat(path))(t)
			if info.Size() != 4000 {
				t.Errorf("%s has %d bytes", path, info.Size())
			}
			wantContent(t, path, string(bytesOf(i, 4000)))
			wantAttr(t, path, keepAttr, "inherited")
			wantAttr(t, path, cachedAttr, "yes")
		}
		wantAttr(t, dirs[0], keepAttr, "1")
		wantAttr(t, dirs[1], keepAttr, "inherited")
		wantAttr(t, m.path("Muster GmbH"), keepAttr, "")
		wantAttr(t, m.path("Muster GmbH", "Briefe"), keepAttr, "")
	}
	look()
	wantAttr(t, m.path("Muster GmbH", "Briefe", "other.txt"), cachedAttr, "no")
	m.unmount()
	l.cut()
	m.remount()
	m.keeps(fs.KeptComplete)
	for _, d := range dirs {
		get(os.ReadDir(d))(t)
	}
	look()
	_, err := os.ReadFile(m.path("Muster GmbH", "Briefe", "other.txt"))
	wantErrno(t, "read what is not kept", err, syscall.EIO)
}

// The limit of the cache neither counts nor removes what is kept; what is freed is ordinary again.
func TestKeptContentsStayUnderPressure(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	for i := range 10 {
		f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("kept %d.txt", i), Content: bytesOf(i, 8000), Pages: 1})
		f.AddDocument(f.letters, hostile.Document{Name: fmt.Sprintf("other %d.txt", i), Content: bytesOf(100+i, 8000), Pages: 1})
	}
	m := f.mount(t, func(o *fs.Options) {
		often(o)
		o.Content = get(cache.OpenContent(cache.Options{Dir: filepath.Join(t.TempDir(), "small"), Limit: 20000}))(t)
		t.Cleanup(func() { must(t, o.Content.Close()) })
	})
	one := m.path("Muster GmbH", "Rechnungen", "kept 0.txt")
	must(t, xattr.Set(one, keepAttr, []byte("1")))
	wantAttr(t, one, keepAttr, "1")
	if s := m.keeps(fs.KeptComplete); s.Documents != 1 || s.Bytes != 8000 {
		t.Errorf("one document: %+v", s)
	}
	must(t, xattr.Set(m.path("Muster GmbH", "Rechnungen"), keepAttr, []byte("1")))
	m.keeps(fs.KeptComplete)
	for i := range 10 {
		wantContent(t, m.path("Muster GmbH", "Briefe", fmt.Sprintf("other %d.txt", i)), string(bytesOf(100+i, 8000)))
	}
	for i := range 10 {
		wantAttr(t, m.path("Muster GmbH", "Rechnungen", fmt.Sprintf("kept %d.txt", i)), cachedAttr, "yes")
	}
	if s := m.fs.Status().Cache.Content; s.Kept != 10 || s.KeptBytes != 80000 || s.Bytes-s.KeptBytes > s.Limit {
		t.Errorf("the cache has %+v", s)
	}

	err := xattr.Remove(m.path("Muster GmbH", "Rechnungen", "kept 1.txt"), keepAttr)
	wantErrno(t, "free what is kept with its folder", err, syscall.EPERM)
	must(t, xattr.Set(m.path("Muster GmbH", "Rechnungen"), keepAttr, []byte("0")))
	must(t, xattr.Remove(one, keepAttr))
	heals(t, "freed contents are evicted", func() bool {
		s := m.fs.Status()
		return s.Kept == nil && s.Cache.Content.Kept == 0 && s.Cache.Content.Bytes <= s.Cache.Content.Limit
	})
	wantAttr(t, one, keepAttr, "")
}

// What changes at the service is fetched again: an inbox document, and one that is new.
func TestKeptContentsAreRefreshed(t *testing.T) {
	t.Parallel()
	for name, shape := range map[string]hostile.ContentShape{"with ETags": {}, "without": {ETag: hostile.ETagNone}} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{Content: shape, List: hostile.ListShape{Sizes: true}})
			scan := f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("before"), Pages: 1})
			l, address := newLine(t, f.url)
			m := mount(t, address, f.cred, often)
			must(t, xattr.Set(m.path("inboxes", "Administrator"), keepAttr, []byte("1")))
			m.keeps(fs.KeptComplete)
			f.Change(scan, func(d *hostile.Document) { d.Content = []byte("changed since") })
			f.AddDocument(f.inbox, hostile.Document{Name: "new.txt", Content: []byte("new"), Pages: 1})
			heals(t, "both are there", func() bool {
				s := m.fs.Status().Kept
				return s.State == fs.KeptComplete && s.Documents == 2 && s.Bytes == int64(len("changed since")+len("new"))
			})
			l.cut()
			wantContent(t, m.path("inboxes", "Administrator", "scan.txt"), "changed since")
			wantContent(t, m.path("inboxes", "Administrator", "new.txt"), "new")
		})
	}
}

// Of a service whose ETags change although the content does not, nothing is downloaded in each round.
func TestKeptContentsWithFickleETags(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{Content: hostile.ContentShape{ETag: hostile.ETagChanging}})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
	m := f.mount(t, often)
	must(t, xattr.Set(m.path("inboxes", "Administrator"), keepAttr, []byte("1")))
	m.keeps(fs.KeptComplete)
	requests := func(path string) (n int) {
		for _, r := range f.Requests() {
			if r.Method == "GET" && strings.HasSuffix(r.Path, path) {
				n++
			}
		}
		return n
	}
	rounds := requests("/document/list")
	heals(t, "ten rounds", func() bool { return requests("/document/list") >= rounds+10 })
	if n := requests("/pdf"); n > 3 {
		t.Errorf("%d downloads in ten rounds", n)
	}
}

// What is kept while the service is away, or fails, is fetched once it is back; a document that it
// cannot serve holds up no other.
func TestKeepingGoesOnWhenTheServiceIsBack(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	var bad int64
	for i := range 6 {
		bad = f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("%d.txt", i), Content: bytesOf(i, 800), Pages: 1})
	}
	l, address := newLine(t, f.url)
	m := mount(t, address, f.cred, often)
	bills := m.path("Muster GmbH", "Rechnungen")
	get(os.ReadDir(bills))(t)
	l.cut()
	must(t, xattr.Set(bills, keepAttr, []byte("1")))
	if s := m.keeps(fs.KeptWaiting); s.Missing != 6 || s.Why == "" {
		t.Errorf("away: %+v", s)
	}
	f.Fault(hostile.Fault{Method: "GET", Path: fmt.Sprintf("/document/%d/pdf", bad), Times: hostile.Always, Do: hostile.Answer(500, "")})
	l.mend()
	if s := m.keeps(fs.KeptIncomplete); s.Missing != 1 || s.Why == "" {
		t.Errorf("one fails: %+v", s)
	}
	f.ClearFaults()
	m.keeps(fs.KeptComplete)
}

// A mark belongs to the folder or document, not to its path; it lasts while the service does not show
// it.
func TestMarksFollowRenamesAndMoves(t *testing.T) {
	t.Parallel()
	for name, same := range map[string]bool{"with its id": true, "with another id": false} {
		t.Run(name, func(t *testing.T) { marksFollow(t, newForeign(t, hostile.Config{ArchiveKeepsID: same})) })
	}
}

func marksFollow(t *testing.T, f *foreign) {
	sub := f.AddFolder(f.bills, "2018")
	f.AddDocument(sub, hostile.Document{Name: "a.txt", Content: []byte("a"), Pages: 1})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
	m := f.mount(t, often)
	must(t, xattr.Set(m.path("Muster GmbH", "Rechnungen", "2018"), keepAttr, []byte("1")))
	must(t, xattr.Set(m.path("inboxes", "Administrator", "scan.txt"), keepAttr, []byte("1")))
	m.keeps(fs.KeptComplete)
	f.RenameFolder(sub, "2018 (alt)")
	must(t, os.Rename(m.path("inboxes", "Administrator", "scan.txt"), m.path("Muster GmbH", "Briefe", "scan.txt")))
	heals(t, "both are found", func() bool {
		s := m.fs.Status().Kept
		return s.State == fs.KeptComplete && len(s.Marks) == 2 && s.Marks[0].Path == "/Muster GmbH/Rechnungen/2018 (alt)" &&
			s.Marks[1].Path == "/Muster GmbH/Briefe/scan.txt"
	})
	m.remount()
	if s := m.keeps(fs.KeptComplete); s.Documents != 2 || s.Gone != 0 || s.Marked != 2 {
		t.Errorf("after a remount: %+v", s)
	}
	wantAttr(t, m.path("Muster GmbH", "Briefe", "scan.txt"), keepAttr, "1")
	wantAttr(t, m.path("Muster GmbH", "Rechnungen", "2018 (alt)"), keepAttr, "1")
	f.RemoveFolder(sub)
	heals(t, "one is gone", func() bool {
		s := m.fs.Status().Kept
		return s.State == fs.KeptComplete && s.Gone == 1 && s.Documents == 1 && s.Marked == 2
	})
}

// Each mark counts what is in and below it, even if another mark holds that, too; all together count it once.
func TestEachMarkIsCounted(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	sub := f.AddFolder(f.bills, "2018")
	for i, folder := range []int64{f.bills, sub, sub, f.letters} {
		f.AddDocument(folder, hostile.Document{Name: fmt.Sprintf("%d.txt", i), Content: bytesOf(i, 800), Pages: 1})
	}
	m := f.mount(t, often)
	for _, path := range []string{"Rechnungen/2018/1.txt", "Rechnungen/2018", "Rechnungen", "Briefe"} {
		must(t, xattr.Set(m.path("Muster GmbH", path), keepAttr, []byte("1")))
	}
	s := m.keeps(fs.KeptComplete)
	want := map[string]int{"Rechnungen/2018/1.txt": 1, "Rechnungen/2018": 2, "Rechnungen": 3, "Briefe": 1}
	for _, mark := range s.Marks {
		if n := want[strings.TrimPrefix(mark.Path, "/Muster GmbH/")]; mark.Documents != n || mark.Bytes != int64(n*800) || mark.Missing != 0 {
			t.Errorf("%+v, want %d documents", mark, n)
		}
	}
	if len(s.Marks) != len(want) || s.Documents != 4 || s.Bytes != 4*800 {
		t.Errorf("all together: %+v", s)
	}
}

// A service with only the eight operations serves document data, which is kept.
func TestKeepOnAServiceOfEightOperations(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{OnlyEight: true})
	for i := range 3 {
		f.AddDocument(f.bills, hostile.Document{Name: fmt.Sprintf("%d.txt", i), Content: []byte("not served"), Pages: 1})
	}
	l, address := newLine(t, f.url)
	m := mount(t, address, f.cred, often)
	bills := m.path("Muster GmbH", "Rechnungen")
	names(t, bills)
	heals(t, "the service is known", func() bool {
		_, err := os.ReadFile(filepath.Join(bills, "1.txt"))
		return err == nil && m.fs.Reps.Settled()
	})
	must(t, xattr.Set(bills, keepAttr, []byte("1")))
	if s := m.keeps(fs.KeptComplete); s.Documents != 3 || s.Missing != 0 {
		t.Errorf("kept: %+v", s)
	}
	requests := m.fs.Status().Requests
	heals(t, "another round", func() bool { return fmt.Sprint(m.fs.Status().Requests) != fmt.Sprint(requests) })
	before := string(get(os.ReadFile(filepath.Join(bills, "2.txt")))(t))
	m.unmount()
	l.cut()
	m.remount()
	names(t, bills)
	wantContent(t, filepath.Join(bills, "2.txt"), before)
}

// What cannot be kept is refused.
func TestWhatCannotBeKept(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	part := m.path("Muster GmbH", "Briefe", "a.part")
	must(t, os.WriteFile(part, []byte("local"), 0o600))
	must(t, os.Mkdir(m.path("Muster GmbH", "Briefe", ".Trash-1000"), 0o700))
	for name, tt := range map[string]struct {
		path, value string
		want        error
	}{
		"the root":           {m.dir, "1", syscall.ENOTSUP},
		"all inboxes":        {m.path("inboxes"), "1", syscall.ENOTSUP},
		"a local directory":  {m.path("Muster GmbH", "Briefe", ".Trash-1000"), "1", syscall.EPERM},
		"a wrong value":      {m.path("Muster GmbH"), "yes", syscall.EINVAL},
		"what is not kept":   {m.path("Muster GmbH"), "0", nil},
		"a copy of a file":   {part, "1", nil}, // cp --preserve=xattr
		"what can be cached": {m.path("Muster GmbH", "Briefe"), "0", nil},
	} {
		if err := xattr.Set(tt.path, keepAttr, []byte(tt.value)); !errors.Is(err, tt.want) {
			t.Errorf("%s: %v, want %v", name, err, tt.want)
		}
	}
	wantAttr(t, part, cachedAttr, "yes")
	wantAttr(t, part, keepAttr, "")
	if s := m.fs.Status().Kept; s != nil {
		t.Errorf("kept: %+v", s)
	}
}
