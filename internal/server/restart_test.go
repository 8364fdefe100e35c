package server_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
)

func TestRestartKeepsEverything(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	database, blobs := server.NewDatabase(t), server.NewBlobs(t)
	in := func(o *server.Options) { o.Data, o.Database, o.Blobs = data, database, blobs }
	var before []string
	t.Run("first", func(t *testing.T) {
		h := start(t, in)
		o := furnish(t, h)
		for _, path := range paths(o) {
			before = append(before, h.get(path).body)
		}
	})
	t.Run("second", func(t *testing.T) {
		h := start(t, in)
		if empty, err := h.Empty(t.Context()); err != nil || empty {
			t.Fatalf("empty %v, %v", empty, err)
		}
		o := office{year: 3, inbox: 5, a: 1, scan: 4}
		for i, path := range paths(o) {
			if got := h.get(path).body; got != before[i] {
				t.Errorf("%s: %s\nbefore: %s", path, got, before[i])
			}
		}
		if id := h.uploaded("f", "x", "target-folder-id", text(o.year)); id != 5 {
			t.Errorf("the next document has the id %d", id)
		}
	})
}

func paths(o office) []string {
	return []string{
		"/archivestructure", "/inboxes", "/document/list?folder-id=" + text(o.year), "/document/list?folder-id=" + text(o.inbox),
		"/document/" + text(o.a) + "/data", "/document/" + text(o.scan) + "/pdf?original=true",
	}
}

func TestIDsAreNeverUsedTwice(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	last := h.uploaded("f", "x", "target-folder-id", text(o.spare))
	h.post("/document/" + text(last) + "/delete")
	if next := h.uploaded("f", "x", "target-folder-id", text(o.spare)); next <= last {
		t.Errorf("id %d after %d was deleted", next, last)
	}
}

func TestDataDirectoryIsLockedAndPrivate(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "made", "here")
	h := start(t, func(o *server.Options) { o.Data, o.Database, o.Blobs = data, "", "" })
	_, err := server.Open(t.Context(), h.options)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("is in use by process %d: its archive is mounted already, where findmnt -t fuse.archivefs shows", os.Getpid())) || !strings.Contains(err.Error(), data) {
		t.Errorf("opened twice: %v", err)
	}
	info, err := os.Stat(data)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if _, err := server.Open(t.Context(), server.Options{}); err == nil {
		t.Error("opened without a directory")
	}
}

func TestServeUntilDone(t *testing.T) {
	t.Parallel()
	h := start(t)
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- h.Serve(ctx, ln) }()
	h.url = "http://" + ln.Addr().String() + "/api/v2"
	if a := h.get("/archivestructure"); a.status != http.StatusOK {
		t.Errorf("status %d", a.status)
	}
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	if _, err := lc.Listen(t.Context(), "tcp", ln.Addr().String()); err != nil {
		t.Errorf("the address is still taken: %v", err)
	}
}

func TestServeDrains(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Serve(ctx, ln) }()
	h.url = "http://" + ln.Addr().String() + "/api/v2"
	body, contentType := multipartBody(t, "f", "x", "target-folder-id", text(o.other))
	transport := &http.Transport{ExpectContinueTimeout: time.Minute}
	t.Cleanup(transport.CloseIdleConnections)
	h.client = &http.Client{Transport: transport}
	// The body is sent once the server asks for it, and the server is shut down while
	// it waits for the second half.
	half := &paused{first: body.Next(body.Len() / 2), rest: body.Bytes(), between: cancel}
	if a := h.send(http.MethodPost, "/file-upload", contentType, half, "Expect", "100-continue"); a.status != http.StatusOK {
		t.Errorf("the upload in flight: %d %s", a.status, a.body)
	}
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
}

// paused hands out two halves and calls between before the second.
type paused struct {
	first, rest []byte
	between     func()
}

func (p *paused) Read(b []byte) (int, error) {
	if len(p.first) == 0 {
		if p.between != nil {
			p.between()
			p.between = nil
		}
		p.first, p.rest = p.rest, nil
	}
	n := copy(b, p.first)
	p.first = p.first[n:]
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

func TestServeNeedsAKey(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.Credentials = server.Credentials{CloudID: "c"} })
	var lc net.ListenConfig
	ln, err := lc.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Serve(t.Context(), ln); err == nil || !strings.Contains(err.Error(), "API key") {
		t.Errorf("served without a key: %v", err)
	}
}
