package cache_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

func openKnown(t *testing.T, path string) *cache.Known {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	k, err := cache.OpenKnown(path, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeKnown(t, k) })
	return k
}

func closeKnown(t *testing.T, k *cache.Known) {
	t.Helper()
	if err := k.Close(); err != nil {
		t.Error(err)
	}
}

// wantKnown fails the test unless the store has that answer, fetched at that time.
func wantKnown[K comparable, V any](t *testing.T, s cache.Store[K, V], key K, want V, fetched time.Time) {
	t.Helper()
	got, when, ok := s.Load(key)
	if !ok || !when.Equal(fetched) || !reflect.DeepEqual(got, want) {
		t.Errorf("key %v: got %+v of %v, %v\nwant %+v of %v", key, got, when, ok, want, fetched)
	}
}

func wantUnknown[K comparable, V any](t *testing.T, s cache.Store[K, V], key K) {
	t.Helper()
	if got, when, ok := s.Load(key); ok {
		t.Errorf("key %v: got %+v of %v, want nothing", key, got, when)
	}
}

// fullDocument has something in every field.
func fullDocument() archive.Document {
	berlin := time.FixedZone("", 2*60*60)
	return archive.Document{
		ID: 1 << 40, Name: "Rechnung 1234/5 \x00ü", Pages: 3,
		Created:  time.Date(2024, 3, 1, 12, 30, 15, 123456789, berlin),
		Archived: time.Date(1969, 12, 31, 23, 0, 0, 0, time.UTC),
		Folder:   17, Keywords: []string{"", "Mahnung, eilig"}, Metadata: []archive.KeyValue{{Key: "Betrag", Value: "12,50"}, {}},
		AutoExport: archive.FlagFalse, Size: archive.SizeUnknown, ContentType: "application/pdf",
	}
}

func TestKnownListingsSurviveARestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	when := time.Date(2024, 4, 25, 12, 0, 0, 1, time.UTC)
	folders := archive.Structure{Free: true, Folders: []archive.Folder{{ID: 5, Name: "Rechnungen"}, {ID: -7, Name: ""}}}
	documents := []archive.Document{fullDocument(), {ID: 2}}
	inboxes := archive.Inboxes{Inboxes: []archive.Inbox{{UserID: -1, Folder: archive.Folder{
		ID: 3, Name: "Administrator", ChildrenKnown: true, Children: []archive.Folder{{ID: 4, Name: "Scans"}},
	}}}}
	mail := archive.ListOptions{IncludeMetadata: []string{"Absender"}}
	check := func(k *cache.Known) {
		t.Helper()
		wantKnown(t, k.Folders(), 0, folders, when)
		wantKnown(t, k.Folders(), -1, archive.Structure{}, when)
		wantKnown(t, k.Documents(mail), 5, documents, when)
		wantKnown(t, k.Documents(mail), 6, nil, when)
		wantKnown(t, k.Inboxes(), struct{}{}, inboxes, when)
		wantKnown(t, k.Representation(), struct{}{}, archive.PDF, when)
		wantUnknown(t, k.Folders(), 5)
		wantUnknown(t, k.Documents(archive.ListOptions{}), 5)
	}
	k := openKnown(t, path)
	k.Folders().Save(0, folders, when)
	k.Folders().Save(-1, archive.Structure{}, when)
	k.Folders().Save(0, archive.Structure{}, when.Add(-1)) // came later, is older
	k.Folders().Save(5, folders, when)
	k.Folders().Forget(5)
	k.Documents(mail).Save(5, documents, when)
	k.Documents(mail).Save(6, nil, when)
	k.Inboxes().Save(struct{}{}, inboxes, when)
	k.Representation().Save(struct{}{}, archive.PDF, when)
	check(k) // before it is written
	closeKnown(t, k)

	k = openKnown(t, path)
	check(k)
	k.Folders().Forget(0)
	wantUnknown(t, k.Folders(), 0)
	closeKnown(t, k)
	wantUnknown(t, openKnown(t, path).Folders(), 0)
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Fatalf("mode %v, %v; want 0600", info.Mode(), err)
	}
}

// Of a child that comes with its own children, those have a key of their own.
// Documents that a list lacks and the one before it had have vanished, also if that is of an earlier process.
func TestVanishedDocuments(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	lists := func(ids ...archive.ID) (docs []archive.Document) {
		for _, id := range ids {
			docs = append(docs, archive.Document{ID: id, Name: "a", Folder: 7})
		}
		return docs
	}
	for _, c := range []struct {
		list []archive.Document
		want []archive.ID
	}{{lists(1, 2, 3), nil}, {lists(4, 3, 1), []archive.ID{2}}, {lists(4, 3, 1, 2), nil}, {nil, []archive.ID{4, 3, 1, 2}}, {lists(1), nil}} {
		k := openKnown(t, path)
		var vanished []archive.ID
		k.Vanished = func(docs []archive.ID) { vanished = append(vanished, docs...) }
		k.Documents(archive.ListOptions{}).Save(7, c.list, time.Unix(int64(len(c.list)), 0))
		closeKnown(t, k)
		if !reflect.DeepEqual(vanished, c.want) {
			t.Errorf("after a list of %d, %v have vanished, want %v", len(c.list), vanished, c.want)
		}
	}
}

// A document of each list that has one, whatever it was asked with.
func TestKnownSample(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	k := openKnown(t, path)
	if docs := k.Sample(9); docs != nil {
		t.Errorf("got %+v of nothing", docs)
	}
	for folder := range archive.ID(4) {
		docs := []archive.Document{fullDocument(), {ID: 7}}
		docs[0].ID = folder
		if folder == 2 {
			docs = nil
		}
		k.Documents(archive.ListOptions{Recursive: folder == 3}).Save(folder, docs, time.Unix(1, 0))
	}
	closeKnown(t, k)
	k = openKnown(t, path)
	for most, want := range map[int]int{9: 3, 2: 2, 0: 0} {
		docs := k.Sample(most)
		if len(docs) != want {
			t.Errorf("at most %d: got %+v, want %d", most, docs, want)
		}
		for _, d := range docs {
			d.ID = fullDocument().ID
			if !reflect.DeepEqual(d, fullDocument()) {
				t.Errorf("got %+v", d)
			}
		}
	}
}

func TestKnownFoldersAreKeptOneByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	k := openKnown(t, path)
	deep := archive.Folder{ID: 5, Name: "a", ChildrenKnown: true, Children: []archive.Folder{{ID: 6, Name: "b"}}}
	k.Folders().Save(0, archive.Structure{Folders: []archive.Folder{deep}}, time.Unix(1, 0))
	closeKnown(t, k)
	want := archive.Structure{Folders: []archive.Folder{{ID: 5, Name: "a"}}}
	wantKnown(t, openKnown(t, path).Folders(), 0, want, time.Unix(1, 0))
}

func TestKnownDocumentsDependOnWhatWasAskedFor(t *testing.T) {
	k := openKnown(t, filepath.Join(t.TempDir(), "known.db"))
	day := time.Date(2024, 1, 1, 0, 0, 0, 0, time.UTC)
	views := []archive.ListOptions{
		{},
		{IncludeMetadata: []string{"a"}},
		{ExcludeMetadata: []string{"a"}},
		{IncludeMetadata: []string{"a", "b"}},
		{IncludeMetadata: []string{"a b"}},
		{WithAutoExport: true},
		{CreatedAfter: day},
		{CreatedAfter: day.AddDate(0, 0, 1)},
	}
	for i, view := range views {
		k.Documents(view).Save(1, []archive.Document{{ID: archive.ID(i)}}, day)
	}
	for i, view := range views {
		wantKnown(t, k.Documents(view), 1, []archive.Document{{ID: archive.ID(i)}}, day)
	}
}

func TestKnownListingsThatWereFetchedLongestAgoGoFirst(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	start := time.Date(2024, 4, 25, 12, 0, 0, 0, time.UTC)
	listing := []archive.Document{{Name: strings.Repeat("x", 100<<10)}}
	const limit = 2 << 20
	for round := range 10 { // of 20 listings, each a restart
		k := openKnown(t, path)
		k.SetLimit(limit)
		for i := range 20 {
			n := round*20 + i
			k.Documents(archive.ListOptions{}).Save(archive.ID(n), listing, start.Add(time.Duration(n)*time.Minute))
		}
		k.Representation().Save(struct{}{}, archive.PDF, start)
		closeKnown(t, k)
	}
	k := openKnown(t, path)
	documents := k.Documents(archive.ListOptions{})
	wantUnknown(t, documents, 0)
	wantUnknown(t, documents, 180)
	wantKnown(t, documents, 199, listing, start.Add(199*time.Minute))
	wantKnown(t, documents, 187, listing, start.Add(187*time.Minute))
	wantKnown(t, k.Representation(), struct{}{}, archive.PDF, start)
	if info, err := os.Stat(path); err != nil || info.Size() > 3*limit {
		t.Errorf("the file has %d bytes, %v; the listings in it at most %d", info.Size(), err, limit)
	}
}

// Listings of pinned folders stay, and do not count.
func TestPinnedListingsStay(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	listing := []archive.Document{{Name: strings.Repeat("x", 10<<10)}}
	start := time.Unix(1_700_000_000, 0)
	save := func(k *cache.Known, from archive.ID) {
		for i := range archive.ID(30) {
			k.Documents(archive.ListOptions{}).Save(from+i, listing, start.Add(time.Duration(from+i)*time.Minute))
		}
		closeKnown(t, k)
	}
	pinned := func() *cache.Known {
		k := openKnown(t, path)
		k.SetLimit(200 << 10)
		k.Pin(map[archive.ID]bool{1: true, 2: true})
		return k
	}
	k := pinned()
	k.Folders().Save(1, archive.Structure{Free: true}, start)
	k.Pin(nil) // everything, until more is known
	save(k, 1)
	k = pinned()
	for i := range archive.ID(31) {
		if i > 0 {
			wantKnown(t, k.Documents(archive.ListOptions{}), i, listing, start.Add(time.Duration(i)*time.Minute))
		}
	}
	save(k, 100)
	k = openKnown(t, path)
	wantKnown(t, k.Folders(), 1, archive.Structure{Free: true}, start)
	for _, i := range []archive.ID{1, 2, 129} {
		wantKnown(t, k.Documents(archive.ListOptions{}), i, listing, start.Add(time.Duration(i)*time.Minute))
	}
	wantUnknown(t, k.Documents(archive.ListOptions{}), 3)
	closeKnown(t, k)
}

func TestKnownListingsAreReplacedWhenTheyAreDamaged(t *testing.T) {
	for name, damage := range damages {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "known.db")
			k := openKnown(t, path)
			for i := range archive.ID(500) {
				k.Documents(archive.ListOptions{}).Save(i, []archive.Document{fullDocument()}, time.Unix(1, 0))
			}
			closeKnown(t, k)
			damage(t, path)
			k = openKnown(t, path)
			wantUnknown(t, k.Documents(archive.ListOptions{}), 7)
			k.Folders().Save(1, archive.Structure{Free: true}, time.Unix(2, 0))
			closeKnown(t, k)
			wantKnown(t, openKnown(t, path).Folders(), 1, archive.Structure{Free: true}, time.Unix(2, 0))
		})
	}
}

// What a disk damages while the file is open is not known, and the next mount begins anew.
func TestKnownListingsThatAreDamagedInUse(t *testing.T) {
	path := filepath.Join(t.TempDir(), "known.db")
	k := openKnown(t, path)
	documents := k.Documents(archive.ListOptions{})
	for i := range archive.ID(500) {
		documents.Save(i, []archive.Document{{Name: fmt.Sprint("document ", i), Keywords: []string{strings.Repeat("x", 500)}}}, time.Unix(1, 0))
	}
	closeKnown(t, k)
	k = openKnown(t, path)
	documents = k.Documents(archive.ListOptions{})
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	info, err := f.Stat()
	if err != nil {
		t.Fatal(err)
	}
	garbage := strings.Repeat("garbage ", int(info.Size())/8)
	if _, err := f.WriteAt([]byte(garbage), 2*int64(os.Getpagesize())); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	for i := range archive.ID(500) {
		wantUnknown(t, documents, i)
	}
	documents.Save(1, nil, time.Unix(2, 0))
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = openKnown(t, path)
	k.Folders().Save(1, archive.Structure{}, time.Unix(3, 0))
	wantKnown(t, k.Folders(), 1, archive.Structure{}, time.Unix(3, 0))
}

func TestKnownListingsNameAFileThatCannotBeOpened(t *testing.T) {
	if _, err := cache.OpenKnown(t.TempDir(), logrus.New()); err == nil {
		t.Fatal("opened a directory")
	}
}
