package server

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// listed is the list of documents, in local time.
func listed(w *response, r *request) error {
	return listHandlers{location: time.Local}.documentList(w, r)
}

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
		s.own(listed).ServeHTTP(w, r)
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
		{"structure", "/api/v2/archivestructure", archiveStructure},
		{"documents", "/api/v2/document/list?folder-id=1&subfolders-recursive=true", listed},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				w := &discarding{header: http.Header{}}
				r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, test.path, nil)
				s.own(test.handle).ServeHTTP(w, r)
				b.SetBytes(w.n)
			}
		})
	}
}

// plantTree adds a mandator with 49 folders of 100 folders each, with ten documents in every folder.
func plantTree(tb testing.TB, s *Server) {
	tb.Helper()
	err := s.db.Together(tb.Context(), func(in store.Scope) error {
		ctx, all := tb.Context(), s.catalog.In(in)
		add := func(parent archive.ID, name string) (archive.ID, error) {
			id, err := all.AddFolder(ctx, store.Folder{Parent: parent, Name: name})
			for n := 0; n < 10 && err == nil; n++ {
				_, err = all.AddDocuments(ctx, []store.Document{document(id)}, false)
			}
			return id, err
		}
		mandator, err := add(0, "M")
		for i := 0; i < 49 && err == nil; i++ {
			var above archive.ID
			above, err = add(mandator, fmt.Sprint("folder ", i))
			for j := 0; j < 101 && err == nil; j++ {
				_, err = add(above, fmt.Sprint("folder ", j))
			}
		}
		return err
	})
	if err != nil {
		tb.Fatal(err)
	}
}

// discarding counts the bytes of answers.
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

// BenchmarkUpload receives documents of 150 KB, without the network.
func BenchmarkUpload(b *testing.B) {
	s, err := Open(b.Context(), Options{Data: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	if _, err := s.AddMandator(b.Context(), "M"); err != nil {
		b.Fatal(err)
	}
	content, uploads := pdfOf(150_000), newUploadHandlers(s.intake)
	b.ReportAllocs()
	for n := 0; b.Loop(); n++ {
		copy(content[len(pdfHead):], fmt.Sprintf("%016d", n))
		body := "--XX\r\nContent-Disposition: form-data; name=\"target-folder-id\"\r\n\r\n1\r\n" +
			"--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"Rechnung.pdf\"\r\n\r\n"
		r := httptest.NewRequestWithContext(b.Context(), http.MethodPost, "/api/v2/file-upload",
			io.MultiReader(strings.NewReader(body), bytes.NewReader(content), strings.NewReader("\r\n--XX--\r\n")))
		r.Header.Set("Content-Type", "multipart/form-data; boundary=XX")
		w := httptest.NewRecorder()
		s.own(uploads.fileUpload).ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			b.Fatal(w.Body)
		}
	}
}

// pdfHead begins a PDF; a comment of 16 digits may follow.
const pdfHead = "%PDF-1.4\n%"

// pdfOf makes a PDF of one empty page and a stream, of about n bytes in all.
func pdfOf(n int) []byte {
	var p bytes.Buffer
	fmt.Fprintf(&p, "%s%016d\n", pdfHead, 0)
	var at []int
	for i, object := range []string{
		"<</Type/Catalog/Pages 2 0 R>>", "<</Type/Pages/Kids[3 0 R]/Count 1>>", "<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]>>",
		fmt.Sprintf("<</Length %d>>stream\n%s\nendstream", n, strings.Repeat("x", n)),
	} {
		at = append(at, p.Len())
		fmt.Fprintf(&p, "%d 0 obj%s endobj\n", i+1, object)
	}
	xref := p.Len()
	fmt.Fprintf(&p, "xref\n0 %d\n0000000000 65535 f \n", len(at)+1)
	for _, offset := range at {
		fmt.Fprintf(&p, "%010d 00000 n \n", offset)
	}
	fmt.Fprintf(&p, "trailer<</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n", len(at)+1, xref)
	return p.Bytes()
}
