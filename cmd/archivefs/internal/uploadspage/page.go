// Package uploadspage is the page of archivefs uploads show: what a mount has not archived, in a
// browser on the same machine, for one person.
//
// The page is served on loopback by the command, not by the mount, and asks the mount as other
// commands do. A mount that hangs does not hang the page, which says so. The address has a token that
// works once and becomes a cookie (gate). Everything works without JavaScript; a small script
// renews the page and keeps the command running until the page is closed.
package uploadspage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"embed"
	"errors"
	"html/template"
	"io"
	"mime"
	"net"
	"net/http"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
)

const (
	// patience is how long a page waits for the mount.
	patience = 4 * time.Second
	// actPatience is how long a decision waits for the mount.
	actPatience = 20 * time.Second
	// maxActing bounds the decisions that wait for a mount that does not answer.
	maxActing = 4
	// endPatience is how long the end waits for requests in flight.
	endPatience = 2 * time.Second
)

// ErrSilent says that the mount does not answer.
var ErrSilent = errors.New("the mount does not answer")

// errGone says that an upload is not in the list any more.
var errGone = errors.New("the upload is not there any more")

// Mount is a running mount as the page needs it. Its methods may hang.
type Mount interface {
	// Status may return ErrSilent.
	Status() (*fs.Status, error)
	// Retry sends an upload again, even an incomplete one.
	Retry(u *fs.UploadInfo) error
	// Open opens the bytes of an upload. name is its ID and file name.
	Open(id string) (bytes io.ReadSeekCloser, name string, modified time.Time, err error)
	// Discard forgets an upload and its bytes.
	Discard(id string) error
}

// Times say when the page ends by itself: after that long without a request.
type Times struct {
	// First is for the first page.
	First time.Duration
	// Closed is for a page whose script has said that it is open.
	Closed time.Duration
	// Plain is for a page without a script.
	Plain time.Duration
}

// Usual are the Times of the command. Browsers let a page in the background speak once a minute.
var Usual = Times{First: 10 * time.Minute, Closed: 5 * time.Minute, Plain: 30 * time.Minute}

// Page is safe for concurrent use.
type Page struct {
	mount  Mount
	dir    string // the mount point
	times  Times
	gate   *gate
	watch  *watch
	acting chan struct{} // a place for each decision under way

	busy  atomic.Int64 // requests in flight
	alive chan time.Duration

	mu sync.Mutex
	// said is what became of the last decision, for the next page.
	said *result // +checklocks:mu
}

// result is what became of a decision.
type result struct {
	name string // of the file
	what func(*texts) string
	err  error
}

// New makes the page of the mount at dir.
func New(mount Mount, dir string, times Times) *Page {
	return &Page{
		mount: mount, dir: dir, times: times, watch: newWatch(mount), acting: make(chan struct{}, maxActing), alive: make(chan time.Duration, 1),
	}
}

// Listen opens a port of its own on loopback, and returns the address of the page with its token.
func (p *Page) Listen(ctx context.Context) (ln net.Listener, address string, err error) {
	var lc net.ListenConfig
	if ln, err = lc.Listen(ctx, "tcp4", "127.0.0.1:0"); err != nil {
		return nil, "", err
	}
	gate, token := newGate(ln.Addr().String())
	p.gate = gate
	return ln, "http://" + gate.host + "/?token=" + token, nil
}

// IsOpened reports whether a browser has opened the page.
func (p *Page) IsOpened() bool { return p.gate.isSpent() }

// Serve serves the page until ctx is done, or nobody has it open any more.
func (p *Page) Serve(ctx context.Context, ln net.Listener) error {
	srv := &http.Server{Handler: p, ConnContext: p.gate.note, ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 64 << 10}
	served := make(chan error, 1)
	go func() { served <- srv.Serve(ln) }()
	left := time.NewTimer(p.times.First)
	defer left.Stop()
	for {
		select {
		case err := <-served:
			return err
		case d := <-p.alive:
			left.Reset(d)
			continue
		case <-left.C:
			if p.busy.Load() > 0 { // a copy is being saved
				left.Reset(min(p.times.Closed, p.times.Plain))
				continue
			}
		case <-ctx.Done():
		}
		break
	}
	limit, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	if err := srv.Shutdown(limit); err != nil {
		_ = srv.Close() // the mount may hang; the requests end with the process
	}
	<-served //nolint:errcheck // that it was closed
	return nil
}

// stay keeps the page for as long again.
func (p *Page) stay(d time.Duration) {
	select {
	case <-p.alive: // an earlier request has not been noted yet
	default:
	}
	select {
	case p.alive <- d:
	default:
	}
}

// ServeHTTP implements http.Handler.
func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.busy.Add(1)
	defer p.busy.Add(-1)
	secure(w.Header())
	if !p.gate.admits(w, r) {
		return
	}
	if r.URL.Path == "/state" {
		p.stay(p.times.Closed)
	} else {
		p.stay(p.times.Plain)
	}
	p.routes().ServeHTTP(w, r)
}

// secure sets the headers that every answer has.
func secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "+
		"form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "same-origin") // without one, browsers hide the origin of a form
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	h.Set("Vary", "Accept-Language")
}

//go:embed web
var web embed.FS

var templates = template.Must(template.ParseFS(web, "web/page.html"))

func (p *Page) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", p.showAll)
	mux.HandleFunc("GET /state", p.showState)
	mux.HandleFunc("GET /page.css", file("text/css; charset=utf-8", "web/page.css"))
	mux.HandleFunc("GET /page.js", file("text/javascript; charset=utf-8", "web/page.js"))
	mux.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) }) // browsers ask for one
	mux.HandleFunc("POST /retry/{id}", p.retry)
	mux.HandleFunc("GET /save/{id}", p.save)
	mux.HandleFunc("GET /discard/{id}", p.askDiscard)
	mux.HandleFunc("POST /discard/{id}", p.discard)
	return http.NewCrossOriginProtection().Handler(mux)
}

// file serves an embedded file.
func file(kind, name string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, err := web.ReadFile(name)
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", kind)
		_, _ = w.Write(text) // the browser may be gone
	}
}

// render writes a template in the reader's language.
func render(w http.ResponseWriter, status int, name string, v *view) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, v); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Language", v.T.Lang)
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // the browser may be gone
}

// showAll is the page.
func (p *Page) showAll(w http.ResponseWriter, r *http.Request) {
	v := p.view(r)
	p.mu.Lock()
	said := p.said
	p.said = nil
	p.mu.Unlock()
	v.say(said)
	render(w, http.StatusOK, "page", v)
}

// showState is what changes on the page, for its script.
func (p *Page) showState(w http.ResponseWriter, r *http.Request) {
	render(w, http.StatusOK, "state", p.view(r))
}

func (p *Page) view(r *http.Request) *view {
	return newView(textsFor(r), p.dir, p.watch.look(r.Context()))
}

// upload asks the mount for the upload of a request: a decision is about what is there now.
func (p *Page) upload(r *http.Request) (fs.UploadInfo, error) {
	p.watch.outdate()
	seen := p.watch.look(r.Context())
	if err := seen.why(); err != nil || seen.status == nil {
		return fs.UploadInfo{}, cmp.Or(err, errGone)
	}
	for _, list := range [][]fs.UploadInfo{seen.status.Uploads.List, seen.status.Uploads.Locals} {
		for i := range list {
			if list[i].ID == r.PathValue("id") {
				return list[i], nil
			}
		}
	}
	return fs.UploadInfo{}, errGone
}

// act lets the mount carry out a decision. It returns ErrSilent if that takes too long; undo then
// takes back what do has got.
func (p *Page) act(do func() error, undo func()) error {
	select {
	case p.acting <- struct{}{}:
	default:
		return ErrSilent
	}
	done := make(chan error)
	gone := make(chan struct{})
	go func() {
		defer func() { <-p.acting }()
		err := do()
		select {
		case done <- err:
		case <-gone:
			undo()
		}
	}()
	limit := time.NewTimer(actPatience)
	defer limit.Stop()
	select {
	case err := <-done:
		return err
	case <-limit.C:
		close(gone)
		return ErrSilent
	}
}

// decide carries out a decision about the upload of a request, and shows the page with its result.
func (p *Page) decide(w http.ResponseWriter, r *http.Request, what func(*texts) string, do func(*fs.UploadInfo) error) {
	u, err := p.upload(r)
	if err == nil {
		err = p.act(func() error { return do(&u) }, func() {})
		p.watch.outdate()
	}
	p.say(w, r, result{name: path.Base(u.Path), what: what, err: err})
}

// say shows the page with the result of a decision.
func (p *Page) say(w http.ResponseWriter, r *http.Request, said result) {
	p.mu.Lock()
	p.said = &said
	p.mu.Unlock()
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func (p *Page) retry(w http.ResponseWriter, r *http.Request) {
	p.decide(w, r, func(t *texts) string { return t.Retried }, func(u *fs.UploadInfo) error {
		if u.Incomplete && r.PostFormValue("incomplete") != "yes" {
			return errors.New(u.Error) // it was not, when the button was shown
		}
		return p.mount.Retry(u)
	})
}

func (p *Page) discard(w http.ResponseWriter, r *http.Request) {
	if r.PostFormValue("sure") != "yes" {
		p.askDiscard(w, r)
		return
	}
	p.decide(w, r, func(t *texts) string { return t.Discarded }, func(u *fs.UploadInfo) error { return p.mount.Discard(u.ID) })
}

// askDiscard asks again before an upload is discarded.
func (p *Page) askDiscard(w http.ResponseWriter, r *http.Request) {
	u, err := p.upload(r)
	if err != nil {
		p.say(w, r, result{err: err})
		return
	}
	v := &view{T: textsFor(r), Dir: archive.Printable(p.dir)}
	v.Ask = v.upload(&u)
	render(w, http.StatusOK, "ask", v)
}

// save sends the bytes of an upload.
func (p *Page) save(w http.ResponseWriter, r *http.Request) {
	var f io.ReadSeekCloser
	var name string
	var modified time.Time
	u, err := p.upload(r)
	if err == nil {
		err = p.act(func() (err error) {
			f, name, modified, err = p.mount.Open(u.ID)
			return err
		}, func() {
			if f != nil {
				_ = f.Close() // read only
			}
		})
	}
	if err != nil {
		p.say(w, r, result{name: path.Base(u.Path), err: err})
		return
	}
	defer f.Close() //nolint:errcheck // read only
	_, name, _ = strings.Cut(name, " ")
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream") // and nothing that a browser would show
	h.Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": strings.ToValidUTF8(name, "_")}))
	h.Set("Content-Security-Policy", "sandbox; default-src 'none'")
	http.ServeContent(w, r, "", modified, onlyReader{f})
}

// onlyReader hides the descriptor: a kernel that copies from a mount that hangs cannot be stopped.
type onlyReader struct{ io.ReadSeeker }

// cookieName is the name of the cookie that opens the page.
const cookieName = "archivefs-uploads"

// gate lets one browser of one person in.
//
// The token in the address works once, and is exchanged for a cookie that no script and no other site gets. A Host
// other than the own is refused: a name that is made to lead to loopback would make a foreign page one of ours (DNS
// rebinding). Connections of other users are refused where the system tells whose they are (ownerOf): they may have
// seen the token in the list of processes, and a browser sends a cookie to all ports of a host.
type gate struct {
	host   string // HOST:PORT of the page
	cookie string
	owner  func(client, server net.Addr) (uid int, known bool)

	mu sync.Mutex
	// token opens the page; empty after it did.
	token string // +checklocks:mu
}

// newGate makes the gate of the page at host, HOST:PORT.
func newGate(host string) (g *gate, token string) {
	token = rand.Text()
	return &gate{host: host, cookie: rand.Text(), owner: ownerOf, token: token}, token
}

// strangerKey is the key of a connection's context, where it is another user's.
type strangerKey struct{}

// note notes whose a connection is.
func (g *gate) note(ctx context.Context, c net.Conn) context.Context {
	if uid, known := g.owner(c.RemoteAddr(), c.LocalAddr()); known && uid != os.Getuid() {
		return context.WithValue(ctx, strangerKey{}, true)
	}
	return ctx
}

// admits reports whether a request may go on. It answers those that may not.
func (g *gate) admits(w http.ResponseWriter, r *http.Request) bool {
	t := textsFor(r)
	switch {
	case r.Context().Value(strangerKey{}) != nil, r.Host != g.host:
		render(w, http.StatusForbidden, "locked", &view{T: t, Locked: t.NotYours})
	case g.hasCookie(r) && r.URL.Query().Has("token"):
		http.Redirect(w, r, "/", http.StatusSeeOther)
	case g.hasCookie(r):
		return true
	case r.Method == http.MethodGet && r.URL.Path == "/" && g.takes(r.URL.Query().Get("token")):
		http.SetCookie(w, &http.Cookie{ //nolint:gosec // there is no TLS on loopback
			Name: cookieName, Value: g.cookie, Path: "/", HttpOnly: true, SameSite: http.SameSiteStrictMode,
		})
		http.Redirect(w, r, "/", http.StatusSeeOther)
	default:
		render(w, http.StatusForbidden, "locked", &view{T: t, Locked: t.Spent})
	}
	return false
}

func (g *gate) hasCookie(r *http.Request) bool {
	c, err := r.Cookie(cookieName)
	return err == nil && subtle.ConstantTimeCompare([]byte(c.Value), []byte(g.cookie)) == 1
}

// takes takes the token, which works once.
func (g *gate) takes(token string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.token == "" || subtle.ConstantTimeCompare([]byte(token), []byte(g.token)) != 1 {
		return false
	}
	g.token = ""
	return true
}

// isSpent reports whether somebody has opened the page.
func (g *gate) isSpent() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.token == ""
}
