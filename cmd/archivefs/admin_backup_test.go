package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/care"
)

// busyArchive is an archive that a process serves.
type busyArchive struct {
	t             *testing.T
	dir, url      string
	service       *program
	folder, inbox int64
}

func startBusy(t *testing.T) *busyArchive {
	t.Helper()
	b := &busyArchive{t: t, dir: filepath.Join(t.TempDir(), "data")}
	srv, err := server.Open(t.Context(), server.Options{Data: b.dir})
	if err != nil {
		t.Fatal(err)
	}
	folder, err1 := srv.AddMandator(t.Context(), "Muster GmbH")
	inbox, err2 := srv.AddInbox(t.Context(), 1, "Inbox")
	if err := errors.Join(err1, err2, srv.Close()); err != nil {
		t.Fatal(err)
	}
	b.folder, b.inbox = int64(folder), int64(inbox)
	b.service = start(t, "serve", "--data", b.dir, "--listen", "127.0.0.1:0", "--api-key", "k", "--log-level", "error")
	_, b.url, _ = strings.Cut(b.service.line("serving "), " at ")
	return b
}

// post sends a request that must be taken, and returns the answer.
func (b *busyArchive) post(path, contentType string, body io.Reader) (string, error) {
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.url+path, body)
	if err != nil {
		return "", err
	}
	request.Header.Set("API-Key", "k")
	request.Header.Set("Content-Type", contentType)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s %s", path, answer.Status, text)
	}
	return string(text), err
}

// upload puts a document into the inbox.
func (b *busyArchive) upload(name, content string) (id int64, err error) {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("upload-data", name)
	if err == nil {
		_, err = io.WriteString(part, content)
	}
	if err := errors.Join(err, form.WriteField("target-folder-id", strconv.FormatInt(b.inbox, 10)), form.Close()); err != nil {
		return 0, err
	}
	text, err := b.post("/file-upload", form.FormDataContentType(), &body)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(text), 10, 64)
}

func (b *busyArchive) archive(id int64) error {
	_, err := b.post(fmt.Sprintf("/document/%d/archive", id), "application/x-www-form-urlencoded",
		strings.NewReader(url.Values{"target-folder-id": {strconv.FormatInt(b.folder, 10)}}.Encode()))
	return err
}

func (b *busyArchive) remove(id int64) error {
	_, err := b.post(fmt.Sprintf("/document/%d/delete", id), "application/x-www-form-urlencoded", nil)
	return err
}

// keep uploads documents that nobody touches any more, and returns their names.
func (b *busyArchive) keep(n int) (names []string) {
	b.t.Helper()
	for i := range n {
		name := fmt.Sprintf("kept %d.txt", i)
		if _, err := b.upload(name, strings.Repeat(name, 100)); err != nil {
			b.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// traffic uploads, archives and deletes from several goroutines until stop.
func (b *busyArchive) traffic() (stop func()) {
	var ended atomic.Bool
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for n := 0; !ended.Load(); n++ {
				id, err := b.upload(fmt.Sprintf("passing %d %d.txt", worker, n), fmt.Sprintf("%d of %d, or %d", n, worker, n%5))
				switch {
				case err != nil:
				case n%2 == 0:
					err = b.archive(id)
				default:
					err = b.remove(id)
				}
				if err != nil {
					b.t.Error(err)
					return
				}
			}
		})
	}
	return func() {
		ended.Store(true)
		wg.Wait()
	}
}

// admin runs a command in a process of its own and returns its end.
func (b *busyArchive) admin(args ...string) error {
	b.t.Helper()
	p := start(b.t, append([]string{"admin"}, args...)...)
	if err := p.wait(); err != nil {
		return fmt.Errorf("%w: %s", err, p.said())
	}
	return nil
}

// wantRestored restores a backup, and fails unless verify accepts it and it has the documents.
func (b *busyArchive) wantRestored(backup string, names []string) {
	b.t.Helper()
	data := filepath.Join(b.t.TempDir(), "restored")
	if err := b.admin("restore", "--data", data, backup); err != nil {
		b.t.Fatal(err)
	}
	b.wantWhole(data, names)
}

func (b *busyArchive) wantWhole(data string, names []string) {
	b.t.Helper()
	a, err := care.ViewData(b.t.Context(), data)
	if err != nil {
		b.t.Fatal(err)
	}
	defer func() { _ = a.Close() }()
	result, err := a.Verify(b.t.Context(), care.Verification{Found: func(f care.Finding) error {
		b.t.Error(f)
		return nil
	}})
	if err != nil || result.Documents < int64(len(names)) {
		b.t.Errorf("%+v, %v", result, err)
	}
	for _, name := range names {
		there, err := a.Store.Holders(b.t.Context(), digestOf(strings.Repeat(name, 100)), 2)
		if err != nil || len(there) != 1 || there[0].Path != "Inbox/"+name {
			b.t.Errorf("%s is %+v, %v", name, there, err)
		}
	}
}

// Whatever goes on meanwhile, a backup is the archive of one moment, with all that was
// answered before.
func TestBackupUnderLoad(t *testing.T) {
	b := startBusy(t)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	stop := b.traffic()
	for range 2 { // the second one copies what is new
		if err := b.admin("backup", "--data", b.dir, backup); err != nil {
			t.Error(err)
		}
		b.wantRestored(backup, names)
		if err := b.admin("verify", "--data", b.dir); err != nil {
			t.Error(err)
		}
	}
	stop()
	b.service.stop()
	b.wantWhole(b.dir, names)
}

// blocked replaces a content by a pipe, at which whoever copies waits until the bytes are fed.
type blocked struct {
	t       *testing.T
	path    string
	content []byte
}

func block(t *testing.T, path string) *blocked {
	t.Helper()
	content, err := os.ReadFile(path)
	if err := errors.Join(err, os.Remove(path), syscall.Mkfifo(path, 0o600)); err != nil {
		t.Fatal(err)
	}
	return &blocked{t, path, content}
}

// feed lets the copy go on.
func (b *blocked) feed() {
	b.t.Helper()
	pipe, err := os.OpenFile(b.path, os.O_WRONLY, 0)
	if err == nil {
		_, err = pipe.Write(b.content)
	}
	if err := errors.Join(err, pipe.Close()); err != nil {
		b.t.Fatal(err)
	}
}

// restore puts the content back.
func (b *blocked) restore() {
	b.t.Helper()
	if err := errors.Join(os.Remove(b.path), os.WriteFile(b.path, b.content, 0o600)); err != nil {
		b.t.Fatal(err)
	}
}

// sorted are the files of all contents below a directory, in the order of their names.
func sorted(t *testing.T, dir string) []string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "contents", "??", "*"))
	if err != nil || len(found) < 10 {
		t.Fatal(found, err)
	}
	slices.SortFunc(found, func(a, b string) int { return strings.Compare(filepath.Base(a), filepath.Base(b)) })
	return found
}

// copying waits until something was copied to a directory.
func copying(t *testing.T, dir string) {
	t.Helper()
	heals(t, "something is copied", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "contents", "incoming", "*"))
		return len(found) > 0
	})
}

// What is removed after the copy of the database was made is still copied.
func TestBackupOfWhatIsRemovedMeanwhile(t *testing.T) {
	b := startBusy(t)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	files := sorted(t, b.dir)
	wait := block(t, files[5])
	p := start(t, "admin", "backup", "--data", b.dir, backup)
	copying(t, backup)
	for id := range int64(20) {
		if err := b.remove(id + 1); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(files[19]); !errors.Is(err, os.ErrNotExist) {
		t.Fatalf("it was not removed: %v", err)
	}
	// The pipe was removed with its document, and is held as the others are.
	wait.path = filepath.Join(b.dir, "contents", "held", filepath.Base(wait.path))
	wait.feed()
	p.wantExit(0)
	b.wantRestored(backup, names)
	b.service.stop()
	if left, _ := filepath.Glob(filepath.Join(b.dir, "contents", "*", "*")); len(left) != 0 {
		t.Errorf("left are %v", left)
	}
}

func TestKilledBackup(t *testing.T) {
	b := startBusy(t)
	backup := filepath.Join(t.TempDir(), "backup")
	names := b.keep(20)
	wait := block(t, sorted(t, b.dir)[5])
	p := start(t, "admin", "backup", "--data", b.dir, backup)
	copying(t, backup)
	p.signal(syscall.SIGKILL)
	p.wantExit(-1)
	wait.restore()
	if err := b.admin("restore", "--data", filepath.Join(t.TempDir(), "restored"), backup); err == nil || !strings.Contains(err.Error(), "there is no whole backup") {
		t.Errorf("half a backup is restored: %v", err)
	}
	if err := b.admin("backup", "--data", b.dir, backup); err != nil {
		t.Fatal(err)
	}
	b.wantRestored(backup, names)
	b.service.stop()
}

func TestKilledRestore(t *testing.T) {
	b := startBusy(t)
	backup, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	names := b.keep(20)
	if err := b.admin("backup", "--data", b.dir, backup); err != nil {
		t.Fatal(err)
	}
	b.service.stop()
	wait := block(t, sorted(t, backup)[5])
	p := start(t, "admin", "restore", "--data", data, backup)
	copying(t, data)
	p.signal(syscall.SIGKILL)
	p.wantExit(-1)
	wait.restore()
	if _, err := server.Open(t.Context(), server.Options{Data: data}); err == nil || !strings.Contains(err.Error(), "was interrupted") {
		t.Errorf("a service takes what is not whole: %v", err)
	}
	if err := b.admin("restore", "--data", data, backup); err != nil {
		t.Fatal(err)
	}
	b.wantWhole(data, names)
}

func TestAdminBackupAndStats(t *testing.T) {
	isolate(t)
	dir, content := keptArchive(t)
	backup, data := filepath.Join(t.TempDir(), "backup"), filepath.Join(t.TempDir(), "restored")
	want := func(status int, text string, args ...string) {
		t.Helper()
		got, stdout, stderr := call(t, append([]string{"admin"}, args...)...)
		if got != status || !strings.Contains(stdout+stderr, text) {
			t.Errorf("%q: exit status %d, want %d and %q: %s%s", args, got, status, text, stdout, stderr)
		}
	}
	want(2, "needs one operand", "backup", "--data", dir)
	want(2, "needs one operand", "restore", "--data", dir, "a", "b")
	want(2, "the operand of admin backup is empty", "backup", "--data", dir, "")
	want(2, "takes no operands", "stats", "x")
	want(0, "1 document, 1 content, 6 B, as of ", "backup", "--data", dir, backup)
	want(0, "1 content, 6 B: all is well\n", "verify", "--backup", backup)
	want(2, "does not go with --backup", "verify", "--backup", backup, "--remove-orphans")
	want(1, "there is no whole backup", "verify", "--backup", dir)
	want(0, "; 0 contents copied\n", "backup", "--data", dir, backup)
	want(0, "; 1 content copied\n", "restore", "--data", data, backup)
	want(0, "all is well", "verify", "--data", data)
	want(0, "inbox documents  1\n", "stats", "--data", data)
	want(0, "0 indexed, 1 waiting, 0 failed\n", "stats", "--data", data)
	_, stdout, _ := call(t, "admin", "stats", "--json", "--data", data)
	var totals struct {
		Documents, Bytes int64
		Inbox            int64 `json:"inbox-documents"`
	}
	if err := json.Unmarshal([]byte(stdout), &totals); err != nil || totals.Documents != 1 || totals.Bytes != 6 || totals.Inbox != 1 {
		t.Errorf("%v in %s", err, stdout)
	}
	if err := os.WriteFile(content, []byte("a scam"), 0o600); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "backup")
	want(1, "content "+filepath.Base(content)+" is missing or damaged in the archive", "backup", "--data", dir, other)
	lost := filepath.Join(t.TempDir(), "restored")
	want(1, "content "+filepath.Base(content)+" is missing or damaged in the backup", "restore", "--data", lost, other)
	want(1, "--partial restores the rest", "restore", "--data", filepath.Join(t.TempDir(), "lost"), other)
	want(1, "0 contents, 0 B", "restore", "--data", lost, "--partial", other)
	want(1, "1 missing", "verify", "--data", lost)
}

func digestOf(content string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(content))) }
