package staging

import (
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// A file that was archived is in the listing of its folder without a request, unless the service may have made
// several documents of it. Its attributes are asked for once: the answer to an upload does not say them.
func TestArrivedFileIsListed(t *testing.T) {
	for name, c := range map[string]struct{ again, attributes int }{
		"a.txt":     {0, 1},
		"brief.eml": {1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			service := &remotetest.Folder{Docs: []archive.Document{remotetest.Named(1, "alt.txt")}}
			s, d := newArea(t, Config{}, service)
			lists := func(what string, want int, do func() error) {
				t.Helper()
				before := service.Lists
				if err := do(); err != nil {
					t.Fatal(err)
				}
				if got := service.Lists - before; got != want {
					t.Errorf("%s: %d listings, want %d", what, got, want)
				}
			}
			open := func() error { return d.Tree.Load(t.Context(), d, tree.NeedListing) }
			lists("at first", 1, open)
			r := spool.Record{Name: name, Folder: d.ID()}
			up, err := s.Spool.Create(r)
			if err != nil {
				t.Fatal(err)
			}
			f := s.Holder(up)
			e := tree.NewEntry(name, nil, &f.Leaf)
			f.standFor(d, e)
			d.Add(e)
			s.Delivery.become(f, d, d.Kind().Confirmed(&r, 2, d.Document(2), r.Changed), r.Splits())
			f.detach()
			service.Docs = append(service.Docs, archive.Document{ID: 2, Name: name, Pages: 3})
			lists("the folder", c.again, open)
			attributes := func() error { return d.Tree.LoadDetails(t.Context(), d, f.Document()) }
			lists("its attributes", c.attributes, attributes)
			lists("its attributes again", 0, attributes)
			lists("in the end", 0, open)
			if doc := d.Document(2); doc == nil || doc.Pages != 3 || d.Document(1) == nil {
				t.Errorf("%+v is listed", doc)
			}
		})
	}
}
