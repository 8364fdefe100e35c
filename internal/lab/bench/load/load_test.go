//go:build linux

package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/store"
)

func TestFillGrows(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	for _, documents := range []int{folderSize, 2 * folderSize, 2 * folderSize} {
		if err := fill(t.Context(), dir, documents); err != nil {
			t.Fatal(err)
		}
		db, err := store.View(t.Context(), filepath.Join(dir, "archive.db"))
		if err != nil {
			t.Fatal(err)
		}
		all, err := db.Totals(t.Context())
		if err != nil || all.Documents != int64(documents) || all.Folders != int64(documents/folderSize)+1 || all.Contents != distinct {
			t.Errorf("%+v, %v", all, err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContentsArePDFs(t *testing.T) {
	for n, size := range []int{uploadSize, contentSize} {
		content := pdf(size, uint64(n)+1<<60)
		found := inspect.Content(bytes.NewReader(content), int64(size), inspect.Hint{Name: "a.pdf"})
		if len(content) != size || found.ContentType != inspect.PDF || found.Pages != 1 {
			t.Errorf("%d bytes of %d are %+v", len(content), size, found)
		}
		if bytes.Equal(content, pdf(size, 7)) {
			t.Error("two contents are equal")
		}
	}
}

func TestWhatIsMeasured(t *testing.T) {
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(make([]byte, 1000)) }))
	defer front.Close()
	op := operation{"op", func(ctx context.Context, _ *rand.Rand) (*http.Request, error) {
		return http.NewRequestWithContext(ctx, http.MethodGet, front.URL, nil)
	}}
	r, err := measure(t.Context(), op, 3, 20*time.Millisecond)
	if err != nil || len(r.latencies) == 0 || r.bytes != int64(len(r.latencies))*1000 || r.quantile(0.5) > r.quantile(0.99) {
		t.Errorf("%d latencies, %d bytes, %v", len(r.latencies), r.bytes, err)
	}
	front.Config.Handler = http.NotFoundHandler()
	if _, err := measure(t.Context(), op, 1, 20*time.Millisecond); err == nil {
		t.Error("a refused request is measured")
	}
}

func TestPage(t *testing.T) {
	p := page{options: options{dir: t.TempDir(), sizes: []int{10_000}, connections: []int{1}, each: time.Second}, filled: []time.Duration{time.Second}}
	latencies := make([]time.Duration, 1234)
	for i := range latencies {
		latencies[i] = time.Duration(i) * time.Microsecond
	}
	p.results = []result{{operation: "list", documents: 1_000_000, connections: 1, took: time.Second, latencies: latencies, bytes: 5e6}}
	p.raw = []result{{operation: "nginx", connections: 1, took: time.Second}}
	var b strings.Builder
	if err := p.write(t.Context(), &b); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"| list | 1 | 1,000,000 | 1,234 | 5 | 0.62 ms | 1.22 ms |\n", "| nginx | 1 |  | 0 | 0 | 0.00 ms | 0.00 ms |\n", "up to 10,000 documents 1.0 s.",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("no %q in:\n%s", want, b.String())
		}
	}
}

func TestOptions(t *testing.T) {
	for text, ok := range map[string]bool{
		"--archivefs a": true, "--archivefs a --sizes 1000,5000": true, "--archivefs a --sizes 1500": false, "--archivefs a x": false,
		"": false, "--archivefs a --connections 0": false, "--archivefs a --engines 2 --uploads 100 --pace 0.5": true, "--archivefs a --engines -1": false,
		"--archivefs a --engines 1 --uploads 3": false, "--archivefs a --engines 1 --pace 0": false,
	} {
		if _, err := readOptions(strings.Fields(text)); (err == nil) != ok {
			t.Errorf("%q: %v", text, err)
		}
	}
}
