package staging

import (
	"path/filepath"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
	"github.com/archivefs/archivefs/xattr"
)

// timed returns a staging area that keeps times, and what forgets all that is not on the disk.
func timed(t *testing.T) (s *Area, d *tree.Dir, remount func()) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "state.db")
	open := func() *state.Store {
		kept, err := state.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		return kept
	}
	s, d = newArea(t, Config{State: open()}, &remotetest.Folder{})
	t.Cleanup(func() {
		if err := s.State.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, d, func() {
		if err := s.State.Close(); err != nil {
			t.Fatal(err)
		}
		s.State = open()
		s.Started = s.Started.Add(time.Hour)
	}
}

func TestTimesOfADocument(t *testing.T) {
	year := func(y int) time.Time { return time.Date(y, 1, 1, 0, 0, 0, 0, time.UTC) }
	started := time.Now().Add(time.Hour).Truncate(time.Second)
	for name, c := range map[string]struct {
		doc               archive.Document
		kept              state.Times
		modified, changed time.Time
	}{
		"archived":                       {archive.Document{Created: year(2001), Archived: year(2003)}, state.Times{}, year(2003), year(2003)},
		"in an inbox":                    {archive.Document{Created: year(2001)}, state.Times{}, year(2001), year(2001)},
		"archived before it was created": {archive.Document{Created: year(2003), Archived: year(2001)}, state.Times{}, year(2001), year(2003)},
		"without a date":                 {archive.Document{}, state.Times{}, started, started},
		"copied in":                      {archive.Document{Created: year(2010), Archived: year(2010)}, state.Times{Modified: year(1999), Changed: year(2011)}, year(1999), year(2011)},
		"copied in long ago":             {archive.Document{Created: year(2010), Archived: year(2010)}, state.Times{Modified: year(1999)}, year(1999), year(2010)},
		"of the future":                  {archive.Document{Created: year(2010), Archived: year(2010)}, state.Times{Modified: year(2030), Changed: year(2010)}, year(2030), year(2030)},
		"changed here":                   {archive.Document{Created: year(2010), Archived: year(2010)}, state.Times{Changed: year(2020)}, year(2010), year(2020)},
		"archived by somebody else":      {archive.Document{Created: year(2010), Archived: year(2021)}, state.Times{Modified: year(1999), Changed: year(2010)}, year(1999), year(2021)},
	} {
		t.Run(name, func(t *testing.T) {
			s, d, remount := timed(t)
			s.Started = started
			doc := c.doc
			doc.ID = 5
			if c.kept != (state.Times{}) {
				s.State.SetModified(doc.ID, c.kept.Modified, c.kept.Changed)
			}
			for range 3 {
				f := NewFile(s, 9, d, tree.NewEntry("a", &doc, nil), &doc, nil)
				for range 2 {
					if modified, changed := f.Times(); !modified.Equal(c.modified) || !changed.Equal(c.changed) {
						t.Errorf("modified %v, changed %v; want %v and %v", modified, changed, c.modified, c.changed)
					}
				}
				remount()
			}
		})
	}
}

// A file that waits changed when it was written last, whatever a program says about its modification.
func TestTimesOfAFileThatWaits(t *testing.T) {
	s, d, _ := timed(t)
	up, err := s.Spool.Create(spool.Record{Name: "a"})
	if err != nil {
		t.Fatal(err)
	}
	f := NewFile(s, 9, d, tree.NewEntry("a", nil, nil), nil, up)
	old, future := time.Unix(1_000_000_000, 0), time.Now().Add(24*time.Hour)
	for _, want := range []time.Time{old, future} {
		if err := f.SetTime(want, 0); err != nil {
			t.Fatal(err)
		}
		modified, changed := f.Times()
		if since := up.Record().Changed; !modified.Equal(want) || !changed.Equal(latest(since, want)) {
			t.Errorf("modified %v, changed %v; want %v, and %v or later", modified, changed, want, since)
		}
	}
}

// What this machine changes about a document of an inbox is a change, a look at it is none.
func TestKeywordsChangeADocument(t *testing.T) {
	s, _, _ := timed(t)
	d := tree.NewDir(s.Tree, tree.InboxDir, 78, s.Inodes.Folder(78), s.Root, "Post")
	doc := archive.Document{ID: 5, Created: time.Unix(1_000_000_000, 0)}
	e := tree.NewEntry("a", &doc, nil)
	f := NewFile(s, 9, d, e, &doc, nil)
	if _, changed := f.Times(); !changed.Equal(doc.Created) {
		t.Errorf("changed %v before", changed)
	}
	a, err := xattr.Parse(keywordsAttr)
	if err == nil {
		err = FileAttrs(f).Change(t.Context(), a, []byte("new"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if modified, changed := f.Times(); !modified.Equal(doc.Created) || !changed.Equal(s.Service.Now()) {
		t.Errorf("modified %v, changed %v", modified, changed)
	}
}
