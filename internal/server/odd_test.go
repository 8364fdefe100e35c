package server

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/odd"
)

// The type and the text of an odd file are found, and it is found by its text.
func TestOddFiles(t *testing.T) {
	t.Parallel()
	s := readLater(t)
	m, err := s.AddMandator(t.Context(), "M")
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]archive.ID{}
	for _, f := range odd.Files() {
		ids[f.Name] = put(t, s, m, f.As, string(f.Content))
	}
	workOff(t, s)
	for _, f := range odd.Files() {
		t.Run(f.Name, func(t *testing.T) {
			d, err := s.catalog.Document(t.Context(), ids[f.Name])
			if err != nil || d.ContentType != f.Type {
				t.Errorf("it is a %s, want %s; %v", d.ContentType, f.Type, err)
			}
			if f.Unreadable {
				wantState(t, s, d.ID, store.Unreadable)
			}
			w := answered(t, s, "/document/"+strconv.Itoa(int(d.ID))+"/ocr-result")
			if found := w.Code == http.StatusOK; len(f.Words) > 0 && !found || f.Not != "" && strings.Contains(w.Body.String(), f.Not) {
				t.Errorf("the text: %d %s", w.Code, w.Body)
			}
			if len(f.Words) > 0 {
				wantFound(t, s, strings.TrimSpace(f.Words[0]), 1)
			}
			rest := w.Body.String()
			for _, word := range f.Words {
				_, after, is := strings.Cut(rest, word)
				if !is {
					t.Fatalf("no %q in %q", word, w.Body)
				}
				rest = after
			}
		})
	}
}
