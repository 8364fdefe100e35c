package uploadspage

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net"
	"net/http"
	"os"
	"sync"
)

// cookieName is the name of the cookie that opens the page.
const cookieName = "archivefs-uploads"

// gate lets one browser of one person in.
//
// The token in the address works once, and is exchanged for a cookie that no script and no other site
// gets. A Host other than the own is refused: a name that is made to lead to loopback would make a
// foreign page one of ours (DNS rebinding). Connections of other users are refused where the system
// tells whose they are (ownerOf): they may have seen the token in the list of processes, and a browser
// sends a cookie to all ports of a host.
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
