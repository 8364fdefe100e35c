package delay

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

func start(t *testing.T, mode Mode, to string, delay time.Duration) *Proxy {
	t.Helper()
	p, err := Start(t.Context(), mode, to, delay)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// Requests arrive as they were sent, wait beside each other, and are counted by method.
func TestHTTP(t *testing.T) {
	var both sync.WaitGroup
	both.Add(2)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		both.Done()
		both.Wait() // the one while the other
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.URL, r.Host, body)
	}))
	defer server.Close()
	p := start(t, HTTP, server.Listener.Addr().String(), time.Microsecond)
	var wait sync.WaitGroup
	for _, method := range []string{"PUT", "PROPFIND"} {
		wait.Go(func() {
			request, err := http.NewRequestWithContext(t.Context(), method, "http://"+p.Address()+"/a%20b?c=d", strings.NewReader("body"))
			if err != nil {
				t.Error(err)
				return
			}
			request.Host = "archive.example"
			request.Close = true
			answer, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer answer.Body.Close() //nolint:errcheck // it was read
			if text, err := io.ReadAll(answer.Body); err != nil || string(text) != method+" /a%20b?c=d archive.example body" {
				t.Errorf("%q, %v", text, err)
			}
		})
	}
	wait.Wait()
	if c := p.Counts(); c["PUT"] != 1 || c["PROPFIND"] != 1 || c[MaxInFlight] != 2 || c[Connections] != 2 {
		t.Errorf("%v", c)
	}
	p.Reset()
	if c := p.Counts(); len(c) > 0 {
		t.Errorf("%v after a reset", c)
	}
}

func TestTCP(t *testing.T) {
	ln, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close() //nolint:errcheck // the test is over
	go func() {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		line, _ := bufio.NewReader(c).ReadString('\n')
		_, _ = io.WriteString(c, "got "+line)
		_ = c.Close()
	}()
	p := start(t, TCP, ln.Addr().String(), time.Microsecond)
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.Address())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close() //nolint:errcheck // it was read
	if _, err := io.WriteString(c, "hello\n"); err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(c); err != nil || string(text) != "got hello\n" {
		t.Errorf("%q, %v", text, err)
	}
	if n := p.Counts()[Connections]; n != 1 {
		t.Errorf("%d connections", n)
	}
}

func TestFlat(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	defer server.Close()
	p := start(t, Flat, server.Listener.Addr().String(), time.Microsecond)
	for query, want := range map[string]int{"folder-id=1": http.StatusOK, "folder-id=1&subfolders-recursive=true": http.StatusNotImplemented} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+p.Address()+"/document/list?"+query, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		request.Close = true
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			t.Fatal(err)
		}
		if err := answer.Body.Close(); err != nil || answer.StatusCode != want {
			t.Errorf("%s: status %d, want %d; %v", query, answer.StatusCode, want, err)
		}
	}
}
