package apiclient

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// line is the way to a service in a bubble: it can refuse connections, or lose every packet
// so that they are dialled until somebody gives up.
type line struct {
	refuses, loses atomic.Bool
	dials          atomic.Int32
}

// cable puts a line between a client and its service.
func (l *line) cable(cfg *Config) {
	transport := cfg.Transport.(*http.Transport) // as newBubbleService made it
	direct := transport.DialContext
	transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
		l.dials.Add(1)
		switch {
		case l.refuses.Load():
			return nil, errors.New("connection refused")
		case l.loses.Load():
			<-ctx.Done()
			return nil, ctx.Err()
		}
		return direct(ctx, network, address)
	}
}

// timedList asks for a listing and returns how long that took.
func timedList(t *testing.T, c *Client) (time.Duration, error) {
	t.Helper()
	began := time.Now()
	_, err := c.Documents(t.Context(), 7, archive.ListOptions{})
	return time.Since(began), err
}

// wantAway fails the test unless a listing fails without being asked for, within limit.
func wantAway(t *testing.T, c *Client, limit time.Duration) {
	t.Helper()
	wantUnsent(t, c, limit, archive.KindUnreachable)
}

// wantUnsent is wantAway for an outage of a kind.
func wantUnsent(t *testing.T, c *Client, limit time.Duration, kind archive.Kind) {
	t.Helper()
	took, err := timedList(t, c)
	wantKind(t, err, OpDocumentList, kind)
	if took > limit || !strings.Contains(err.Error(), "not sent") || archive.Doubtful(err) {
		t.Fatalf("after %s: %v", took, err)
	}
}

func wantBack(t *testing.T, c *Client) {
	t.Helper()
	if took, err := timedList(t, c); took > 0 || err != nil {
		t.Fatalf("after %s: %v", took, err)
	}
}

func TestWhileConnectionsAreRefusedCallsFailAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l line
		c := newBubbleService(t, answer(http.StatusOK, mediaJSON, "[]"), l.cable)
		l.refuses.Store(true)
		if took, err := timedList(t, c); took < DefaultRetryFor/2 || archive.KindOf(err) != archive.KindUnreachable {
			t.Fatalf("the first call fails after %s: %v", took, err)
		}
		before := l.dials.Load()
		wantAway(t, c, 0)
		time.Sleep(probeEvery - time.Nanosecond)
		wantAway(t, c, 0)
		if n := l.dials.Load() - before; n != 0 {
			t.Errorf("%d connections tried within two seconds, want none", n)
		}
		time.Sleep(time.Nanosecond)
		wantAway(t, c, 0)
		wantAway(t, c, 0)
		if n := l.dials.Load() - before; n != 1 {
			t.Errorf("%d connections tried after two seconds, want the probe's", n)
		}
		l.refuses.Store(false)
		wantAway(t, c, 0)
		time.Sleep(time.Hour)
		wantBack(t, c) // the first call waits for its probe
		before = l.dials.Load()
		wantBack(t, c)
		if n := l.dials.Load() - before; n != 0 {
			t.Errorf("%d connections made for another call, want none", n)
		}
	})
}

func TestWhilePacketsAreLostCallsWaitForASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l line
		c := newBubbleService(t, answer(http.StatusOK, mediaJSON, "[]"), l.cable)
		l.loses.Store(true)
		if took, err := timedList(t, c); took != DefaultStall || archive.KindOf(err) != archive.KindUnreachable {
			t.Fatalf("the first call fails after %s: %v", took, err)
		}
		waited := time.Duration(0)
		for began := time.Now(); time.Since(began) < 10*time.Minute; time.Sleep(100 * time.Millisecond) {
			asked := time.Now()
			wantAway(t, c, probePatience)
			waited += time.Since(asked)
		}
		if waited > 20*probePatience { // one for each probe, which takes 30 s
			t.Errorf("calls waited for %s within 10 minutes", waited)
		}
		time.Sleep(time.Minute)
		l.loses.Store(false)
		wantBack(t, c)
	})
}

func TestWhileNothingIsAnsweredCallsWaitForASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			if silent.Load() {
				hang(w, r)
				return
			}
			reply(w, http.StatusOK, mediaJSON, "[]")
		})
		wantBack(t, c)
		silent.Store(true)
		if took, err := timedList(t, c); took > 2*DefaultStall+backoff.Longest || archive.KindOf(err) != archive.KindTimeout {
			t.Fatalf("the first call fails after %s: %v", took, err)
		}
		wantAway(t, c, 0)
		time.Sleep(probeEvery)
		wantAway(t, c, probePatience)
		wantAway(t, c, 0)
		_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
		if archive.KindOf(err) != archive.KindUnreachable || archive.Doubtful(err) {
			t.Errorf("an upload fails with %v", err)
		}
		silent.Store(false)
		time.Sleep(DefaultStall + probeEvery) // the end of the probe
		wantBack(t, c)
	})
}

// While it is doubtful whether the service answers, no call waits for longer than a second to find out.
func TestADoubtfulService(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var silent atomic.Bool
		var asked atomic.Int32
		handler := func(w http.ResponseWriter, r *http.Request) {
			asked.Add(1)
			if silent.Load() {
				hang(w, r)
				return
			}
			reply(w, http.StatusOK, mediaJSON, "[]")
		}
		c := newBubbleService(t, handler)
		c.Doubt()
		wantBack(t, c)
		if n := asked.Load(); n != 2 {
			t.Errorf("%d requests to a service that answers, want the probe and the call", n)
		}
		silent.Store(true)
		c = newBubbleService(t, handler)
		c.Doubt()
		wantAway(t, c, probePatience)
		wantAway(t, c, 0)
		silent.Store(false)
		time.Sleep(DefaultStall + probeEvery) // the end of the probe
		wantBack(t, c)
		var l line
		l.refuses.Store(true)
		c = newBubbleService(t, handler, l.cable)
		c.Doubt()
		wantAway(t, c, 0)
		if _, err := timedList(t, c); !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("the reason is missing: %v", err)
		}
	})
}

// A service that answers slowly is found again, however little a call waits for a probe.
func TestASlowServiceIsFoundAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l line
		c := newBubbleService(t, func(w http.ResponseWriter, _ *http.Request) {
			time.Sleep(20 * time.Second)
			reply(w, http.StatusOK, mediaJSON, "[]")
		}, l.cable)
		l.refuses.Store(true)
		if _, err := timedList(t, c); err == nil {
			t.Fatal("listed without a connection")
		}
		l.refuses.Store(false)
		time.Sleep(probeEvery)
		wantAway(t, c, probePatience)
		time.Sleep(20 * time.Second)
		if took, err := timedList(t, c); took != 20*time.Second || err != nil {
			t.Errorf("after %s: %v", took, err)
		}
	})
}

func TestADocumentThatHangsIsNoOutage(t *testing.T) {
	for _, tt := range []struct {
		name   string
		others bool // other calls are answered meanwhile
	}{{"alone", false}, {"beside others", true}} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var asked atomic.Int32
				c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
					if strings.HasSuffix(r.URL.Path, "/pdf") {
						hang(w, r)
						return
					}
					asked.Add(1)
					reply(w, http.StatusOK, mediaJSON, "[]")
				})
				done := make(chan error)
				go func() { done <- download(t.Context(), c, 4) }()
				if tt.others {
					time.Sleep(DefaultStall)
					wantBack(t, c)
				}
				wantKind(t, <-done, OpPDF, archive.KindTimeout)
				time.Sleep(probeEvery)
				before := asked.Load()
				wantBack(t, c) // alone, the probe shows at once that the service is there
				want := int32(2)
				if tt.others {
					want = 1
				}
				if n := asked.Load() - before; n != want {
					t.Errorf("%d requests for a listing, want %d", n, want)
				}
			})
		})
	}
}

// The end of the caller's context, and an answer of any other status than 503, say nothing
// about an outage.
func TestWhatIsNoOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var status atomic.Int32 // 0: none
		status.Store(http.StatusTooManyRequests)
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			code := int(status.Load())
			if code == 0 {
				hang(w, r)
				return
			}
			reply(w, code, mediaJSON, "[]")
		})
		if _, err := timedList(t, c); archive.KindOf(err) != archive.KindBusy {
			t.Fatal(err)
		}
		status.Store(0)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := c.Inboxes(ctx); archive.KindOf(err) != archive.KindTimeout {
			t.Fatal(err)
		}
		status.Store(http.StatusOK)
		wantBack(t, c)
	})
}

func TestTheWaitForAProbeEndsWithTheCaller(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l line
		c := newBubbleService(t, answer(http.StatusOK, mediaJSON, "[]"), l.cable)
		l.loses.Store(true)
		if _, err := timedList(t, c); err == nil {
			t.Fatal("listed without a connection")
		}
		time.Sleep(probeEvery)
		ctx, cancel := context.WithTimeout(t.Context(), probePatience/2)
		defer cancel()
		began := time.Now()
		_, err := c.Inboxes(ctx)
		if time.Since(began) != probePatience/2 || !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		c.Close() // ends the probe
		if time.Since(began) != probePatience/2 {
			t.Errorf("closed after %s", time.Since(began))
		}
		wantAway(t, c, 0)
	})
}

// A listener whose queue is full lets connections be dialled for ever.
func TestAListenerWithAFullQueue(t *testing.T) {
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Close(fd) })
	if err := errors.Join(syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}), syscall.Listen(fd, 0)); err != nil {
		t.Fatal(err)
	}
	name, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	address := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for full := false; !full; {
		c, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(t.Context(), "tcp", address)
		if full = err != nil; !full {
			t.Cleanup(func() { _ = c.Close() })
		}
	}
	c := newClient(t, Config{BaseURL: "http://" + address, Credentials: Credentials{APIKey: testKey}, Stall: 200 * time.Millisecond, RetryFor: -1})
	_, err = timedList(t, c)
	wantKind(t, err, OpDocumentList, archive.KindUnreachable)
	for range 100 {
		wantAway(t, c, time.Minute)
	}
	for _, s := range c.Stats() {
		if s.Operation == OpDocumentList.name && s.Requests != 1 {
			t.Errorf("%d requests for a list, want that of the first call alone", s.Requests)
		}
	}
}
