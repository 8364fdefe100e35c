package uploadspage

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/net/html"

	"github.com/archivefs/archivefs/fs"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// limit is for what never comes.
const limit = time.Minute

// fake is a mount.
type fake struct {
	dir string // of the contents, by id

	mu     sync.Mutex
	status fs.Status // +checklocks:mu
	err    error     // +checklocks:mu
	done   []string  // +checklocks:mu
}

func (f *fake) Status() (*fs.Status, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err != nil {
		return nil, f.err
	}
	now := f.status
	return &now, nil
}

func (f *fake) did(words ...string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = append(f.done, strings.Join(words, " "))
	return f.err
}

func (f *fake) Retry(u *fs.UploadInfo) error { return f.did("retry", u.ID) }
func (f *fake) Discard(id string) error      { return f.did("discard", id) }

func (f *fake) Open(id string) (io.ReadSeekCloser, string, time.Time, error) {
	file, err := os.Open(filepath.Join(f.dir, id))
	return file, id + " Rechnung \"7\"\r\n.pdf", time.Unix(1e9, 0), err
}

// fail lets the mount fail from now on; nil: no more.
func (f *fake) fail(err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.err = err
}

// set changes what the mount says.
func (f *fake) set(now fs.Status) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.status = now
}

// decided are the decisions so far.
func (f *fake) decided() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.done)
}

// hostileName is a file name that is markup, and \u202e in it is printable already.
const hostileName = `"><script>alert(1)</script><img src=x onerror=alert(2)>' onclick='x`

// sampleMount is a mount with one upload of each kind.
func sampleMount(t *testing.T) *fake {
	t.Helper()
	f := &fake{dir: t.TempDir(), status: fs.Status{
		Service: "http://archive.example/api/v2", Health: fs.HealthFailing,
		Uploads: fs.UploadStatus{
			List: []fs.UploadInfo{
				{ID: "refused", State: "failed", Path: "A/refused.pdf", Size: 5, Error: "not <b>today</b>"},
				{ID: "half", State: "failed", Path: "A/half.pdf", Size: 5, Incomplete: true, Error: "the end is missing"},
				{ID: "empty", State: "failed", Path: "A/empty.pdf", Never: "it is empty"},
				{ID: "folder", State: "failed", Path: "A/folder", Directory: true, Error: "not permitted"},
				{ID: "hostile", State: "failed", Path: hostileName, Size: 5, Error: hostileName},
				{ID: "sent", State: "pending", Path: "A/sent.pdf", Size: 200, Sent: 84},
				{ID: "queued", State: "pending", Path: "A/queued.pdf", Size: 5},
				{ID: "waits", State: "pending", Path: "A/waits.pdf", Size: 5, Waits: true, Error: "unreachable"},
				{ID: "doubt", State: "pending", Path: "A/doubt.pdf", Size: 5, Waits: true, InDoubt: true, Error: "no answer"},
			},
			Locals: []fs.UploadInfo{{ID: "local", State: fs.StateLocal, Path: "A/a.part", Size: 5}},
		},
	}}
	if err := os.WriteFile(filepath.Join(f.dir, "refused"), []byte("Inhalt"), 0o600); err != nil {
		t.Fatal(err)
	}
	return f
}

// browser is a browser at a page.
type browser struct {
	t       *testing.T
	page    *Page
	client  *http.Client
	base    string // the clean address
	address string // with the token
	ended   chan error
	end     context.CancelFunc
}

// serve serves a page of the mount until the test ends. Nobody has opened it yet.
func serve(t *testing.T, mount Mount, times Times, prepare ...func(*gate)) *browser {
	t.Helper()
	p := New(mount, "/home/erika/<b>Archive", times)
	ln, address, err := p.Listen(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		f(p.gate)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b := &browser{t: t, page: p, client: newClient(t), base: "http://" + ln.Addr().String(), address: address, ended: make(chan error, 1), end: cancel}
	go func() { b.ended <- p.Serve(ctx, ln) }()
	t.Cleanup(func() {
		b.client.CloseIdleConnections()
		cancel()
		if err := <-b.ended; err != nil {
			t.Errorf("served: %v", err)
		}
	})
	return b
}

func newClient(t *testing.T) *http.Client {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Jar: jar, Transport: transport, Timeout: limit}
}

// opened is a page that the browser has opened.
func opened(t *testing.T, mount Mount) *browser {
	t.Helper()
	b := serve(t, mount, Usual)
	if status, _ := b.get(b.address); status != http.StatusOK {
		t.Fatalf("the page does not open: %d", status)
	}
	return b
}

// get requests an address, and follows redirects.
func (b *browser) get(address string, header ...string) (status int, body string) {
	b.t.Helper()
	r, err := b.request(http.MethodGet, address, "", header...)
	if err != nil {
		b.t.Fatal(err)
	}
	return read(b.t, r)
}

// post sends a form, as a browser does from the page, and follows redirects.
func (b *browser) post(path, form string) (status int, body string) {
	b.t.Helper()
	r, err := b.request(http.MethodPost, b.base+path, form, "Origin", b.base, "Content-Type", "application/x-www-form-urlencoded")
	if err != nil {
		b.t.Fatal(err)
	}
	return read(b.t, r)
}

func (b *browser) request(method, address, body string, header ...string) (*http.Response, error) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	return b.client.Do(r)
}

func read(t *testing.T, r *http.Response) (int, string) {
	t.Helper()
	body, err := io.ReadAll(r.Body)
	if err := errors.Join(err, r.Body.Close()); err != nil {
		t.Fatal(err)
	}
	return r.StatusCode, string(body)
}

func wantIn(t *testing.T, body string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(body, w) {
			t.Errorf("no %q in\n%s", w, body)
		}
	}
}

// The token works once, and becomes a cookie that scripts and other sites do not get.
func TestToken(t *testing.T) {
	b := serve(t, sampleMount(t), Usual)
	for _, address := range []string{b.base + "/", b.base + "/state", b.base + "/page.js", b.base + "/?token=", b.base + "/?token=x", b.base + "/save/refused?token=x"} {
		if status, body := b.get(address); status != http.StatusForbidden || strings.Contains(body, "refused.pdf") {
			t.Errorf("%s before the token: %d %s", address, status, body)
		}
	}
	if r, err := b.request(http.MethodHead, b.address, ""); err != nil || r.StatusCode != http.StatusForbidden {
		t.Errorf("HEAD: %v, %v", r, err)
	} else {
		read(t, r)
	}
	if b.page.IsOpened() {
		t.Error("the page counts as opened")
	}
	once := *b.client
	once.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	r, err := once.Get(b.address) //nolint:noctx // it has a time-out
	if err != nil {
		t.Fatal(err)
	}
	read(t, r)
	cookies := r.Cookies()
	if r.StatusCode != http.StatusSeeOther || r.Header.Get("Location") != "/" || len(cookies) != 1 {
		t.Fatalf("%d %v", r.StatusCode, r.Header)
	}
	if c := cookies[0]; !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/" || c.Domain != "" || strings.Contains(b.address, c.Value) {
		t.Errorf("the cookie is %+v", c)
	}
	if !b.page.IsOpened() {
		t.Error("the page counts as not opened")
	}
	if status, body := b.get(b.base + "/"); status != http.StatusOK || strings.Contains(body, strings.SplitN(b.address, "=", 2)[1]) {
		t.Errorf("the clean address: %d %s", status, body)
	}
	if status, _ := b.get(b.address); status != http.StatusOK { // who is in may use an old link
		t.Errorf("the address again: %d", status)
	}
	b.client = newClient(t)
	if status, body := b.get(b.address); status != http.StatusForbidden || !strings.Contains(body, english.Spent) {
		t.Errorf("another browser: %d %s", status, body)
	}
	if status, _ := b.get(b.base+"/", "Cookie", cookieName+"=x"); status != http.StatusForbidden {
		t.Errorf("a wrong cookie: %d", status)
	}
}

// Nothing but what the page itself brings is run or shown, and nobody keeps a copy.
func TestHeaders(t *testing.T) {
	b := opened(t, sampleMount(t))
	policy := "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
	for _, path := range []string{"/", "/state", "/page.js", "/page.css", "/favicon.ico", "/discard/refused", "/nothing"} {
		r, err := b.request(http.MethodGet, b.base+path, "")
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := read(t, r); status >= http.StatusBadRequest && path != "/nothing" {
			t.Errorf("%s: %d", path, status)
		}
		for name, want := range map[string]string{
			"Content-Security-Policy": policy, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Cross-Origin-Resource-Policy": "same-origin",
		} {
			if got := r.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", path, name, got, want)
			}
		}
	}
}

// A page is reached by its own address alone, by the person alone, and nobody else's page decides.
func TestStrangers(t *testing.T) {
	mount := sampleMount(t)
	b := opened(t, mount)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(b.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"evil.example", "evil.example:" + port, "localhost:" + port, "127.0.0.1"} {
		if status, body := b.get(b.base+"/", "Host", host); status != http.StatusForbidden || strings.Contains(body, "refused.pdf") {
			t.Errorf("the host %s: %d %s", host, status, body)
		}
	}
	for _, header := range [][]string{
		{"Origin", "http://evil.example"},
		{"Origin", "null"},
		{"Origin", "http://127.0.0.1:1"},
		{"Sec-Fetch-Site", "cross-site"},
		{"Sec-Fetch-Site", "same-site", "Origin", b.base}, // another port of this machine
	} {
		r, err := b.request(http.MethodPost, b.base+"/retry/refused", "", header...)
		if err != nil {
			t.Fatal(err)
		}
		if status, _ := read(t, r); status != http.StatusForbidden {
			t.Errorf("a form with %q: %d", header, status)
		}
	}
	b.client = newClient(t)
	if status, _ := b.post("/retry/refused", ""); status != http.StatusForbidden {
		t.Errorf("a form without the cookie: %d", status)
	}
	if done := mount.decided(); len(done) > 0 {
		t.Errorf("strangers decided: %q", done)
	}
}

func TestOtherUser(t *testing.T) {
	var uid atomic.Int64
	b := serve(t, sampleMount(t), Usual, func(g *gate) { g.owner = func(_, _ net.Addr) (int, bool) { return int(uid.Load()), true } })
	uid.Store(int64(os.Getuid()) + 1)
	if status, body := b.get(b.address); status != http.StatusForbidden || !strings.Contains(body, english.NotYours) {
		t.Errorf("another user: %d %s", status, body)
	}
	b.client.CloseIdleConnections()
	uid.Store(int64(os.Getuid()))
	if status, _ := b.get(b.address); status != http.StatusOK { // the token was not spent
		t.Errorf("the person: %d", status)
	}
}

// Names and reasons are text, whatever they contain.
func TestHostileNames(t *testing.T) {
	b := opened(t, sampleMount(t))
	for _, path := range []string{"/", "/state", "/discard/hostile"} {
		_, body := b.get(b.base + path)
		wantIn(t, body, html.EscapeString("<script>alert(1)</script><img src=x onerror=alert(2)>"))
		doc, err := html.Parse(strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		for n := range doc.Descendants() {
			if n.Type != html.ElementNode {
				continue
			}
			if n.Data == "img" || n.Data == "b" && n.FirstChild != nil && n.FirstChild.Data == "today" {
				t.Errorf("%s: an element of a name: %s", path, n.Data)
			}
			for _, a := range n.Attr {
				if strings.HasPrefix(a.Key, "on") || a.Key == "style" || n.Data == "script" && a.Key == "src" && a.Val != "/page.js" {
					t.Errorf("%s: %s has %s=%s", path, n.Data, a.Key, a.Val)
				}
			}
			if n.Data == "script" && n.FirstChild != nil {
				t.Errorf("%s: a script in the page: %s", path, n.FirstChild.Data)
			}
		}
	}
}

// buttons are the labels of the buttons for an upload.
func buttons(t *testing.T, body, id string) (labels []string) {
	t.Helper()
	doc, err := html.Parse(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for n := range doc.Descendants() {
		if n.Data == "button" && slices.ContainsFunc(n.Attr, func(a html.Attribute) bool { return a.Key == "aria-describedby" && a.Val == "name-"+id }) {
			labels = append(labels, n.FirstChild.Data)
		}
	}
	return labels
}

func TestWhatIsOffered(t *testing.T) {
	b := opened(t, sampleMount(t))
	_, body := b.get(b.base + "/")
	for id, want := range map[string]string{
		"refused": "Try again, Save a copy, Discard …", "half": "Send as it is, Save a copy, Discard …", "empty": "Save a copy, Discard …",
		"folder": "Try again, Discard …", "sent": "Save a copy", "queued": "Save a copy", "waits": "Try now, Save a copy, Discard …",
		"doubt": "Try now, Save a copy", "local": "Save a copy, Discard …",
	} {
		if got := strings.Join(buttons(t, body, id), ", "); got != want {
			t.Errorf("%s: %s, want %s", id, got, want)
		}
	}
	wantIn(t, body, `<progress max="100" value="42"`, "not &lt;b&gt;today&lt;/b&gt;", "5 files were not archived", "4 files are on their way", "/home/erika/&lt;b&gt;Archive")
	for _, landmark := range []string{"<header>", "<main>", "<footer>", `role="status"`, `aria-labelledby="failed-title"`, `<h2 id="failed-title"`} {
		wantIn(t, body, landmark)
	}
}

func TestDecisions(t *testing.T) {
	mount := sampleMount(t)
	b := opened(t, mount)
	_, body := b.post("/retry/refused", "")
	wantIn(t, body, "<b><bdi>refused.pdf</bdi></b>: "+english.Retried)
	_, body = b.post("/retry/half", "")
	wantIn(t, body, english.NotDone) // the button says that it is incomplete
	_, body = b.post("/retry/half", "incomplete=yes")
	wantIn(t, body, english.Retried)
	_, body = b.get(b.base + "/")
	if strings.Contains(body, english.Retried) {
		t.Error("a result is told twice")
	}

	// A person is asked twice before bytes are lost.
	_, body = b.get(b.base + "/discard/refused")
	wantIn(t, body, english.AskText, `type="checkbox" name="sure" value="yes" required`, `id="back" href="/#discard-refused"`)
	_, body = b.post("/discard/refused", "")
	wantIn(t, body, english.AskText)
	if done := mount.decided(); !slices.Equal(done, []string{"retry refused", "retry half"}) {
		t.Errorf("decided %q", done)
	}
	_, body = b.post("/discard/refused", "sure=yes")
	wantIn(t, body, english.Discarded)
	if done := mount.decided(); done[len(done)-1] != "discard refused" {
		t.Errorf("decided %q", done)
	}
	for _, path := range []string{"/retry/nobody", "/discard/nobody"} {
		_, body = b.post(path, "sure=yes")
		wantIn(t, body, english.Gone)
	}
	if status, _ := b.get(b.base + "/retry/refused"); status != http.StatusMethodNotAllowed {
		t.Errorf("a link decides: %d", status)
	}
}

// A decision is about the uploads that there are, not about those that were last seen.
func TestDecisionAfterAChange(t *testing.T) {
	mount := sampleMount(t)
	b := opened(t, mount)
	for _, decide := range []func(id string) string{
		func(id string) string { _, body := b.post("/retry/"+id, ""); return body },
		func(id string) string { _, body := b.post("/discard/"+id, "sure=yes"); return body },
		func(id string) string { _, body := b.get(b.base + "/discard/" + id); return body },
		func(id string) string { _, body := b.get(b.base + "/save/" + id); return body },
	} {
		id := rand.Text()
		if err := os.WriteFile(filepath.Join(mount.dir, id), []byte("Inhalt"), 0o600); err != nil {
			t.Fatal(err)
		}
		mount.set(fs.Status{Uploads: fs.UploadStatus{List: []fs.UploadInfo{{ID: id, State: "failed", Path: "A/new.pdf", Size: 6}}}})
		if body := decide(id); strings.Contains(body, english.Gone) {
			t.Errorf("a new upload is not found:\n%s", body)
		}
	}
}

func TestDecisionThatFails(t *testing.T) {
	mount := sampleMount(t)
	b := opened(t, failing{mount})
	_, body := b.post("/retry/refused", "")
	wantIn(t, body, english.NotDone, "the disk is full &amp; &lt;broken&gt;")
	_, body = b.post("/discard/refused", "sure=yes")
	wantIn(t, body, "it is being sent")
}

// failing is a mount that carries out nothing.
type failing struct{ *fake }

func (failing) Retry(*fs.UploadInfo) error { return errors.New("the disk is full & <broken>") }
func (failing) Discard(string) error       { return errors.New("it is being sent") }

func TestSave(t *testing.T) {
	b := opened(t, sampleMount(t))
	r, err := b.request(http.MethodGet, b.base+"/save/refused", "")
	if err != nil {
		t.Fatal(err)
	}
	status, body := read(t, r)
	if status != http.StatusOK || body != "Inhalt" {
		t.Errorf("%d %q", status, body)
	}
	if r.Header.Get("Content-Type") != "application/octet-stream" || !strings.HasPrefix(r.Header.Get("Content-Security-Policy"), "sandbox") {
		t.Errorf("a browser may show it: %v", r.Header)
	}
	if got, want := r.Header.Get("Content-Disposition"), `attachment; filename*=utf-8''Rechnung%20%227%22%0D%0A.pdf`; got != want {
		t.Errorf("saved as %s, want %s", got, want)
	}
	_, body = b.get(b.base + "/save/half") // it has no file
	wantIn(t, body, english.NotDone, "no such file")
}

// What the mount says of itself is told in words.
func TestHealth(t *testing.T) {
	for name, c := range map[string]struct {
		status fs.Status
		err    error
		want   []string
	}{
		"ok":          {status: fs.Status{Health: fs.HealthOK}, want: []string{english.OK, english.NothingFailed, english.NothingWaits}},
		"away":        {status: fs.Status{Health: fs.HealthAway, LastErrors: []fs.Failure{{Text: "connection refused"}}}, want: []string{english.Away, "connection refused"}},
		"credentials": {status: fs.Status{Health: fs.HealthAway, Cure: "ask <Erika>"}, want: []string{english.Refused, "ask &lt;Erika&gt;"}},
		"disk":        {status: fs.Status{Health: fs.HealthDisk, Disk: "read-only"}, want: []string{english.Disk, "read-only"}},
		"no mount":    {err: errors.New("there is no archive mounted at <b>"), want: []string{english.NoStatus, "there is no archive mounted at &lt;b&gt;"}},
		"silent":      {err: ErrSilent, want: []string{english.Silent}},
	} {
		t.Run(name, func(t *testing.T) {
			b := opened(t, &fake{status: c.status, err: c.err})
			_, body := b.get(b.base + "/")
			wantIn(t, body, c.want...)
		})
	}
}

// While the mount does not answer, what was known is shown, with its time, and nothing is decided.
func TestSilentMount(t *testing.T) {
	mount := sampleMount(t)
	b := opened(t, mount)
	mount.fail(ErrSilent)
	b.page.watch.outdate()
	_, body := b.get(b.base + "/")
	wantIn(t, body, english.Silent, english.AsOf, "refused.pdf")
	_, body = b.post("/retry/refused", "")
	wantIn(t, body, english.MayStill)
	if done := mount.decided(); len(done) > 0 {
		t.Errorf("decided %q", done)
	}
	mount.fail(nil)
	b.page.watch.outdate()
	_, body = b.post("/retry/refused", "")
	wantIn(t, body, english.Retried)
}

func TestEnds(t *testing.T) {
	ends := func(t *testing.T, b *browser) {
		t.Helper()
		select {
		case err := <-b.ended:
			b.ended <- err
		case <-time.After(limit):
			t.Fatal("the page does not end")
		}
	}
	t.Run("never opened", func(t *testing.T) {
		ends(t, serve(t, sampleMount(t), Times{First: time.Millisecond}))
	})
	t.Run("closed", func(t *testing.T) {
		b := serve(t, sampleMount(t), Times{First: time.Hour, Closed: time.Millisecond, Plain: time.Hour})
		b.get(b.address)
		b.get(b.base + "/state")
		ends(t, b)
	})
	t.Run("closed without a script", func(t *testing.T) {
		b := serve(t, sampleMount(t), Times{First: time.Hour, Closed: time.Hour, Plain: 10 * time.Millisecond})
		if r, err := b.request(http.MethodGet, b.address, ""); err == nil { // it may end before the second request
			read(t, r)
		}
		ends(t, b)
	})
	t.Run("Ctrl-C", func(t *testing.T) {
		b := opened(t, sampleMount(t))
		b.end()
		ends(t, b)
	})
}

func TestAddress(t *testing.T) {
	b := serve(t, sampleMount(t), Usual)
	u, err := url.Parse(b.address)
	if err != nil || u.Hostname() != "127.0.0.1" || len(u.Query().Get("token")) < 26 {
		t.Errorf("%s, %v", b.address, err)
	}
}
