package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
)

// beside requests a path outside /api/v2, without credentials.
func (h *service) beside(path string) answer {
	h.t.Helper()
	other := &service{t: h.t, client: h.client, url: strings.TrimSuffix(h.url, "/api/v2")}
	return other.get(path, "API-Key", "")
}

func TestHealth(t *testing.T) {
	t.Parallel()
	h := start(t)
	for _, path := range []string{"/healthz", "/readyz"} {
		if a := h.beside(path); a.status != http.StatusOK || a.body != "ok\n" {
			t.Errorf("%s: %d %q", path, a.status, a.body)
		}
	}
}

// A service without its contents is alive, but not ready.
func TestReadinessWithoutContents(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	h := start(t, func(o *server.Options) { o.Data, o.Blobs = data, "" })
	contents := filepath.Join(data, "contents")
	if err := os.Rename(contents, contents+".away"); err != nil {
		t.Fatal(err)
	}
	if a := h.beside("/readyz"); a.status != http.StatusServiceUnavailable || a.body != "the contents cannot be reached\n" {
		t.Errorf("%d %q", a.status, a.body)
	}
	if a := h.beside("/healthz"); a.status != http.StatusOK {
		t.Errorf("alive: %d %q", a.status, a.body)
	}
	if err := os.Rename(contents+".away", contents); err != nil {
		t.Fatal(err)
	}
}
