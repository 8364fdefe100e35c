package server

import (
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

func fill(tb testing.TB, s *Server, folder archive.ID, n int) {
	tb.Helper()
	documents := make([]store.Document, 0, n)
	for range n {
		documents = append(documents, store.Document{
			Folder: folder, Name: "Rechnung 4711.pdf", Created: time.Unix(1690000000, 0), Archived: time.Unix(1700000000, 0),
			Pages: 2, Size: 150_000, ContentType: "application/pdf", Digest: "d", Keywords: []string{"invoice", "2023"},
			Metadata: []archive.KeyValue{{Key: "number", Value: "4711"}, {Key: "amount", Value: "12.50"}},
		})
	}
	if _, err := s.catalog.AddDocuments(tb.Context(), documents, false); err != nil {
		tb.Fatal(err)
	}
}
