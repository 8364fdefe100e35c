package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/sample"
)

// A service that cannot listen makes nothing.
func TestServeAtATakenAddress(t *testing.T) {
	home := isolate(t)
	taken, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = taken.Close() })
	status, stdout, stderr := call(t, "serve", "--listen", taken.Addr().String(), "--data", filepath.Join(home, "office"))
	if status != 1 || stdout != "" || !strings.HasPrefix(stderr, "archivefs: --listen: ") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("exit status %d, output %q, error %q; want 1 and a sentence about --listen", status, stdout, stderr)
	}
	wantUntouched(t, home)
}

func TestDataOfSomebodyElse(t *testing.T) {
	for _, command := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"mount", "--embedded", t.TempDir()}} {
		isolate(t)
		photos := t.TempDir()
		if err := os.WriteFile(filepath.Join(photos, "garden.jpg"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		status, stdout, stderr := call(t, append(command, "--data", photos)...)
		if status != 1 || stdout != "" || !strings.Contains(stderr, photos+" is no archive") || !strings.Contains(stderr, "--data") {
			t.Errorf("%s: exit status %d, output %q, error %q; want 1 and a sentence about --data", command[0], status, stdout, stderr)
		}
		wantEntries(t, photos, "garden.jpg")
	}
}

func TestSampleIsToldInWords(t *testing.T) {
	got := inWords(sample.Summary{Mandators: 2, Inboxes: 3, Folders: 45, Documents: 1, Bytes: 3 << 20})
	if want := "2 mandators, 45 folders, 3 inboxes, 1 document; 3.0 MiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
