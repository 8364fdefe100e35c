package cache_test

import (
	"context"
	"errors"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

var errUnexpected = errors.New("was asked for")

func noFetch(context.Context) ([]archive.Document, error) { return nil, errUnexpected }

// Packed answers are the same as others, however they come in, and are kept on disk as well.
func TestPackedListings(t *testing.T) {
	const fetched, offered, put = 1, 2, 3
	known := openKnown(t, filepath.Join(t.TempDir(), "known.db"))
	now := time.Date(2024, 4, 25, 12, 0, 0, 0, time.UTC)
	l := cache.NewListings[archive.ID, []archive.Document](10, time.Minute, func() time.Time { return now })
	l.Keep(known.Documents(archive.ListOptions{}))
	l.Pack(cache.PackedDocuments())
	want := []archive.Document{fullDocument(), {ID: 2, Name: "b"}}

	ahead := l.Ahead()
	ahead.Offer(offered, want)
	ahead.End()
	l.Put(put, want)
	if _, err := l.Get(t.Context(), fetched, func(context.Context) ([]archive.Document, error) { return want, nil }); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		for key := archive.ID(fetched); key <= put; key++ {
			got, err := l.Get(t.Context(), key, noFetch)
			if err != nil || got.Packed.IsZero() || !reflect.DeepEqual(got.Value, want) {
				t.Errorf("key %d: got %+v, %v", key, got, err)
			}
			if peeked, ok := l.Peek(key); !ok || !reflect.DeepEqual(peeked, got) {
				t.Errorf("key %d: %+v, of which was got %+v", key, peeked, got)
			}
			wantKnown(t, known.Documents(archive.ListOptions{}), key, want, now)
		}
	}

	l.Update(put, func(docs []archive.Document) []archive.Document { return docs[1:] })
	l.Save()
	wantKnown(t, known.Documents(archive.ListOptions{}), put, want[1:], now)
	if got, err := l.Get(t.Context(), put, noFetch); err != nil || !reflect.DeepEqual(got.Value, want[1:]) {
		t.Errorf("after a change got %+v, %v", got, err)
	}
	now = now.Add(time.Hour)
	got, err := l.Get(t.Context(), fetched, func(context.Context) ([]archive.Document, error) {
		return nil, &archive.Error{Op: "document/list", Kind: archive.KindUnreachable}
	})
	if err != nil || !got.Stale || !reflect.DeepEqual(got.Value, want) {
		t.Errorf("while the service is away got %+v, %v", got, err)
	}
}

// A packed list is smaller than its texts alone would be in memory of their own, and is unpacked
// with few allocations: its texts share its memory.
func TestPackedDocumentsAreSmall(t *testing.T) {
	const documents = 100
	list := make([]archive.Document, documents)
	when := time.Date(2024, 4, 25, 12, 0, 0, 0, time.UTC)
	for i := range list {
		list[i] = archive.Document{
			ID: archive.ID(i + 1), Name: "Rechnung Stadtwerke 2024-03-01 Nr. 000042.pdf", Pages: 3, Created: when, Archived: when,
			Folder: 77, Size: 4711, ContentType: "application/pdf",
		}
	}
	p := cache.PackedDocuments()
	packed := p.Pack(list)
	if each := len(packed) / documents; each > 100 {
		t.Errorf("%d bytes for each document", each)
	}
	if allocs := testing.AllocsPerRun(10, func() { _ = p.Unpack(packed) }); allocs > 3 {
		t.Errorf("%.0f allocations", allocs)
	}
}
