package store_test

import (
	"slices"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// found is the sorted names of the documents that a search finds.
func found(t *testing.T, s opened, a store.Archive, q store.Search) []string {
	t.Helper()
	ids, err := a.Search(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{}
	for _, id := range ids {
		d, err := s.Document(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, d.Name)
	}
	slices.Sort(names)
	return names
}

// indexed brings the index to the newest state.
func indexed(t testing.TB, s opened) {
	t.Helper()
	for more := true; more; {
		var err error
		if more, err = s.Index.IndexSaid(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

// Every engine finds the same, whether documents are in the index or not yet.
func TestWhatMatches(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "M"})
		archived := time.Unix(1700000000, 0)
		_, err := s.AddDocuments(t.Context(), []store.Document{
			{Folder: m, Name: "Frachtrechnung Müller", Archived: archived, Keywords: []string{"Straße 7", "x_y"}, Types: []string{"Vertrag"}},
			{Folder: m, Name: "Brief an Mueller", Archived: archived, ExternalID: "E-1", Metadata: []archive.KeyValue{{Key: "Größe", Value: "10%"}, {Key: "Weight", Value: "more"}}},
			{Folder: m, Name: "Muller & Söhne", Archived: archived, Notes: []archive.Note{{Text: "called Eve"}}},
			{Folder: m, Name: "neue Bäuerin", Archived: archived, Stamps: []archive.Stamp{{Title: "Geprüft", Text: `all "good" \o/`}}},
		}, false)
		if err != nil {
			t.Fatal(err)
		}
		const fracht, brief, sons, neue = "Frachtrechnung Müller", "Brief an Mueller", "Muller & Söhne", "neue Bäuerin"
		compare := func(t *testing.T) {
			for _, test := range []struct {
				q    store.Search
				want []string
			}{
				{store.Search{All: []string{"rechnung"}}, []string{fracht}},
				{store.Search{All: []string{"RECHNUNG", "strasse"}}, []string{fracht}},
				{store.Search{All: []string{"müller"}}, []string{brief, fracht, sons}},
				{store.Search{All: []string{"mueller"}}, []string{brief, fracht, sons}},
				{store.Search{All: []string{"muller"}}, []string{fracht, sons}},
				{store.Search{All: []string{"soehne"}}, []string{sons}},
				{store.Search{All: []string{"nue"}}, []string{}},
				{store.Search{All: []string{"neue"}}, []string{neue}},
				{store.Search{All: []string{"bauerin"}}, []string{neue}},
				{store.Search{All: []string{"eve"}}, []string{sons}},
				{store.Search{All: []string{"x_y"}}, []string{fracht}},
				{store.Search{All: []string{"x%y"}}, []string{}},
				{store.Search{All: []string{"10%"}}, []string{brief}},
				{store.Search{All: []string{`"good" \o/`}}, []string{neue}},
				{store.Search{All: []string{"&"}}, []string{sons}},
				{store.Search{All: []string{"e-"}}, []string{brief}},
				{store.Search{One: []string{"eve", "&", "strasse"}}, []string{fracht, sons}},
				{store.Search{None: []string{"müller"}}, []string{neue}},
				{store.Search{All: []string{"e"}, None: []string{"rechnung", "geprüft"}}, []string{brief, sons}},
				{store.Search{Name: []string{"fracht", "muller"}}, []string{fracht}},
				{store.Search{Name: []string{"strasse"}}, []string{}},
				{store.Search{Keywords: []string{"STRASSE 7", "X_Y"}}, []string{fracht}},
				{store.Search{Keywords: []string{"straße"}}, []string{fracht}},
				{store.Search{Keywords: []string{"vertr"}}, []string{}},
				{store.Search{Keywords: []string{"fracht"}}, []string{}},
				{store.Search{Keywords: []string{"10%"}}, []string{}},
				{store.Search{Keywords: []string{"geprüft"}}, []string{}},
				{store.Search{Type: "vertrag"}, []string{fracht}},
				{store.Search{Type: "vertr"}, []string{}},
				{store.Search{ExternalID: "E-1"}, []string{brief}},
				{store.Search{ExternalID: "e-"}, []string{brief}},
				{store.Search{ExternalID: "e"}, []string{brief}},
				{store.Search{ExternalID: "x_"}, []string{}},
				{store.Search{ExternalID: "eve"}, []string{}},
				{store.Search{Metadata: []archive.KeyValue{{Key: "Größe", Value: "10%"}}}, []string{brief}},
				{store.Search{Metadata: []archive.KeyValue{{Key: "Größe", Value: "%"}}}, []string{brief}},
				{store.Search{Metadata: []archive.KeyValue{{Key: "Größe", Value: "1%"}}}, []string{}},
				{store.Search{Metadata: []archive.KeyValue{{Key: "röße", Value: "10%"}}}, []string{}},
				{store.Search{Metadata: []archive.KeyValue{{Key: "Größe", Value: "more"}}}, []string{}},
				{store.Search{Metadata: []archive.KeyValue{{Key: "Weight", Value: "or"}}}, []string{brief}},
				{store.Search{Metadata: []archive.KeyValue{{Key: "Grosse", Value: "10%"}}}, []string{}},
				{store.Search{Notes: []string{"eve", "call"}}, []string{sons}},
				{store.Search{Notes: []string{"good"}}, []string{}},
				{store.Search{Stamps: []string{"geprueft"}}, []string{neue}},
				{store.Search{NoStamps: []string{"GEPRÜFT"}}, []string{brief, fracht, sons}},
			} {
				if got := found(t, s, s.Archive, test.q); !slices.Equal(got, test.want) {
					t.Errorf("%+v finds %q, want %q", test.q, got, test.want)
				}
			}
		}
		t.Run("before", compare)
		indexed(t, s)
		t.Run("after", compare)
	})
}

// A changed document is at once found by its new words only, indexed or not.
func TestTheIndexFollowsChanges(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		ctx := t.Context()
		m := folder(t, s, store.Folder{Name: "M"})
		tray := folder(t, s, store.Folder{Name: "Tray", Inbox: true})
		for _, round := range []string{"before", "after"} {
			ids, err := s.AddDocuments(ctx, []store.Document{
				{Folder: tray, Name: "alpha " + round, Notes: []archive.Note{{Text: "remark " + round}}}, {Folder: tray, Name: "spam " + round},
			}, false)
			if err != nil {
				t.Fatal(err)
			}
			if round == "after" {
				indexed(t, s)
			}
			if err := s.Alter(ctx, ids[0], store.SetName("beta "+round)); err != nil {
				t.Fatal(err)
			}
			if err := s.Alter(ctx, ids[0], store.SetKeywords([]string{"gamma " + round})); err != nil {
				t.Fatal(err)
			}
			if _, err := s.DeleteDocument(ctx, ids[1]); err != nil {
				t.Fatal(err)
			}
			look := func(place string) {
				for text, want := range map[string]int{"alpha ": 0, "spam ": 0, "beta ": 1, "gamma ": 1, "remark ": 1} {
					if got := found(t, s, s.Archive, store.Search{All: []string{text + round}}); len(got) != want {
						t.Errorf("%s, %s: %q finds %q", round, place, text, got)
					}
				}
			}
			look("inbox")
			if _, err := s.ArchiveDocument(ctx, ids[0], store.Target{Folder: m, At: time.Now()}); err != nil {
				t.Fatal(err)
			}
			look("archived")
			indexed(t, s)
			look("indexed")
		}
	})
}

// A search of one tenant neither finds nor counts what another one has.
func TestASearchStaysWithItsTenant(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		id, err := s.AddTenant(t.Context(), "other", "")
		if err != nil {
			t.Fatal(err)
		}
		other := s.Tenant(id)
		fill(t, s, 5, folder(t, s, store.Folder{Name: "M"}))
		fill(t, other, 3, folder(t, other, store.Folder{Name: "M"}))
		for _, round := range []string{"before", "after"} {
			for _, q := range []store.Search{
				{},
				{All: []string{"rechnung"}},
				{One: []string{"re", "rechnung"}},
				{None: []string{"nothing"}},
				{Keywords: []string{"invoice"}},
				{Name: []string{"rechnung"}},
				{Metadata: []archive.KeyValue{{Key: "number", Value: "4711"}}},
				{FolderName: []string{"m"}},
			} {
				mine, err1 := s.Search(t.Context(), q)
				theirs, err2 := other.Search(t.Context(), q)
				if err1 != nil || err2 != nil || len(mine) != 5 || len(theirs) != 3 || slices.Max(mine) >= slices.Min(theirs) {
					t.Errorf("%s: %+v finds %v and %v, %v, %v", round, q, mine, theirs, err1, err2)
				}
			}
			indexed(t, s)
		}
	})
}

// A confined search finds documents below any number of roots.
func TestSearchInFolders(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "M"})
		below := folder(t, s, store.Folder{Parent: m, Name: "Ängste"})
		fill(t, s, 10, m, below)
		indexed(t, s)
		for _, test := range []struct {
			q    store.Search
			want int
		}{
			{store.Search{Folder: m, All: []string{"rechnung"}}, 5},
			{store.Search{Folder: m, Recursive: true, All: []string{"rechnung"}}, 10},
			{store.Search{FolderName: []string{"aengst"}}, 5},
			{store.Search{FolderName: []string{"m"}}, 10},
			{store.Search{FolderName: []string{"m", "aengst"}}, 5},
			{store.Search{FolderName: []string{"m/aengst"}}, 5},
			{store.Search{All: []string{"rechnung"}, From: time.Unix(8, 0)}, 2},
			{store.Search{All: []string{"rechnung"}, Before: time.Unix(8, 0)}, 8},
		} {
			if ids, err := s.Search(t.Context(), test.q); err != nil || len(ids) != test.want || !slices.IsSortedFunc(ids, func(a, b archive.ID) int { return int(b - a) }) {
				t.Errorf("%+v finds %v, %v", test.q, ids, err)
			}
		}
	})
}
