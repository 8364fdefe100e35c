package staging

import (
	"slices"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// The id of a late file may become known after all, even after the file has given way to the listed
// document.
func TestUnlistedFileWhoseIDBecomesKnown(t *testing.T) {
	for name, gaveWay := range map[string]bool{"in its place": false, "gave way": true} {
		t.Run(name, func(t *testing.T) {
			service := &remotetest.Folder{}
			s, d := newArea(t, Config{}, service)
			list := func(documents ...archive.Document) {
				t.Helper()
				service.Docs = documents
				d.Distrust()
				if err := d.Tree.Load(t.Context(), d, tree.NeedListing); err != nil {
					t.Fatal(err)
				}
			}
			list()
			up, err := s.Spool.Create(spool.Record{})
			if err != nil {
				t.Fatal(err)
			}
			f := s.Holder(up)
			e := tree.NewEntry("a.txt", nil, &f.Leaf)
			f.standFor(d, e)
			d.Add(e)
			f.stayUnlisted()
			document := remotetest.Named(1, "a.txt")
			if gaveWay {
				later := s.Service.Now().Add(2 * s.Lag())
				s.Service.Now = func() time.Time { return later }
				list(document)
			}
			s.Delivery.become(f, d, &document, false)
			f.detach()
			for range 2 {
				var shown []string
				for _, e := range d.Entries() {
					shown = append(shown, e.Name)
				}
				if !slices.Equal(shown, []string{"a.txt"}) || d.Document(1) == nil {
					t.Errorf("shown is %q", shown)
				}
				list(document)
			}
			err = s.Service.Work.Wait(t.Context())
			d.Mu.Lock()
			defer d.Mu.Unlock()
			if err != nil || len(d.Late) > 0 {
				t.Errorf("%v; %d files are to be listed", err, len(d.Late))
			}
		})
	}
}
