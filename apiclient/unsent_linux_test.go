package apiclient

import (
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A body that has left the program, and not the machine, is still being sent: it takes longer than
// the service may take for its answer.
func TestWhatTheSystemStillSendsIsNoStall(t *testing.T) {
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for {
			if _, err := io.CopyN(io.Discard, r.Body, 32<<10); err != nil {
				break
			}
			time.Sleep(100 * time.Millisecond) // a slow line
		}
		reply(w, http.StatusOK, "text/plain", "17")
	}))
	_ = server.Listener.Close()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		cerr := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 16<<10) })
		if err == nil {
			err = cerr
		}
		return err
	}}
	var err error
	if server.Listener, err = config.Listen(t.Context(), "tcp", "127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	server.Start()
	t.Cleanup(server.Close)
	c := newClient(t, Config{BaseURL: server.URL, Credentials: Credentials{APIKey: testKey}, RetryFor: -1, Stall: 2 * time.Second})
	id, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, endless{2 << 20})
	if err != nil || id != 17 {
		t.Errorf("id %d, %v", id, err)
	}
}
