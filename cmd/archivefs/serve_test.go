package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A service that cannot listen makes nothing.
func TestServeAtATakenAddress(t *testing.T) {
	home := isolate(t)
	taken, err := net.Listen("tcp", "127.0.0.1:0")
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
	isolate(t)
	s := start(t, "serve", "--sample", "--listen", "127.0.0.1:0", "--data", filepath.Join(t.TempDir(), "office"))
	s.line("serving ")
	if said := s.said(); !strings.Contains(said, "made the sample archive: 2 mandators, 45 folders, 3 inboxes, 297 documents; ") {
		t.Errorf("said %q", said)
	}
	s.stop()
}
