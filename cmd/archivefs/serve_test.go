package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/pgtest"
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

// A service for all addresses warns; one for this machine has nothing to say.
func TestServeWithoutTLS(t *testing.T) {
	isolate(t)
	for listen, warns := range map[string]bool{"0.0.0.0:0": true, "127.0.0.1:0": false} {
		p := start(t, "serve", "--listen", listen, "--data", t.TempDir())
		p.line("serving ")
		p.stop()
		if warned := strings.Contains(p.said(), "and it has no TLS"); warned != warns {
			t.Errorf("%s: said %q", listen, p.said())
		}
	}
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

// The archive is in the database whichever way that is named, and nobody sees by what password.
func TestServeWithPostgreSQL(t *testing.T) {
	home := isolate(t)
	const password = "geheim"
	url := strings.Replace(pgtest.Database(t), "postgres:///", "postgres://archivefs:"+password+"@/", 1)
	file := filepath.Join(home, "url")
	if err := os.WriteFile(file, []byte(url+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data, structures := filepath.Join(home, "data"), map[string]string{}
	for name, given := range map[string][]string{"plain": {"--database", url}, "file": {"--database-file", file}} {
		p := start(t, append([]string{"serve", "--listen", "127.0.0.1:0", "--api-key", "k", "--data", data, "--sample"}, given...)...)
		said, at, _ := strings.Cut(p.line("serving "), " at ")
		if said != "the archive" {
			t.Errorf("it serves %q", said)
		}
		if kept := p.line("kept in "); !strings.HasPrefix(kept, `database "`) || !strings.HasSuffix(kept, ", contents in "+data) || strings.Contains(kept, password) {
			t.Errorf("it is kept in %q", kept)
		}
		line, err := os.ReadFile("/proc/" + strconv.Itoa(p.cmd.Process.Pid) + "/cmdline")
		if err == nil && strings.Contains(string(line), password) {
			t.Errorf("ps shows %q", line)
		}
		structures[name] = ask(t, at+"/archivestructure")
		p.stop()
		if strings.Contains(p.said(), password) {
			t.Errorf("the log tells the password: %s", p.said())
		}
		if _, err := os.Stat(filepath.Join(data, "archive.db")); !os.IsNotExist(err) {
			t.Errorf("a database in the directory: %v", err)
		}
	}
	var folders struct{ Folders []struct{ Name string } }
	if err := json.Unmarshal([]byte(structures["plain"]), &folders); err != nil || len(folders.Folders) == 0 || structures["plain"] != structures["file"] {
		t.Errorf("the archive is\n%s and\n%s", structures["plain"], structures["file"])
	}
}

// ask returns what the service answers.
func ask(t *testing.T, url string) string {
	t.Helper()
	return askWith(t, url, "k")
}

func askWith(t *testing.T, url, key string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("API-Key", key)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Fatalf("%s: %d %s, %v", url, answer.StatusCode, body, err)
	}
	return string(body)
}

func TestServeWithAWrongDatabase(t *testing.T) {
	home := isolate(t)
	for _, test := range []struct {
		name   string
		args   []string
		status int
		says   string
	}{
		{"no key", []string{"--database", pgtest.Database(t), "--data", filepath.Join(home, "data")}, 1, "archivefs admin keys add"},
		{"twice", []string{"--database", "postgres:///a", "--database-file", "f", "--api-key", "k"}, 2, "--database"},
		{"a bucket without it", []string{"--blobs", "s3://a", "--api-key", "k"}, 2, "--blobs needs --database"},
		{"no bucket", []string{"--database", "postgres:///a", "--blobs", "s3://u:geheim@a", "--api-key", "k"}, 2, "--blobs: credentials have no place"},
		{"no URL", []string{"--database", "postgres://u:geheim@[", "--api-key", "k", "--data", filepath.Join(home, "data")}, 1, "what names it is not right"},
	} {
		t.Run(test.name, func(t *testing.T) {
			status, _, stderr := call(t, append([]string{"serve", "--listen", "127.0.0.1:0"}, test.args...)...)
			if status != test.status || !strings.Contains(stderr, test.says) || strings.Contains(stderr, "geheim") {
				t.Errorf("exit status %d, %q; want %d and %q", status, stderr, test.status, test.says)
			}
		})
	}
}
