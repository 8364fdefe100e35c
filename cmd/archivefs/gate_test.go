package main

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// gate stands before an archive service and holds uploads back until it is opened.
type gate struct {
	url     string
	arrived chan struct{} // closed when the first upload is held back
	opened  chan struct{}
	open    func()
}

func newGate(t *testing.T, service string) *gate {
	t.Helper()
	target, err := url.Parse(strings.TrimSuffix(service, "/api/v2"))
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{arrived: make(chan struct{}), opened: make(chan struct{})}
	first := sync.OnceFunc(func() { close(g.arrived) })
	g.open = sync.OnceFunc(func() { close(g.opened) })
	through := httputil.NewSingleHostReverseProxy(target)
	through.ErrorLog = log.New(io.Discard, "", 0)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/file-upload") {
			first()
			select {
			case <-g.opened:
			case <-r.Context().Done():
				return
			}
		}
		through.ServeHTTP(w, r)
	}))
	t.Cleanup(web.Close)
	t.Cleanup(g.open) // before the service is closed, which waits for its requests
	g.url = web.URL + "/api/v2"
	return g
}

// silent is a service that never answers.
type silent struct {
	url   string
	asked chan struct{} // closed when it is asked for the first time
}

func newSilent(t *testing.T) *silent {
	t.Helper()
	s := &silent{asked: make(chan struct{})}
	first := sync.OnceFunc(func() { close(s.asked) })
	web := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		first()
		<-r.Context().Done()
	}))
	t.Cleanup(web.Close)
	s.url = web.URL
	return s
}
