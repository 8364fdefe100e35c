package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// BenchmarkHTTP asks a service as a mount does, over loopback and one connection: for an
// operation that costs next to nothing, a list of 1,000 documents, a content of 1 MiB, and with
// uploads of 150 KB.
func BenchmarkHTTP(b *testing.B) {
	s, err := Open(b.Context(), Options{Data: b.TempDir(), Credentials: Credentials{APIKey: "k"}})
	if err != nil {
		b.Fatal(err)
	}
	ln, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx, ln) }()
	client := &http.Client{Transport: &http.Transport{}}
	b.Cleanup(func() {
		client.CloseIdleConnections()
		cancel()
		if err := errors.Join(<-ended, s.Close()); err != nil {
			b.Error(err)
		}
	})
	folder, err := s.AddMandator(b.Context(), "M")
	if err != nil {
		b.Fatal(err)
	}
	fill(b, s, folder, 1000)
	other, err := s.AddMandator(b.Context(), "N")
	if err != nil {
		b.Fatal(err)
	}
	id, err := s.AddDocument(b.Context(), NewDocument{Folder: other, Name: "large.pdf", Created: time.Unix(1, 0), Archived: time.Unix(2, 0)}, bytes.NewReader(pdfOf(1<<20)))
	if err != nil {
		b.Fatal(err)
	}
	ask := func(b *testing.B, method, path, contentType string, body io.Reader) {
		r, err := http.NewRequestWithContext(b.Context(), method, "http://"+ln.Addr().String()+"/api/v2"+path, body)
		if err != nil {
			b.Fatal(err)
		}
		r.Header.Set("API-Key", "k")
		r.Header.Set("Content-Type", contentType)
		answer, err := client.Do(r)
		if err != nil {
			b.Fatal(err)
		}
		n, err := io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			b.Fatal(answer.Status, err)
		}
		b.SetBytes(max(n, r.ContentLength))
	}
	for _, test := range []struct{ name, path string }{
		{"small", "/inboxes?lazy=true"},
		{"list", "/document/list?folder-id=1"},
		{"content", fmt.Sprintf("/document/%d/pdf?original=true", id)},
	} {
		b.Run(test.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				ask(b, http.MethodGet, test.path, "", nil)
			}
		})
	}
	b.Run("upload", func(b *testing.B) {
		content := pdfOf(150_000)
		b.ReportAllocs()
		for n := 0; b.Loop(); n++ {
			copy(content[len(pdfHead):], fmt.Sprintf("%016d", n))
			var body bytes.Buffer
			fmt.Fprintf(&body, "--XX\r\nContent-Disposition: form-data; name=\"target-folder-id\"\r\n\r\n%d\r\n", archive.ID(2))
			body.WriteString("--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"Rechnung.pdf\"\r\n\r\n")
			body.Write(content)
			body.WriteString("\r\n--XX--\r\n")
			ask(b, http.MethodPost, "/file-upload", "multipart/form-data; boundary=XX", &body)
		}
	})
}
