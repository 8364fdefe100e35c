package fs_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/server"
)

// office is the embedded service with a small archive in it.
type office struct {
	*server.Server
	url  string
	cred apiclient.Credentials

	mandator archive.ID
	bills    archive.ID
	letters  archive.ID
	inbox    archive.ID

	mu       sync.Mutex
	idle     sync.Cond        // of mu: no request is in flight
	running  int              // +checklocks:mu
	requests []server.Request // +checklocks:mu
}

// newOffice serves an archive: mandator "Muster GmbH" with the folders "Rechnungen" and
// "Briefe", and the inbox "Administrator".
func newOffice(t testing.TB, tweak func(*server.Options)) *office {
	t.Helper()
	o := &office{cred: apiclient.Credentials{APIKey: "key-of-the-test"}}
	o.idle.L = &o.mu
	log := logrus.New()
	log.SetOutput(io.Discard)
	opts := server.Options{
		Data: t.TempDir(), Credentials: server.Credentials{APIKey: o.cred.APIKey}, Log: log, OnRequest: o.note, Location: time.UTC, LogSize: logSize,
	}
	if tweak != nil {
		tweak(&opts)
		o.cred = apiclient.Credentials(opts.Credentials)
	}
	o.Server = get(server.Open(t.Context(), opts))(t)
	web := httptest.NewServer(http.StripPrefix("/customer/x", o.counted(o.Handler())))
	t.Cleanup(func() {
		web.Close()
		must(t, o.Close())
	})
	o.url = web.URL + "/customer/x/api/v2"
	ctx := t.Context()
	o.mandator = get(o.AddMandator(ctx, "Muster GmbH"))(t)
	o.bills = get(o.AddFolder(ctx, o.mandator, "Rechnungen"))(t)
	o.letters = get(o.AddFolder(ctx, o.mandator, "Briefe"))(t)
	o.inbox = get(o.AddInbox(ctx, 1, "Administrator"))(t)
	return o
}

// counted counts the requests in flight.
func (o *office) counted(next http.Handler) http.Handler {
	count := func(n int) {
		o.mu.Lock()
		defer o.mu.Unlock()
		if o.running += n; o.running == 0 {
			o.idle.Broadcast()
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		count(1)
		defer count(-1)
		next.ServeHTTP(w, r)
	})
}

func (o *office) note(r server.Request) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.requests = append(o.requests, r)
}

// waitLocked waits until no request is in flight: the service records a request after its answer,
// which the caller may have earlier.
// +checklocks:o.mu
func (o *office) waitLocked() {
	for o.running > 0 {
		o.idle.Wait()
	}
}

// asked returns the requests with the method and a path that ends in suffix, "" for all.
func (o *office) asked(method, suffix string) []server.Request {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waitLocked()
	var found []server.Request
	for _, r := range o.requests {
		if (method == "" || r.Method == method) && strings.HasSuffix(r.Path, suffix) {
			found = append(found, r)
		}
	}
	return found
}

// forget empties the record of requests.
func (o *office) forget() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waitLocked()
	o.requests = nil
}

// put adds a document.
func (o *office) put(t testing.TB, folder archive.ID, name, content string) archive.ID {
	t.Helper()
	d := server.NewDocument{Folder: folder, Name: name, Created: time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)}
	if folder != o.inbox {
		d.Archived = d.Created.Add(time.Hour)
	}
	return get(o.AddDocument(t.Context(), d, strings.NewReader(content)))(t)
}

// documents asks the service itself for the contents of a folder.
func (o *office) documents(t testing.TB, folder archive.ID) []archive.Document {
	t.Helper()
	c := o.client(t)
	defer c.Close()
	return get(c.Documents(t.Context(), folder, archive.ListOptions{WithAutoExport: true}))(t)
}

func (o *office) client(t testing.TB) *apiclient.Client {
	t.Helper()
	return get(apiclient.New(apiclient.Config{BaseURL: o.url, Credentials: o.cred, Location: time.UTC}))(t)
}

// mount mounts the office.
func (o *office) mount(t testing.TB, tweak func(*fs.Options)) *mounted {
	t.Helper()
	return mount(t, o.url, o.cred, tweak)
}
