package mount

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs"
)

// archiveService has the operations that are not asked for.
type archiveService = fs.Archive

// shown is what a service shows for a key. An error comes from the operation that it is set for.
type shown struct {
	archiveService
	mandators archive.Structure
	boxes     archive.Inboxes
	data      map[archive.ID]archive.DocumentData
	top, in   error
	read      error // of documents that are not in data
}

func (s *shown) Children(context.Context, archive.ID) (archive.Structure, error) {
	return s.mandators, s.top
}
func (s *shown) Inboxes(context.Context) (archive.Inboxes, error) { return s.boxes, s.in }
func (s *shown) Data(_ context.Context, doc archive.ID) (archive.DocumentData, error) {
	data, ok := s.data[doc]
	if !ok {
		return data, s.read
	}
	return data, nil
}

func failure(kind archive.Kind) error {
	return &archive.Error{Op: "ask", Kind: kind, Err: errors.New("so")}
}

// A renewed key shows what the one before did, but for what changes from day to day.
func TestCompare(t *testing.T) {
	created := time.Date(2024, 1, 2, 3, 4, 5, 0, time.UTC)
	docs := []archive.Document{
		{ID: 1, Name: "a", Created: created, Archived: created},
		{ID: 2, Name: "b", Created: created, Archived: created},
		{ID: 3, Name: "c", Created: created}, // in an inbox
	}
	inbox := archive.Inbox{UserID: 0, Folder: archive.Folder{ID: 9, Name: "Anna", Children: []archive.Folder{{ID: 10, Name: "Alt"}}}}
	known := func(t *testing.T, top bool, boxes bool, docs []archive.Document) *cache.Known {
		t.Helper()
		log := logrus.New()
		log.SetOutput(io.Discard)
		path := filepath.Join(t.TempDir(), "known.db")
		for range 2 { // what is on disk counts
			k, err := cache.OpenKnown(path, log)
			if err != nil {
				t.Fatal(err)
			}
			if top {
				k.Folders().Save(0, archive.Structure{Folders: []archive.Folder{{ID: 1, Name: "Muster"}, {ID: 2, Name: "Beispiel"}}}, created)
			}
			if boxes {
				k.Inboxes().Save(struct{}{}, archive.Inboxes{Inboxes: []archive.Inbox{inbox}}, created)
			}
			for i := range docs {
				k.Documents(archive.ListOptions{}).Save(docs[i].ID, docs[i:i+1], created)
			}
			if err := k.Close(); err != nil {
				t.Fatal(err)
			}
		}
		k, err := cache.OpenKnown(path, log)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = k.Close() })
		return k
	}
	tests := []struct {
		name   string
		change func(s *shown)
		want   string // empty: the same
		fails  bool
	}{
		{"the same", func(*shown) {}, "", false},
		{"another order", func(s *shown) { f := s.mandators.Folders; f[0], f[1] = f[1], f[0] }, "", false},
		{"other folders in the inbox", func(s *shown) { s.boxes.Inboxes[0].Folder.Children = nil }, "", false},
		{"the inbox was emptied", func(s *shown) { delete(s.data, 3) }, "", false},
		{"one document was renamed", func(s *shown) { s.data[1] = archive.DocumentData{ID: 1, Name: "x", Created: created} }, "", false},
		{"a mandator more", func(s *shown) { s.mandators.Folders = append(s.mandators.Folders, archive.Folder{ID: 3, Name: "Neu"}) }, "mandators", false},
		{"a mandator of another name", func(s *shown) { s.mandators.Folders[0].Name = "Neu" }, "mandators", false},
		{"another user", func(s *shown) { s.boxes.Inboxes[0].UserID = 1 }, "inboxes", false},
		{"an inbox more", func(s *shown) {
			s.boxes.Inboxes = append(s.boxes.Inboxes, archive.Inbox{UserID: 0, Folder: archive.Folder{ID: 11}})
		}, "inboxes", false},
		{"no inboxes", func(s *shown) { s.boxes.Inboxes = nil }, "inboxes", false},
		{"a refusal of the inboxes", func(s *shown) { s.in = failure(archive.KindForbidden) }, "inboxes", false},
		{"documents of other dates", func(s *shown) {
			for _, id := range []archive.ID{1, 2} {
				s.data[id] = archive.DocumentData{ID: id, Name: docs[id-1].Name, Created: created.Add(time.Second)}
			}
		}, "documents", false},
		{"no archived document", func(s *shown) { delete(s.data, 1); delete(s.data, 2) }, "documents", false},
		{"no document", func(s *shown) { s.data, s.read = nil, failure(archive.KindForbidden) }, "documents", false},
		{"inboxes that make it fail", func(s *shown) { s.in = failure(archive.KindServer) }, "does not show the inboxes: ask: ", false},
		{"a document that makes it fail", func(s *shown) { delete(s.data, 1); s.read = failure(archive.KindServer) }, "", false},
		{"a refused key", func(s *shown) { s.top = failure(archive.KindUnauthorized) }, "", true},
		{"a service that is away", func(s *shown) { s.in = failure(archive.KindUnreachable) }, "", true},
		{"a service that goes away", func(s *shown) { s.data, s.read = nil, failure(archive.KindUnreachable) }, "", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := &shown{
				mandators: archive.Structure{Folders: []archive.Folder{{ID: 1, Name: "Muster"}, {ID: 2, Name: "Beispiel"}}},
				boxes:     archive.Inboxes{Inboxes: []archive.Inbox{inbox}},
				data:      map[archive.ID]archive.DocumentData{}, read: failure(archive.KindNotFound),
			}
			for _, d := range docs {
				s.data[d.ID] = archive.DocumentData{ID: d.ID, Name: d.Name, Created: d.Created}
			}
			tt.change(s)
			err := compare(t.Context(), s, known(t, true, true, docs))
			var stranger strangerError
			if errors.As(err, &stranger) != (tt.want != "") || !strings.Contains(string(stranger), tt.want) || (err != nil) != (tt.fails || tt.want != "") {
				t.Errorf("got %v; want %q", err, tt.want)
			}
		})
	}
	for name, k := range map[string]*cache.Known{
		"no top": known(t, false, true, docs), "no inboxes": known(t, true, false, docs), "no documents": known(t, true, true, nil),
	} {
		if err := compare(t.Context(), &shown{}, k); err == nil || !strings.Contains(err.Error(), "too few listings") {
			t.Errorf("%s: got %v", name, err)
		}
	}
}
