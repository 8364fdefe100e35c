package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// BenchmarkDocumentList answers a list of 20,000 documents without the network.
func BenchmarkDocumentList(b *testing.B) {
	s, err := Open(b.Context(), Options{Data: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	folder, err := s.AddMandator(b.Context(), "M")
	if err != nil {
		b.Fatal(err)
	}
	fill(b, s, folder, 20_000)
	b.ReportAllocs()
	for b.Loop() {
		w := httptest.NewRecorder()
		r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/api/v2/document/list?folder-id=1", nil)
		s.problems(s.documentList).ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Code)
		}
		b.SetBytes(int64(w.Body.Len()))
	}
}

// BenchmarkTree answers the whole structure of 5,000 folders, and the list of the 50,000
// documents in them, without the network.
func BenchmarkTree(b *testing.B) {
	s, err := Open(b.Context(), Options{Data: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	plantTree(b, s)
	for _, test := range []struct {
		name, path string
		handle     handler
	}{
		{"structure", "/api/v2/archivestructure", s.archiveStructure},
		{"documents", "/api/v2/document/list?folder-id=1&subfolders-recursive=true", s.documentList},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := &discarding{header: http.Header{}}
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, test.path, nil)
				s.problems(test.handle).ServeHTTP(w, r)
				b.SetBytes(w.n)
			}
		})
	}
}

// plantTree adds a mandator with 49 folders of 100 folders each, and ten documents in each
// of all of them.
func plantTree(tb testing.TB, s *Server) {
	tb.Helper()
	folders := []store.Folder{{Name: "M"}}
	for i := range 49 {
		folders = append(folders, store.Folder{Name: fmt.Sprint("folder ", i), Parent: -1})
		above := -archive.ID(len(folders))
		for j := range 101 {
			folders = append(folders, store.Folder{Name: fmt.Sprint("folder ", j), Parent: above})
		}
	}
	var documents []store.Document
	for i := range folders {
		for range 10 {
			documents = append(documents, document(-archive.ID(i+1)))
		}
	}
	if _, err := s.catalog.AddBatch(tb.Context(), folders, documents); err != nil {
		tb.Fatal(err)
	}
}

// discarding counts what is answered.
type discarding struct {
	header http.Header
	n      int64
}

func (w *discarding) Header() http.Header { return w.header }
func (w *discarding) WriteHeader(int)     {}
func (w *discarding) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	return len(p), nil
}

func document(folder archive.ID) store.Document {
	return store.Document{
		Folder: folder, Name: "Rechnung 4711.pdf", Created: time.Unix(1690000000, 0), Archived: time.Unix(1700000000, 0),
		Pages: 2, Size: 150_000, ContentType: "application/pdf", Digest: "d", Keywords: []string{"invoice", "2023"},
		Metadata: []archive.KeyValue{{Key: "number", Value: "4711"}, {Key: "amount", Value: "12.50"}},
	}
}

func fill(tb testing.TB, s *Server, folder archive.ID, n int) {
	tb.Helper()
	documents := make([]store.Document, 0, n)
	for range n {
		documents = append(documents, document(folder))
	}
	if _, err := s.catalog.AddDocuments(tb.Context(), documents, false); err != nil {
		tb.Fatal(err)
	}
}
