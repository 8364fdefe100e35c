package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/server/care"
)

// busyArchive is an archive that some processes serve.
type busyArchive struct {
	t             *testing.T
	place         care.Place
	dir           string // Data of place
	services      []*program
	urls          []string
	asked         atomic.Int64 // requests go to one service after the other
	folder, inbox int64
}

func startBusy(t *testing.T) *busyArchive {
	t.Helper()
	return startBusyAt(t, care.Place{Data: filepath.Join(t.TempDir(), "data")}, 1)
}

func startBusyAt(t *testing.T, place care.Place, instances int) *busyArchive {
	t.Helper()
	b := &busyArchive{t: t, place: place, dir: place.Data}
	srv, err := server.Open(t.Context(), server.Options{Database: place.Database, Blobs: place.Blobs, Data: place.Data})
	if err != nil {
		t.Fatal(err)
	}
	folder, err1 := srv.AddMandator(t.Context(), "Muster GmbH")
	inbox, err2 := srv.AddInbox(t.Context(), 1, "Inbox")
	if err := errors.Join(err1, err2, srv.Close()); err != nil {
		t.Fatal(err)
	}
	b.folder, b.inbox = int64(folder), int64(inbox)
	b.serve(instances)
	return b
}

// serve starts services.
func (b *busyArchive) serve(instances int) {
	b.t.Helper()
	b.services, b.urls = nil, nil
	for range instances {
		service := start(b.t, append([]string{"serve", "--listen", "127.0.0.1:0", "--api-key", "k", "--log-level", "error"}, flagsOf(b.place)...)...)
		_, url, _ := strings.Cut(service.line("serving "), " at ")
		b.services, b.urls = append(b.services, service), append(b.urls, url)
	}
}

// inPlace has all contents read from their files: the journal of another run has none of them.
func (b *busyArchive) inPlace() {
	b.t.Helper()
	b.stop()
	b.serve(1)
}

// flagsOf name an archive.
func flagsOf(place care.Place) []string {
	flags := []string{"--data", place.Data}
	if place.Database != "" {
		flags = append(flags, "--database", place.Database)
	}
	if place.Blobs != "" {
		flags = append(flags, "--blobs", place.Blobs)
	}
	return flags
}

// stop ends all services.
func (b *busyArchive) stop() {
	b.t.Helper()
	for _, service := range b.services {
		service.stop()
	}
}

// post sends a request that must be taken, and returns the answer.
func (b *busyArchive) post(path, contentType string, body io.Reader) (string, error) {
	request, err := http.NewRequestWithContext(b.t.Context(), http.MethodPost, b.urls[int(b.asked.Add(1))%len(b.urls)]+path, body)
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

func (b *busyArchive) rename(id int64, name string) error {
	_, err := b.post(fmt.Sprintf("/document/%d/rename", id), "application/x-www-form-urlencoded", strings.NewReader(url.Values{"new-name": {name}}.Encode()))
	return err
}

func (b *busyArchive) remove(id int64) error {
	_, err := b.post(fmt.Sprintf("/document/%d/delete", id), "application/x-www-form-urlencoded", nil)
	return err
}

// kept is the content of a document that keep adds. It is so long that it is received into a file, and
// no text to index.
func kept(name string) string { return name + strings.Repeat("\x00", 300_000) }

// keep uploads documents that nobody touches any more, and returns their names.
func (b *busyArchive) keep(n int) (names []string) {
	b.t.Helper()
	for i := range n {
		name := fmt.Sprintf("kept %d.txt", i)
		if _, err := b.upload(name, kept(name)); err != nil {
			b.t.Fatal(err)
		}
		names = append(names, name)
	}
	return names
}

// allRead is the line of the texts when each was read, also where there was none.
var allRead = regexp.MustCompile(`(?m)^texts +[0-9]+ yes(, [0-9]+ none)?$`)

// rests waits until the services have read all documents for searches, which they do when nothing
// is asked for a second: then nobody but a backup reads contents.
func (b *busyArchive) rests() {
	b.t.Helper()
	heals(b.t, "all documents are read", func() bool {
		status, stdout, stderr := call(b.t, append([]string{"admin", "stats"}, flagsOf(b.place)...)...)
		if status != 0 {
			b.t.Fatal(stderr)
		}
		return allRead.MatchString(stdout) // and none failed
	})
}

// traffic uploads, renames, archives and deletes from several goroutines until stop.
func (b *busyArchive) traffic() (stop func()) {
	var ended atomic.Bool
	var wg sync.WaitGroup
	for worker := range 4 {
		wg.Go(func() {
			for n := 0; !ended.Load(); n++ {
				id, err := b.upload(fmt.Sprintf("passing %d %d.txt", worker, n), fmt.Sprintf("%d of %d, or %d", n, worker, n%5))
				if err == nil {
					err = b.rename(id, fmt.Sprintf("renamed %d %d.txt", worker, n))
				}
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
func (b *busyArchive) admin(command string, args ...string) error {
	b.t.Helper()
	p := start(b.t, append([]string{"admin", command}, args...)...)
	if err := p.wait(); err != nil {
		return fmt.Errorf("%w: %s", err, p.said())
	}
	return nil
}

// wantRestored restores a backup, and fails unless verify accepts it and it has the documents.
func (b *busyArchive) wantRestored(backup string, names []string) {
	b.t.Helper()
	b.wantRestoredTo(care.Place{Data: filepath.Join(b.t.TempDir(), "restored")}, backup, names)
}

func (b *busyArchive) wantRestoredTo(place care.Place, backup string, names []string) {
	b.t.Helper()
	if err := b.admin("restore", append(flagsOf(place), backup)...); err != nil {
		b.t.Fatal(err)
	}
	b.wantWhole(place, names)
}

func (b *busyArchive) wantWhole(place care.Place, names []string) {
	b.t.Helper()
	a, err := care.View(b.t.Context(), place)
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
		there, err := a.Store.Verification.Holders(b.t.Context(), digestOf(kept(name)), 2)
		if err != nil || len(there) != 1 || there[0].Path != "Inbox/"+name {
			b.t.Errorf("%s is %+v, %v", name, there, err)
		}
	}
}
