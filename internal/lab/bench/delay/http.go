package delay

import (
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"time"
)

// serveHTTP holds every request back for the delay and then passes it on, as many at a time
// as come. If flat, it refuses recursive lists.
func (p *Proxy) serveHTTP(flat bool) {
	transport := &http.Transport{
		MaxIdleConns: 512, MaxIdleConnsPerHost: 512, DisableCompression: true, WriteBufferSize: 256 << 10, ReadBufferSize: 256 << 10,
	}
	pass := &httputil.ReverseProxy{
		Transport: transport,
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", p.to
			r.Out.Host = r.In.Host // WebDAV compares it with the header Destination
		},
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // the client is told
	}
	server := &http.Server{
		ReadHeaderTimeout: time.Minute,
		ConnState: func(_ net.Conn, state http.ConnState) {
			if state == http.StateNew {
				p.count(Connections)
			}
		},
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			defer p.begin(r.Method)()
			time.Sleep(p.delay)
			if flat && r.URL.Query().Has("subfolders-recursive") {
				http.Error(w, "no lists of sub-folders", http.StatusNotImplemented)
				return
			}
			pass.ServeHTTP(w, r)
		}),
	}
	p.close = func() {
		_ = server.Close() // nothing is written to the listener
		transport.CloseIdleConnections()
	}
	p.done.Go(func() { _ = server.Serve(p.ln) }) // it ends by Close
}
