package apiclient

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// perSecond is the limit of these tests; a content takes minutes.
const perSecond = 10 << 10

var slowContent = strings.Repeat("x", 120*perSecond)

// quick takes what is sent, and answers each operation at once.
func quick(w http.ResponseWriter, r *http.Request) {
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		return // the client has gone
	}
	switch {
	case r.Method == http.MethodPost:
		reply(w, http.StatusOK, "text/plain", "17")
	case strings.HasSuffix(r.URL.Path, "/data"):
		reply(w, http.StatusOK, mediaJSON, `{"id":4,"x":"`+slowContent+`"}`)
	case strings.HasSuffix(r.URL.Path, "/pdf"), strings.HasSuffix(r.URL.Path, "/preview"):
		reply(w, http.StatusOK, "application/octet-stream", slowContent)
	default:
		reply(w, http.StatusOK, mediaJSON, "["+strings.Repeat(" ", len(slowContent))+"]")
	}
}

func limitedTo(up, down int64) func(*Config) {
	return func(cfg *Config) { cfg.UploadLimit, cfg.DownloadLimit, cfg.Connections = up, down, 64 }
}

func uploadSlow(ctx context.Context, c *Client) error {
	_, err := c.Upload(ctx, archive.Upload{Folder: 1, Name: "a"}, newBlob(slowContent))
	return err
}

func replaceSlow(ctx context.Context, c *Client) error {
	return c.Replace(ctx, 4, "a", nil, newBlob(slowContent))
}

// readSlow reads a content with a buffer that is larger than what may pass at a time.
func readSlow(as archive.Representation) func(context.Context, *Client) error {
	return func(ctx context.Context, c *Client) error {
		content, err := c.Content(ctx, archive.ContentRequest{Document: 4, Representation: as})
		if err != nil {
			return err
		}
		n, err := io.ReadFull(content.Body, make([]byte, len(slowContent)))
		if err == nil && n != len(slowContent) {
			err = io.ErrUnexpectedEOF
		}
		return errors.Join(err, content.Body.Close())
	}
}

func TestLimitsHoldForAllRequestsTogether(t *testing.T) {
	const content = 120 * time.Second // takes a content alone
	for _, tt := range []struct {
		name     string
		up, down int64
		calls    []func(context.Context, *Client) error
		times    int // each
		want     time.Duration
	}{
		{"two uploads", perSecond, 0, []func(context.Context, *Client) error{uploadSlow, replaceSlow}, 1, 2 * content},
		{"uploads that wait longer than a stall for their turn", perSecond, 0, []func(context.Context, *Client) error{uploadSlow}, 40, 40 * content},
		{
			"an original, a picture and data", 0, perSecond,
			[]func(context.Context, *Client) error{readSlow(archive.Original), readSlow(archive.Preview), readSlow(archive.Data)},
			1, 3 * content,
		},
		{"contents that wait longer than a stall for their turn", 0, perSecond, []func(context.Context, *Client) error{readSlow(archive.PDF)}, 40, 40 * content},
		{"both directions, each with its own", perSecond, 2 * perSecond, []func(context.Context, *Client) error{uploadSlow, readSlow(archive.PDF)}, 1, content},
		{"one that is as large as an int", 1 << 62, 1 << 62, []func(context.Context, *Client) error{uploadSlow, readSlow(archive.PDF)}, 1, 0},
		{"listings", perSecond, perSecond, []func(context.Context, *Client) error{listOnce}, 2, 0},
		{"no limit", 0, 0, []func(context.Context, *Client) error{uploadSlow, readSlow(archive.PDF)}, 2, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBubbleService(t, quick, limitedTo(tt.up, tt.down), func(cfg *Config) { cfg.Stall = 3 * time.Second })
				began, ended, n := time.Now(), make(chan error), 0
				for _, call := range tt.calls {
					for range tt.times {
						n++
						go func() { ended <- call(t.Context(), c) }()
					}
				}
				for range n {
					if err := <-ended; err != nil {
						t.Error(err)
					}
				}
				// A piece, and what is sent around a content.
				if d := time.Since(began) - tt.want; d < -time.Second || d > 5*time.Second {
					t.Errorf("it took %s, want %s", time.Since(began), tt.want)
				}
			})
		})
	}
}

func TestAListingPassesContentsThatWaitForTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newBubbleService(t, quick, limitedTo(perSecond, perSecond))
		ended := make(chan error)
		go func() { ended <- uploadSlow(t.Context(), c) }()
		go func() { ended <- readSlow(archive.PDF)(t.Context(), c) }()
		time.Sleep(time.Second)
		began := time.Now()
		if err := listOnce(t.Context(), c); err != nil || time.Since(began) != 0 {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if s := c.Stats(); s[1].Silent+s[2].Silent != 0 { // the other operations
			t.Errorf("the service counts as silent: %+v", s)
		}
		for range 2 {
			if err := <-ended; err != nil {
				t.Error(err)
			}
		}
	})
}

// A byte a second: each piece waits for a quarter of an hour.
func TestTheEndOfARequestEndsItsWaitForTheLimit(t *testing.T) {
	refused := &archive.Error{Kind: archive.KindConflict}
	for name, tt := range map[string]struct {
		handler http.HandlerFunc
		call    func(context.Context, *Client) error
		end     func(context.CancelFunc, *Client) // after a minute
		want    error
		after   time.Duration
	}{
		"an upload whose caller leaves":   {quick, uploadSlow, func(end context.CancelFunc, _ *Client) { end() }, context.Canceled, time.Minute},
		"a download whose caller leaves":  {quick, readSlow(archive.PDF), func(end context.CancelFunc, _ *Client) { end() }, context.Canceled, time.Minute},
		"an upload before the sleep":      {quick, uploadSlow, func(_ context.CancelFunc, c *Client) { _ = c.Pause(context.Background(), 0) }, errPaused, time.Minute},
		"a download that is closed":       {quick, closeAMinuteLater, func(context.CancelFunc, *Client) {}, context.Canceled, time.Minute},
		"an upload that is refused early": {answer(http.StatusConflict, "", ""), uploadSlow, func(context.CancelFunc, *Client) {}, refused, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newBubbleService(t, tt.handler, limitedTo(1, 1), func(cfg *Config) { cfg.RetryFor = -1 })
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var took time.Duration
				began, ended := time.Now(), make(chan error, 1)
				go func() {
					err := tt.call(ctx, c)
					took = time.Since(began)
					ended <- err
				}()
				time.Sleep(time.Minute)
				tt.end(cancel, c)
				err := <-ended
				if took != tt.after {
					t.Errorf("after %s", took)
				}
				if !errors.Is(err, tt.want) && (archive.KindOf(err) != archive.KindOf(tt.want) || !errors.Is(tt.want, refused)) {
					t.Errorf("error is %v, want %v", err, tt.want)
				}
			})
		})
	}
}

// closeAMinuteLater closes a content while it is read.
func closeAMinuteLater(ctx context.Context, c *Client) error {
	content, err := c.Content(ctx, archive.ContentRequest{Document: 4, Representation: archive.PDF})
	if err != nil {
		return err
	}
	time.AfterFunc(time.Minute, func() { _ = content.Body.Close() })
	_, err = io.Copy(io.Discard, content.Body)
	return err
}
