package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

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

func TestArchiveName(t *testing.T) {
	const url = "postgres://archivefs:geheim@db.example:5433/office"
	for _, test := range []struct {
		options server.Options
		want    string
	}{
		{server.Options{Data: "/srv/office"}, "/srv/office"},
		{server.Options{Database: url, Data: "/srv/office"}, "the archive\n" + `kept in database "office" on db.example:5433, contents in /srv/office`},
		{server.Options{Database: url, Blobs: "s3://documents/office?endpoint=https://s3.example.com", Data: "/tmp"}, "the archive\n" + `kept in database "office" on db.example:5433, contents in s3://documents/office`},
		{server.Options{Database: "host=a,b port=1,2 dbname=o user=u password=geheim", Blobs: "s3://documents"}, "the archive\n" + `kept in database "o" on a:1, b:2, contents in s3://documents`},
	} {
		name, kept, err := archiveName(test.options)
		if got := strings.Join(append([]string{name}, kept...), "\n"); err != nil || got != test.want {
			t.Errorf("%q, %v; want %q", got, err, test.want)
		}
	}
	if name, kept, err := archiveName(server.Options{Database: "postgres://archivefs:geheim@["}); err == nil || strings.Contains(fmt.Sprint(err, name, kept), "geheim") {
		t.Errorf("%q, %q, %v", name, kept, err)
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
		{"generated", []string{"--database", "postgres:///a", "--api-key", "k", "--generate", "1x1"}, 2, "--database does not go with --generate"},
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
