package store_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

func listed(t testing.TB, s archiver, q store.Query) []archive.ID {
	t.Helper()
	ids := []archive.ID{}
	err := s.List(t.Context(), q, func(d store.Listed) error {
		ids = append(ids, d.ID)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return ids
}

// fill adds n documents, created one second after the other from second 0 on, to the
// folders in turn.
func fill(t testing.TB, s archiver, n int, folders ...archive.ID) {
	t.Helper()
	documents := make([]store.Document, 0, n)
	for i := range n {
		documents = append(documents, store.Document{
			Folder: folders[i%len(folders)], Name: fmt.Sprintf("Rechnung %d.pdf", i), Created: time.Unix(int64(i), 0),
			Archived: time.Unix(1700000000, 0), Pages: 2, Size: 150_000, ContentType: "application/pdf", Digest: "d",
			Keywords: []string{"invoice", "2023"}, Metadata: []archive.KeyValue{{Key: "number", Value: "4711"}, {Key: "amount", Value: "12.50"}},
		})
	}
	if _, err := s.AddDocuments(t.Context(), documents, false); err != nil {
		t.Fatal(err)
	}
}

func TestListGoesOverBatches(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "M"})
		below := folder(t, s, store.Folder{Parent: m, Name: "below"})
		other := folder(t, s, store.Folder{Name: "O"})
		fill(t, s, 3600, m, below, other)
		for _, test := range []struct {
			q    store.Query
			want int
		}{
			{store.Query{Folder: m}, 1200},
			{store.Query{Folder: below}, 1200},
			{store.Query{Folder: m, Recursive: true}, 2400},
			{store.Query{Folder: m, From: time.Unix(3000, 0)}, 200},
			{store.Query{Folder: m, From: time.Unix(3001, 0), Recursive: true}, 399},
			{store.Query{Folder: m, From: time.Unix(1<<40, 0)}, 0},
		} {
			got := listed(t, s, test.q)
			if len(got) != test.want || !slices.IsSorted(got) {
				t.Errorf("%+v: %d documents, sorted %v", test.q, len(got), slices.IsSorted(got))
			}
		}
		stop, calls := errors.New("enough"), 0
		err := s.List(t.Context(), store.Query{Folder: m}, func(store.Listed) error { calls++; return stop })
		if !errors.Is(err, stop) || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
		err = s.List(t.Context(), store.Query{Folder: 999}, func(store.Listed) error { return stop })
		if archive.KindOf(err) != archive.KindNotFound {
			t.Errorf("unknown folder: %v", err)
		}
	})
}

func TestListingLeavesTheDatabaseFree(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "M"})
		fill(t, s, 10, m)
		// More nested listings than there are connections, and a change within the last one: none
		// waits for another.
		var nested func(depth int) error
		nested = func(depth int) error {
			return s.List(t.Context(), store.Query{Folder: m}, func(d store.Listed) error {
				if depth == 0 {
					return s.Alter(t.Context(), d.ID, store.SetName("renamed"))
				}
				if d.ID == 1 {
					return nested(depth - 1)
				}
				return nil
			})
		}
		if err := nested(200); err != nil {
			t.Fatal(err)
		}
		if d, err := s.Document(t.Context(), 10); err != nil || d.Name != "renamed" {
			t.Errorf("%q, %v", d.Name, err)
		}
	})
}

func BenchmarkList20000(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s opened) {
		m := folder(b, s, store.Folder{Name: "M"})
		fill(b, s, 20_000, m)
		b.ReportAllocs()
		for b.Loop() {
			if got := len(listed(b, s, store.Query{Folder: m})); got != 20_000 {
				b.Fatal(got)
			}
		}
	})
}

func BenchmarkTree2000(b *testing.B) {
	benchOnEach(b, func(b *testing.B, s opened) {
		m := folder(b, s, store.Folder{Name: "M"})
		for i := range 2000 {
			folder(b, s, store.Folder{Parent: m, Name: fmt.Sprint(i)})
		}
		b.ReportAllocs()
		for b.Loop() {
			folders, err := s.Tree(b.Context(), false)
			if err != nil || len(folders) != 2001 {
				b.Fatal(len(folders), err)
			}
		}
	})
}

// Documents are read in batches, so their metadata does not fill the memory. Documents that are removed
// meanwhile are left out.
func TestListReadsSomeBytesAtATime(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "I", Inbox: true})
		documents := make([]store.Document, 15)
		for i := range documents {
			documents[i] = store.Document{Folder: m, Name: "d", Digest: "d", Metadata: []archive.KeyValue{{Key: "k", Value: strings.Repeat("v", 1<<20)}}}
		}
		if _, err := s.AddDocuments(t.Context(), documents, false); err != nil {
			t.Fatal(err)
		}
		all := listed(t, s, store.Query{Folder: m})
		if len(all) != len(documents) || !slices.IsSorted(all) {
			t.Fatalf("%d documents, sorted %v", len(all), slices.IsSorted(all))
		}
		var got []archive.ID
		err := s.List(t.Context(), store.Query{Folder: m}, func(d store.Listed) error {
			if got = append(got, d.ID); len(got) > 1 {
				return nil
			}
			_, err := s.DeleteDocument(t.Context(), all[10])
			return err
		})
		if want := slices.Delete(slices.Clone(all), 10, 11); err != nil || !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v, %v", got, want, err)
		}
	})
}

// A line that says something else than its columns had is an error.
func TestALineThatIsBroken(t *testing.T) {
	const numbers = "7 5 11 12 3 100 1 9 "
	want := store.Listed{
		ID: 7, Folder: 5, Name: "a b", Created: time.Unix(11, 0), Archived: time.Unix(12, 0), Pages: 3, Size: 100,
		ContentType: "text/x", Keywords: "[]", Metadata: "[1]", AutoExport: true, ArchiverID: 9,
	}
	if got, rest, err := store.ListedOf(numbers + "3 6 2 a btext/x[][1]\nnext"); err != nil || got != want || rest != "next" {
		t.Fatalf("got %+v before %q, %v", got, rest, err)
	}
	for name, row := range map[string]string{
		"no numbers":                "a b",
		"a number is missing":       "7 5 11 12 3 100 1 3 6 2 a btext/x[][1]",
		"a number is none":          "7 5 11 12 3 100 t 9 3 6 2 a btext/x[][1]",
		"no texts":                  numbers + "3 6 2",
		"a name beyond the row":     numbers + "99 6 2 a btext/x[][1]",
		"a type beyond the row":     numbers + "3 99 2 a btext/x[][1]",
		"keywords beyond the row":   numbers + "3 6 99 a btext/x[][1]",
		"a length below zero":       numbers + "3 -6 2 a btext/x[][1]",
		"lengths of 64 bits":        numbers + "9223372036854775807 9223372036854775807 2 a btext/x[][1]",
		"a length beyond the types": numbers + "3 6 92233720368547758070 a btext/x[][1]",
		"cut in the keywords":       numbers + "3 6 2 a btext/x[",
	} {
		t.Run(name, func(t *testing.T) {
			if got, _, err := store.ListedOf(row + "\n"); err == nil {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// What a text may contain does not end it, and documents with much metadata stay in their places.
func TestListKeepsTextsApart(t *testing.T) {
	onEach(t, func(t *testing.T, s opened) {
		m := folder(t, s, store.Folder{Name: "I", Inbox: true})
		large := strings.Repeat("v", 1<<20)
		names, values := []string{"a b\n1 2", "", "c\n\n", "größe %d%s"}, []string{"x\ny", large, "]\n[", large}
		var documents []store.Document
		for i, name := range names {
			documents = append(documents, store.Document{Folder: m, Name: name, ContentType: "t\n", Digest: "d", Metadata: []archive.KeyValue{{Key: "k", Value: values[i]}}})
		}
		if _, err := s.AddDocuments(t.Context(), documents, false); err != nil {
			t.Fatal(err)
		}
		n := 0
		err := s.List(t.Context(), store.Query{Folder: m}, func(d store.Listed) error {
			var metadata []struct{ Value string }
			if err := json.Unmarshal([]byte(d.Metadata), &metadata); err != nil {
				return err
			}
			if d.Name != names[n] || d.ContentType != "t\n" || d.Keywords != "[]" || metadata[0].Value != values[n] {
				t.Errorf("document %d is %.200q", n, fmt.Sprint(d))
			}
			n++
			return nil
		})
		if err != nil || n != len(names) {
			t.Errorf("%d documents, %v", n, err)
		}
	})
}
