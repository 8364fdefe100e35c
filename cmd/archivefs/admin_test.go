package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
)

// keptArchive makes an archive of one document, and returns its directory and the file of the
// content.
func keptArchive(t *testing.T) (dir, content string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "data")
	srv, err := server.Open(t.Context(), server.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	inbox, err := srv.AddInbox(t.Context(), 1, "Inbox")
	if err == nil {
		_, err = srv.AddDocument(t.Context(), server.NewDocument{Folder: inbox, Name: "scan"}, strings.NewReader("a scan"))
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	found, err := filepath.Glob(filepath.Join(dir, "contents", "??", "*"))
	if err != nil || len(found) != 1 {
		t.Fatal(found, err)
	}
	return dir, found[0]
}

func TestAdminVerify(t *testing.T) {
	isolate(t)
	dir, content := keptArchive(t)
	want := func(status int, text string, args ...string) {
		t.Helper()
		got, stdout, stderr := call(t, append([]string{"admin", "verify"}, args...)...)
		if got != status || !strings.Contains(stdout+stderr, text) {
			t.Errorf("%q: exit status %d, want %d and %q: %s%s", args, got, status, text, stdout, stderr)
		}
	}
	want(0, "1 document, 1 content, 6 B: all is well\n", "--data", dir)
	want(1, "there is no archive in", "--data", t.TempDir())
	want(2, "takes no operands", dir)
	want(2, "--grace", "--grace", "-1s", "--data", dir)
	want(0, "all is well", "--fix", "--data", dir)
	want(2, "--fix does not go with --fast", "--fix", "--fast", "--data", dir)
	if err := os.WriteFile(content, []byte("a scam"), 0o600); err != nil {
		t.Fatal(err)
	}
	want(1, "1 document, 1 content, 6 B: 1 damaged\n", "--data", dir)
	want(1, "document 1: Inbox/scan\n", "--data", dir)
	want(0, "all is well", "--fast", "--data", dir)

	_, stdout, _ := call(t, "admin", "verify", "--json", "--data", dir)
	lines := strings.Split(strings.TrimSpace(stdout), "\n")
	var finding struct {
		Kind, Content string
		Documents     []struct{ Path string }
	}
	var last struct {
		Verified struct{ Findings map[string]int }
	}
	if len(lines) != 2 || json.Unmarshal([]byte(lines[0]), &finding) != nil || json.Unmarshal([]byte(lines[1]), &last) != nil {
		t.Fatal(stdout)
	}
	if finding.Kind != "damaged" || finding.Content != filepath.Base(content) || finding.Documents[0].Path != "Inbox/scan" || last.Verified.Findings["damaged"] != 1 {
		t.Error(stdout)
	}

	srv, err := server.Open(t.Context(), server.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	want(1, "1 damaged", "--data", dir)
	want(1, "is in use", "--remove-orphans", "--data", dir)
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	want(1, "1 damaged", "--remove-orphans", "--data", dir)
}
