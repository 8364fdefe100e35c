package apiclient

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A pause ends whatever waits for the service, and says what may have reached it. After it all works.
func TestPause(t *testing.T) {
	for name, tt := range map[string]struct {
		handler http.HandlerFunc // answers after the pause, or not at all
		op      Operation
		call    func(context.Context, *Client) error
		kind    archive.Kind
		doubt   bool
	}{
		"a listing": {hangs, OpDocumentList, listOnce, archive.KindInterrupted, true},
		"a change":  {hangs, OpFolderCreate, makeFolder, archive.KindInterrupted, true},
		"a content": {func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Length", "100")
			chunk(w, "abc")
			<-r.Context().Done()
		}, OpOriginal, readOriginal, archive.KindInterrupted, true},
		"a repetition": {answer(http.StatusInternalServerError, "", ""), OpDocumentList, listOnce, archive.KindServer, true},
		"Retry-After": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "20")
			w.WriteHeader(http.StatusServiceUnavailable)
		}, OpDocumentList, listOnce, archive.KindBusy, true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var fine atomic.Bool
				c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
					if fine.Load() {
						reply(w, http.StatusOK, mediaJSON, "[]")
						return
					}
					tt.handler(w, r)
				}, func(cfg *Config) { cfg.RetryFor, cfg.Stall = time.Hour, time.Hour })
				ended := make(chan error, 1)
				go func() { ended <- tt.call(t.Context(), c) }()
				time.Sleep(10 * time.Millisecond)
				began := time.Now()
				if err := c.Pause(t.Context(), time.Second); err != nil {
					t.Fatal(err)
				}
				err := <-ended
				if took := time.Since(began); took > time.Second+2*pauseLook {
					t.Errorf("it took %s", took)
				}
				wantKind(t, err, tt.op, tt.kind)
				if archive.Doubtful(err) != tt.doubt {
					t.Errorf("in doubt: %t, want %t: %v", !tt.doubt, tt.doubt, err)
				}
				_, err = timedList(t, c)
				wantKind(t, err, OpDocumentList, archive.KindUnreachable)
				if archive.Doubtful(err) || !errors.Is(err, errPaused) {
					t.Errorf("during the pause: %v", err)
				}
				if err := c.Sleep(t.Context(), time.Hour); !errors.Is(err, errPaused) {
					t.Errorf("a wait during the pause: %v", err)
				}
				fine.Store(true)
				c.Resume()
				c.Reconnect()
				wantBack(t, c)
			})
		})
	}
}

// Requests that end by themselves within the grace are not disturbed, and without any the pause begins
// at once.
func TestPauseWithGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(500 * time.Millisecond)
			reply(w, http.StatusOK, mediaJSON, "[]")
		})
		ended := make(chan error, 1)
		go func() { ended <- listOnce(t.Context(), c) }()
		synctest.Wait()
		if err := c.Pause(t.Context(), time.Second); err != nil {
			t.Fatal(err)
		}
		if err := <-ended; err != nil {
			t.Error(err)
		}
		c.Resume()
		began := time.Now()
		if err := c.Pause(t.Context(), time.Second); err != nil || time.Since(began) > 0 {
			t.Errorf("an idle client pauses after %s: %v", time.Since(began), err)
		}
	})
}

// Calls that wait for a connection, or behind others, end with a pause, too.
func TestPauseOfThoseThatWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l line
		c := newBubbleService(t, answer(http.StatusOK, mediaJSON, "[]"), l.cable, func(cfg *Config) { cfg.Connections, cfg.Stall = 1, time.Hour })
		l.loses.Store(true)
		ended := make(chan error, 3)
		for range cap(ended) {
			go func() { ended <- listOnce(t.Context(), c) }()
		}
		synctest.Wait()
		if err := c.Pause(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		for range cap(ended) {
			err := <-ended
			wantKind(t, err, OpDocumentList, archive.KindUnreachable)
			if archive.Doubtful(err) {
				t.Errorf("what was not sent is in doubt: %v", err)
			}
		}
		l.loses.Store(false)
		c.Resume()
		wantBack(t, c)
	})
}

// In another network the service is asked at once, whatever an earlier probe still waits for.
func TestReconnectAsksAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l line
		c := newBubbleService(t, answer(http.StatusOK, mediaJSON, "[]"), l.cable)
		wantBack(t, c)
		c.sender.http.CloseIdleConnections()
		l.loses.Store(true)
		if _, err := timedList(t, c); archive.KindOf(err) != archive.KindUnreachable {
			t.Fatal(err)
		}
		time.Sleep(probeEvery)
		wantAway(t, c, probePatience) // its probe goes on
		l.loses.Store(false)
		c.Reconnect()
		wantBack(t, c)
	})
}

// conn is a connection from an address.
type conn struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *conn) LocalAddr() net.Addr { return c.from }
func (c *conn) Close() error {
	c.closed = true
	return nil
}

func TestConnectionsFromLostAddressesAreClosed(t *testing.T) {
	loopback := &conn{from: &net.TCPAddr{IP: net.IPv4(127, 7, 7, 7)}}
	lost := &conn{from: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 7)}} // for documentation (RFC 5737)
	socket := &conn{from: &net.UnixAddr{Name: "proxy"}}
	var c connections
	for _, made := range []*conn{loopback, lost, socket} {
		c.add(made)
	}
	c.closeLost()
	if loopback.closed || !lost.closed || socket.closed {
		t.Errorf("closed: loopback %t, a lost address %t, a socket %t", loopback.closed, lost.closed, socket.closed)
	}
	if slices.Contains(c.open, net.Conn(lost)) || len(c.open) != 2 {
		t.Errorf("%d connections are kept", len(c.open))
	}
}

// Connections that were closed are forgotten with the next one.
func TestClosedConnectionsAreForgotten(t *testing.T) {
	service := newService(t, answer(http.StatusOK, mediaJSON, "[]"))
	for range 5 {
		if _, err := timedList(t, service); err != nil {
			t.Fatal(err)
		}
		service.Reconnect()
	}
	made := service.sender.connections
	made.mu.Lock()
	defer made.mu.Unlock()
	if len(made.open) > 2 {
		t.Errorf("%d connections are kept of one at a time", len(made.open))
	}
}

// hangs never answers.
func hangs(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // only then the end of the connection is noticed
	<-r.Context().Done()
}

func listOnce(ctx context.Context, c *Client) error {
	_, err := c.Documents(ctx, 7, archive.ListOptions{})
	return err
}

func makeFolder(ctx context.Context, c *Client) error {
	_, err := c.CreateFolder(ctx, 7, "Briefe")
	return err
}

func readOriginal(ctx context.Context, c *Client) error {
	content, err := c.Content(ctx, archive.ContentRequest{Document: 4, Representation: archive.Original})
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, content.Body)
	return errors.Join(err, content.Body.Close())
}
