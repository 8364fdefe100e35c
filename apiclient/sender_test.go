package apiclient

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// failing answers the first times requests with fail, then all with body.
func failing(count *atomic.Int32, times int32, fail http.HandlerFunc, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if count.Add(1) <= times {
			fail(w, r)
			return
		}
		reply(w, http.StatusOK, mediaJSON, body)
	}
}

// cut ends the connection without an answer.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// truncate announces more than it sends.
func truncate(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "100")
	reply(w, http.StatusOK, mediaJSON, `[{"id":1},`)
}

// busy answers 503 and when to come back.
func busy(retryAfter string) http.HandlerFunc {
	return later(http.StatusServiceUnavailable, retryAfter)
}

func later(status int, retryAfter string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", retryAfter)
		reply(w, status, "", "")
	}
}

// slowly answers after a pause.
func slowly(pause time.Duration, answer http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		time.Sleep(pause)
		answer(w, r)
	}
}

// hang answers nothing until the client is gone.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // the server notices that a client is gone only then
	<-r.Context().Done()
}

func TestWhatIsRepeated(t *testing.T) {
	list := func(ctx context.Context, c *Client) error {
		_, err := c.Documents(ctx, 7, archive.ListOptions{})
		return err
	}
	export := func(ctx context.Context, c *Client) error { return c.SetAutoExport(ctx, 4, true) }
	keywords := func(ctx context.Context, c *Client) error { return c.SetKeywords(ctx, 4, nil) }
	upload := func(ctx context.Context, c *Client) error {
		_, err := c.Upload(ctx, archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
		return err
	}
	remove := func(ctx context.Context, c *Client) error { return c.Delete(ctx, 4) }
	toArchive := func(ctx context.Context, c *Client) error { return c.Archive(ctx, 4, archive.ArchiveTarget{Folder: 1}) }
	mkdir := func(ctx context.Context, c *Client) error { _, err := c.CreateFolder(ctx, 1, "a"); return err }
	for _, tc := range []struct {
		name  string
		call  func(context.Context, *Client) error
		fail  http.HandlerFunc
		times int32 // how often it fails
		want  int32 // how many requests are sent
		kind  archive.Kind
	}{
		{"reading, service failed", list, answer(500, "", ""), 2, 3, 0},
		{"reading, service busy", list, answer(503, "", ""), 2, 3, 0},
		{"reading, too many", list, answer(429, "", ""), 2, 3, 0},
		{"reading, connection cut", list, cut, 2, 3, 0},
		{"reading, list cut", list, truncate, 2, 3, 0},
		{"reading, stalled once", list, hang, 1, 2, 0},
		{"reading, stalled twice", list, hang, 2, 2, archive.KindTimeout},
		{"reading, not found", list, answer(404, "", ""), 1, 1, archive.KindNotFound},
		{"reading, broken JSON", list, answer(200, "", "[{]"), 1, 1, archive.KindForeign},
		{"reading, forbidden", list, answer(403, "", ""), 1, 1, archive.KindForbidden},
		{"reading, no room", list, answer(507, "", ""), 1, 1, archive.KindServer},
		{"keywords, no room", keywords, answer(507, "", ""), 1, 1, archive.KindServer},
		{"keywords, no room for a second", keywords, later(507, "1"), 1, 2, 0},
		{"auto-export, service failed", export, answer(500, "", ""), 2, 3, 0},
		{"auto-export, connection cut", export, cut, 2, 3, 0},
		{"keywords, service busy", keywords, answer(503, "", ""), 2, 3, 0},
		{"upload, service failed", upload, answer(500, "", ""), 1, 1, archive.KindServer},
		{"upload, service busy", upload, answer(503, "", ""), 1, 1, archive.KindBusy},
		{"upload, too many", upload, answer(429, "", ""), 2, 3, 0},
		{"upload, connection cut", upload, cut, 1, 1, archive.KindInterrupted},
		{"upload, stalled", upload, hang, 1, 1, archive.KindTimeout},
		{"upload, answer cut", upload, truncate, 1, 1, archive.KindInterrupted},
		{"archive, connection cut", toArchive, cut, 1, 1, archive.KindInterrupted},
		{"create folder, service failed", mkdir, answer(500, "", ""), 1, 1, archive.KindServer},
		{"delete, connection cut", remove, cut, 1, 1, archive.KindInterrupted},
		{"delete, too many", remove, answer(429, "", ""), 1, 2, 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var sent atomic.Int32
				c := newBubbleService(t, standing(failing(&sent, tc.times, tc.fail, "[]")))
				err := tc.call(t.Context(), c)
				if archive.KindOf(err) != tc.kind || (err == nil) != (tc.kind == 0) {
					t.Errorf("error is %v, want %v", err, tc.kind)
				}
				if sent.Load() != tc.want {
					t.Errorf("%d requests, want %d", sent.Load(), tc.want)
				}
			})
		})
	}
}

// Of a list that broke off what was given of it is void, and all of it is given again.
func TestARepeatedListBeginsAnew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var sent atomic.Int32
		c := newBubbleService(t, failing(&sent, 2, truncate, `[{"id":2},{"id":1}]`))
		documents, err := c.Documents(t.Context(), 7, archive.ListOptions{})
		if err != nil || len(documents) != 2 || documents[0].ID != 1 || sent.Load() != 3 {
			t.Errorf("%d requests give %v, %v", sent.Load(), documents, err)
		}
	})
}

func TestRepetitionEnds(t *testing.T) {
	for _, tc := range []struct {
		name          string
		fail          http.HandlerFunc
		retryFor      time.Duration
		atLeast, most time.Duration // until the error
		requests      int64         // 0: more than three
	}{
		{"after RetryFor", answer(500, "", ""), 0, time.Second, 3 * time.Second, 0},
		{"after another RetryFor", answer(500, "", ""), time.Minute, 58 * time.Second, time.Minute, 0},
		{"at once", answer(500, "", ""), -1, 0, 0, 1},
		{"after 30 s of Retry-After", busy("10"), 0, 30 * time.Second, 30 * time.Second, 4},
		{"before a Retry-After too long", busy("31"), 0, 0, 0, 1},
		{"after 33 s of slow answers with Retry-After", slowly(10*time.Second, busy("1")), 0, 33 * time.Second, 44 * time.Second, 4},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var count atomic.Int32
				c := newBubbleService(t, failing(&count, 1<<30, tc.fail, ""), func(cfg *Config) { cfg.RetryFor = tc.retryFor })
				started := time.Now()
				_, err := c.Inboxes(t.Context())
				if took := time.Since(started); err == nil || took < tc.atLeast || took > tc.most {
					t.Errorf("%v after %s, want %s to %s", err, took, tc.atLeast, tc.most)
				}
				sent := int64(count.Load())
				if tc.requests != 0 && sent != tc.requests || tc.requests == 0 && sent <= 3 {
					t.Errorf("%d requests, want %d", sent, tc.requests)
				}
				stats := c.Stats()
				if len(stats) != 1 || stats[0].Operation != "inboxes" || stats[0].Requests != sent ||
					stats[0].Failures != sent || stats[0].Retries != sent-1 {
					t.Errorf("statistics are %+v", stats)
				}
			})
		})
	}
}

func TestUnreachableIsRepeatedAlsoForChanges(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dials := 0
		transport := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			dials++
			return nil, fmt.Errorf("dial %d: %w", dials, errors.New("connection refused"))
		}}
		c := newClient(t, Config{BaseURL: "http://localhost", Credentials: Credentials{APIKey: testKey}, Transport: transport})
		_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
		wantKind(t, err, OpFileUpload, archive.KindUnreachable)
		if dials < 3 || archive.Doubtful(err) || !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%d dials, error %v", dials, err)
		}
	})
}

func TestNoConnectionIsUnreachable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		c := newClient(t, Config{BaseURL: "http://localhost", Credentials: Credentials{APIKey: testKey}, Transport: transport, RetryFor: -1})
		_, err := c.Inboxes(t.Context())
		wantKind(t, err, OpInboxes, archive.KindUnreachable)
		if !strings.Contains(err.Error(), "no connection within 30s") {
			t.Errorf("error is %q", err)
		}
	})
}

func TestContextEndsARequest(t *testing.T) {
	for _, tc := range []struct {
		name     string
		handler  http.HandlerFunc
		deadline bool
		want     error
		kind     archive.Kind
	}{
		{"cancelled while the service works", hang, false, context.Canceled, archive.KindOther},
		{"deadline while the service works", hang, true, context.DeadlineExceeded, archive.KindTimeout},
		{"cancelled between repetitions", answer(500, "", ""), false, context.Canceled, archive.KindOther},
		{"deadline between repetitions", answer(500, "", ""), true, context.DeadlineExceeded, archive.KindTimeout},
	} {
		t.Run(tc.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBubbleService(t, tc.handler, func(cfg *Config) { cfg.RetryFor = time.Hour })
				ctx, cancel := context.WithCancel(t.Context())
				if tc.deadline {
					ctx, cancel = context.WithTimeout(t.Context(), 10*time.Second)
				} else {
					time.AfterFunc(10*time.Second, cancel)
				}
				defer cancel()
				started := time.Now()
				_, err := c.Inboxes(ctx)
				wantKind(t, err, OpInboxes, tc.kind)
				if took := time.Since(started); !errors.Is(err, tc.want) || took != 10*time.Second {
					t.Errorf("error is %v after %s, want %v", err, took, tc.want)
				}
			})
		})
	}
}

func TestContextEndsTheWaitForASlot(t *testing.T) {
	c := newService(t, answer(http.StatusOK, "", "body"), func(cfg *Config) { cfg.Connections = 1 })
	content, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: archive.PDF})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = c.Inboxes(ctx)
	wantKind(t, err, OpInboxes, archive.KindOther)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("error is %v", err)
	}
	if err := content.Body.Close(); err != nil {
		t.Error(err)
	}
}

// unconnected is a connection that cannot be made.
type unconnected struct{ err error }

func (u unconnected) RoundTrip(*http.Request) (*http.Response, error) { return nil, u.err }

func TestWhatNoRepetitionHelps(t *testing.T) {
	for _, err := range []error{
		&net.OpError{Op: "dial", Net: "tcp", Err: &net.DNSError{Err: "no such host", Name: "nowhere.example", IsNotFound: true}},
		http.ErrSchemeMismatch,
		&tls.CertificateVerificationError{Err: errors.New("unknown authority")},
	} {
		t.Run(err.Error(), func(t *testing.T) {
			c := newClient(t, Config{
				BaseURL: "https://nowhere.example", Credentials: Credentials{APIKey: testKey}, RetryFor: time.Hour, Transport: unconnected{err},
			})
			if _, got := c.Inboxes(t.Context()); !errors.Is(got, err) {
				t.Errorf("got %v, want %v", got, err)
			}
			if s := c.Stats(); len(s) != 1 || s[0].Requests != 1 || s[0].Retries != 0 {
				t.Errorf("asked %+v, want one request", s)
			}
		})
	}
}

func TestWatchSeesEachAnswer(t *testing.T) {
	status := http.StatusUnauthorized
	var seen []int
	c := newService(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(`{"folders":[]}`))
	}, func(cfg *Config) {
		cfg.Watch = func(resp *http.Response) { seen = append(seen, resp.StatusCode) }
	})
	if _, err := c.Children(t.Context(), 0); err == nil {
		t.Error("no error tells of the refusal")
	}
	status = http.StatusOK
	if _, err := c.Children(t.Context(), 0); err != nil {
		t.Error(err)
	}
	if want := []int{http.StatusUnauthorized, http.StatusOK}; !slices.Equal(seen, want) {
		t.Errorf("saw %v, want %v", seen, want)
	}
}
