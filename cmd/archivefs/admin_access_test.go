package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// administrator calls archivefs admin for an archive.
type administrator struct {
	t   *testing.T
	dir string
}

// says wants a command to end with a status, and to say some text.
func (a administrator) says(status int, text string, args ...string) string {
	a.t.Helper()
	got, stdout, stderr := call(a.t, append(append([]string{"admin"}, args...), "--data", a.dir)...)
	if got != status || !strings.Contains(stdout+stderr, text) {
		a.t.Errorf("%q: exit status %d, want %d and %q: %s%s", args, got, status, text, stdout, stderr)
	}
	return stdout
}

// wantNone fails the test unless a list is empty, and says so beside its output.
func (a administrator) wantNone(text string, args ...string) {
	a.t.Helper()
	if out := a.says(0, text, args...); out != "" {
		a.t.Errorf("%q prints %q", args, out)
	}
	if out := a.says(0, "[]", append(args, "--json")...); out != "[]\n" {
		a.t.Errorf("%q prints %q as JSON", args, out)
	}
}

// lines are the cells of what is printed as a table.
func (a administrator) lines(args ...string) (lines [][]string) {
	a.t.Helper()
	for line := range strings.SplitSeq(strings.TrimSpace(a.says(0, "", args...)), "\n") {
		lines = append(lines, strings.Fields(line))
	}
	return lines
}

// decoded is what is printed as JSON.
func decoded[T any](a administrator, args ...string) (value T) {
	a.t.Helper()
	if text := a.says(0, "", append(args, "--json")...); json.Unmarshal([]byte(text), &value) != nil {
		a.t.Errorf("%q: %s", args, text)
	}
	return value
}

// What --json tells of things.
type (
	listedTenant struct {
		ID      int64
		CloudID string `json:"cloud-id"`
		Name    string
	}
	listedMandator struct {
		ID   int64
		Name string
	}
	listedInbox struct {
		ID     int64
		Name   string
		UserID int64 `json:"user-id"`
		User   string
	}
	listedUser struct {
		Name    string
		Created time.Time
	}
	listedExport struct{ Name, Folder string }
	listedKey    struct {
		Valid                  bool
		State                  string
		Mandators              []string
		Expires, Revoked, Used *time.Time
	}
)

// inFull is a time as the list of keys has it.
func inFull(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 -07:00") }

func TestAdminFolders(t *testing.T) {
	isolate(t)
	dir, _ := keptArchive(t)
	a := administrator{t, dir}
	a.says(0, "added mandator 2\n", "mandators", "add", "Muster GmbH")
	a.says(1, `archivefs: the mandator "Muster GmbH" is there already`+"\n", "mandators", "add", "Muster GmbH")
	a.says(2, `"a/b" is no name: a slash`, "mandators", "add", "a/b")
	a.says(2, "needs NAME", "mandators", "add")
	a.says(2, "needs NAME", "mandators", "add", "a", "b")
	a.says(2, "takes no operands", "mandators", "list", "x")
	a.says(2, "admin mandators add was given an empty operand; it takes NAME; ", "mandators", "add", "")
	a.says(2, `no command admin mandators "ad"`, "mandators", "ad")
	a.says(0, "added mandator 3\n", "mandators", "add", "Sch\u202eräg")
	if got := fmt.Sprint(a.lines("mandators", "list")); got != `[[ID NAME] [2 Muster GmbH] [3 Sch\u202eräg]]` {
		t.Error(got)
	}
	if got := decoded[[]listedMandator](a, "mandators", "list"); len(got) != 2 || got[1] != (listedMandator{3, "Sch\u202eräg"}) {
		t.Errorf("%+v", got)
	}
	a.says(1, `no user "erika"`, "inboxes", "add", "--user", "erika", "Erika")
	typing(t, "p-geheim\n")
	a.says(0, "added user 2\n", "users", "add", "erika")
	a.says(0, "added inbox 4\n", "inboxes", "add", "Erika", "--user", "erika")
	a.says(1, `archivefs: the inbox "Erika" is there already`+"\n", "inboxes", "add", "Erika")
	if got := fmt.Sprint(a.lines("inboxes", "list")); got != "[[ID USER NAME] [1 - Inbox] [4 erika Erika]]" {
		t.Error(got)
	}
	if got := decoded[[]listedInbox](a, "inboxes", "list"); len(got) != 2 || got[1] != (listedInbox{4, "Erika", 2, "erika"}) {
		t.Errorf("%+v", got)
	}
	a.wantNone("no document shall be exported", "auto-export", "list")
	nowhere := administrator{t, filepath.Join(t.TempDir(), "none")}
	nowhere.says(1, "there is no archive in", "mandators", "add", "M")
	wantUntouched(t, filepath.Dir(nowhere.dir))
}

func TestAdminTenants(t *testing.T) {
	isolate(t)
	dir, _ := keptArchive(t)
	a := administrator{t, dir}
	a.says(0, "added tenant 2\n", "tenants", "add", "muster", "Muster GmbH")
	a.says(1, "already", "tenants", "add", "muster")
	a.says(2, "Cloud-ID", "tenants", "add", "mu ster")
	a.says(1, "no tenant", "mandators", "list", "--tenant", "other")
	a.says(0, "added mandator", "mandators", "add", "--tenant", "muster", "Inbox")
	if got := fmt.Sprint(a.lines("mandators", "list", "--tenant", "muster")); got != "[[ID NAME] [2 Inbox]]" {
		t.Error(got)
	}
	a.wantNone("there is no mandator", "mandators", "list")
	if got := fmt.Sprint(a.lines("tenants", "list")); got != "[[ID CLOUD-ID NAME] [1 - -] [2 muster Muster GmbH]]" {
		t.Error(got)
	}
	if got := decoded[[]listedTenant](a, "tenants", "list"); len(got) != 2 || got[1] != (listedTenant{2, "muster", "Muster GmbH"}) {
		t.Errorf("%+v", got)
	}
}

func TestAdminUsers(t *testing.T) {
	isolate(t)
	dir, _ := keptArchive(t)
	a := administrator{t, dir}
	typing(t, "p-geheim\n")
	a.says(0, "added user 2\n", "users", "add", "erika")
	a.says(1, `user "erika" already`, "users", "add", "erika")
	typing(t, "\n")
	a.says(2, "needs a password", "users", "add", "adam")
	typing(t, "x\n")
	a.says(2, "colon", "users", "add", "ad:am")
	a.says(1, `no user "adam"`, "users", "password", "adam")
	a.says(1, `no user "adam"`, "users", "remove", "adam")
	typing(t, "p-neu\n")
	a.says(0, "changed the password of erika\n", "users", "password", "erika")
	if got := a.lines("users", "list"); len(got) != 2 || got[1][0] != "2" || got[1][3] != "erika" {
		t.Error(got)
	}
	if got := decoded[[]listedUser](a, "users", "list"); len(got) != 1 || got[0].Name != "erika" || got[0].Created.IsZero() {
		t.Errorf("%+v", got)
	}
	a.says(0, "removed user erika\n", "users", "remove", "erika")
	a.wantNone("there is no user", "users", "list")
}

// Keys work while the archive is served, and end without a word to the service.
func TestAdminKeysBesideAService(t *testing.T) {
	isolate(t)
	dir, _ := keptArchive(t)
	a := administrator{t, dir}
	a.says(0, "added mandator", "mandators", "add", "Muster GmbH")
	first := strings.TrimSpace(a.says(0, "added key 1;", "keys", "add", "Erika, notebook"))
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--data", dir)
	url := p.line("serving " + dir + " at ")
	status := func(path, key string) int {
		t.Helper()
		return statusOf(t, url+path, key)
	}
	made := decoded[struct {
		ID  int64
		Key string
	}](a, "keys", "add", "--scope", "write", "--mandator", "Muster GmbH", "--expires", "90d")
	for key, want := range map[string]int{first: 200, made.Key: 403, "x": 401} {
		if got := status("/inboxes", key); got != want {
			t.Errorf("a key is answered %d, want %d", got, want)
		}
	}
	a.says(0, "revoked 1 key\n", "keys", "revoke", "1")
	heals(t, "a revoked key is refused", func() bool { return status("/inboxes", first) == http.StatusUnauthorized })
	heals(t, "the use of a key is noted", func() bool {
		keys := decoded[[]listedKey](a, "keys", "list")
		return len(keys) == 2 && keys[0].Used != nil && !keys[0].Valid && keys[0].Revoked != nil && keys[1].Valid && keys[1].Mandators[0] == "Muster GmbH"
	})
	if got := a.lines("keys", "list"); len(got) != 3 || strings.Join(got[1][:4], " ") != "1 revoked read,write all" || strings.Join(got[2][:5], " ") != "2 valid write Muster GmbH" {
		t.Error(got)
	}
	if got := strings.Join(a.lines("keys", "list")[0], " "); got != "ID STATE SCOPES MANDATORS ADDED USED ENDS NAME" {
		t.Error(got)
	}
	a.says(1, "there is no key 9; the others are revoked", "keys", "revoke", "9", "2")
	if keys := decoded[[]listedKey](a, "keys", "list"); keys[1].Valid {
		t.Error("a key was not revoked, because one beside it is not there")
	}
	a.says(1, "there is no key 8, 9", "keys", "revoke", "8", "9")
	a.says(2, "no id of a key", "keys", "revoke", "x")
	a.says(2, "admin keys add was given an empty operand; it takes [NAME]; ", "keys", "add", "")
	a.says(2, "no scope", "keys", "add", "--scope", "all")
	a.says(1, `there is no mandator "Other AG"`, "keys", "add", "--mandator", "Other AG")
	a.says(2, "--expires", "keys", "add", "--expires", "yesterday")
	p.stop()
	if _, err := os.Stat(filepath.Join(dir, "api-key")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the service has made a key of its own: %v", err)
	}
}

// It can be seen to the second when a key ends, in which zone that is, and how close it is.
func TestAdminKeysEnd(t *testing.T) {
	isolate(t)
	dir, _ := keptArchive(t)
	a := administrator{t, dir}
	a.says(0, "", "keys", "add", "without end")
	a.says(0, "", "keys", "add", "--expires", "90d", "in a while")
	day := time.Now().AddDate(1, 0, 0)
	ends := time.Date(day.Year(), day.Month(), day.Day()+1, 0, 0, 0, 0, time.Local)
	a.says(0, "added key 3, which ends at "+ends.Format("2006-01-02 15:04:05 -07:00")+"; ", "keys", "add", "--expires", day.Format(time.DateOnly))
	added := decoded[struct{ Expires time.Time }](a, "keys", "add", "--expires", "2h30m")
	a.says(0, "revoked 1 key", "keys", "revoke", "1")
	keys := decoded[[]listedKey](a, "keys", "list")
	if len(keys) != 4 || keys[0].State != "revoked" || keys[1].State != "valid" || !keys[2].Expires.Equal(ends) || !keys[3].Expires.Equal(added.Expires) {
		t.Fatalf("%+v", keys)
	}
	lines := strings.Split(a.says(0, "", "keys", "list"), "\n")
	for i, want := range []string{"", inFull(*keys[0].Revoked) + ", ", inFull(*keys[1].Expires) + ", in ", inFull(ends) + ", in ", inFull(added.Expires) + ", in 2 h"} {
		if !strings.Contains(lines[i], want) {
			t.Errorf("%q is not in line %d: %s", want, i, lines[i])
		}
	}
}

func TestAdminAutoExport(t *testing.T) {
	isolate(t)
	dir := filepath.Join(t.TempDir(), "data")
	srv, err := server.Open(t.Context(), server.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	mandator, err := srv.AddMandator(t.Context(), "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := srv.AddFolder(t.Context(), mandator, "2018")
	if err != nil {
		t.Fatal(err)
	}
	for name, on := range map[string]bool{"a\tb.txt": true, "c.txt": false} {
		d := server.NewDocument{Folder: folder, Name: name, Created: time.Now(), Archived: time.Now(), AutoExport: on}
		if _, err := srv.AddDocument(t.Context(), d, strings.NewReader(name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := srv.Close(); err != nil {
		t.Fatal(err)
	}
	a := administrator{t, dir}
	if got := a.says(0, "", "auto-export", "list"); !strings.HasSuffix(got, `  Muster GmbH/2018  a\tb.txt`+"\n") {
		t.Error(got)
	}
	if got := decoded[[]listedExport](a, "auto-export", "list"); len(got) != 1 || got[0].Name != "a\tb.txt" || got[0].Folder != "Muster GmbH/2018" {
		t.Errorf("%+v", got)
	}
}

// An archive in PostgreSQL is managed as one in a directory is, and before it is served.
func TestAdminOfPostgreSQL(t *testing.T) {
	home := isolate(t)
	url := pgtest.Database(t)
	admin := func(args ...string) string {
		t.Helper()
		status, stdout, stderr := call(t, append(append([]string{"admin"}, args...), "--database", url)...)
		if status != 0 {
			t.Fatalf("%q: %d %s", args, status, stderr)
		}
		return strings.TrimSpace(stdout)
	}
	admin("tenants", "add", "muster")
	admin("mandators", "add", "--tenant", "muster", "Muster GmbH")
	key := admin("keys", "add", "--tenant", "muster")
	data := filepath.Join(home, "data")
	p := start(t, "serve", "--listen", "127.0.0.1:0", "--data", data, "--database", url)
	_, at, _ := strings.Cut(p.line("serving "), " at ")
	if got := askWith(t, at+"/archivestructure", key); !strings.Contains(got, `"folders":[{"id":1,"name":"Muster GmbH","folders":[]}]`) {
		t.Error(got)
	}
	p.stop()
}

// statusOf is how a GET with an API key is answered.
func statusOf(t *testing.T, url, key string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("API-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	_ = answer.Body.Close()
	return answer.StatusCode
}
