//go:build linux

package office

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Wire is the way between the mount and the service. It passes everything on and counts, unless it
// is told to give uploads trouble.
type Wire struct {
	trouble  *trouble
	mu       sync.Mutex
	requests map[string]int // guarded by mu: by method and path, ids left out
	sent     atomic.Int64   // bytes of documents that went up
	received atomic.Int64   // bytes of contents that came down
	previews atomic.Int64   // bytes of previews that came down
	busy     atomic.Int64
	last     atomic.Int64 // when the last request ended, nanoseconds
}

// Traffic is what went over the wire in some time.
type Traffic struct {
	Requests                 map[string]int
	Sent, Received, Previews int64
}

// content are the paths whose answers are contents of documents, and preview those of previews of a page.
var (
	content = regexp.MustCompile(`/(pdf|ocr-result)$`)
	preview = regexp.MustCompile(`/preview$`)
)

var number = regexp.MustCompile(`/[0-9]+(/|$)`)

// newWire starts a server that passes everything on to the service at target.
func newWire(target string) (*Wire, *httptest.Server, error) {
	to, err := url.Parse(target)
	if err != nil {
		return nil, nil, err
	}
	w := &Wire{requests: map[string]int{}, trouble: newTrouble()}
	w.last.Store(time.Now().UnixNano())
	proxy := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1, // readers get what there is, as without a wire
		ModifyResponse: func(r *http.Response) error {
			switch path := r.Request.URL.Path; {
			case content.MatchString(path):
				r.Body = &counted{r.Body, &w.received}
			case preview.MatchString(path):
				r.Body = &counted{r.Body, &w.previews}
			}
			return nil
		},
	}
	front := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w.busy.Add(1)
		defer func() {
			w.last.Store(time.Now().UnixNano())
			w.busy.Add(-1)
		}()
		path := number.ReplaceAllString(strings.TrimPrefix(r.URL.Path, "/api/v2"), "/ID$1")
		w.mu.Lock()
		w.requests[r.Method+" "+path]++
		w.mu.Unlock()
		if r.Method == http.MethodPost && r.Body != nil {
			r.Body = &counted{r.Body, &w.sent}
		}
		if path == "/file-upload" {
			if w.trouble.refuses(rw) {
				return
			}
			r.Body = &held{ReadCloser: r.Body, trouble: w.trouble}
		}
		proxy.ServeHTTP(rw, r)
	}))
	return w, front, nil
}

// counted counts the bytes of a body.
type counted struct {
	io.ReadCloser
	n *atomic.Int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// quietFor is how long nothing was asked.
func (w *Wire) quietFor() time.Duration {
	if w.busy.Load() > 0 {
		return 0
	}
	return time.Since(time.Unix(0, w.last.Load()))
}

// Take returns what went over the wire since it was last taken.
func (w *Wire) Take() Traffic {
	w.mu.Lock()
	defer w.mu.Unlock()
	t := Traffic{Requests: w.requests, Sent: w.sent.Swap(0), Received: w.received.Swap(0), Previews: w.previews.Swap(0)}
	w.requests = map[string]int{}
	return t
}

// String lists the requests, the most frequent first.
func (t Traffic) String() string {
	names := slices.SortedFunc(maps.Keys(t.Requests), func(a, b string) int {
		return cmp.Or(cmp.Compare(t.Requests[b], t.Requests[a]), cmp.Compare(a, b))
	})
	var parts []string
	for _, name := range names {
		parts = append(parts, fmt.Sprintf("%d × %s", t.Requests[name], name))
	}
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}

// Count is how many requests began so ("POST /file-upload").
func (t Traffic) Count(prefix string) (n int) {
	for name, times := range t.Requests {
		if strings.HasPrefix(name, prefix) {
			n += times
		}
	}
	return n
}

// Total is what went over the wire since it was last taken.
func (w *Wire) Total() Traffic {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Traffic{Requests: maps.Clone(w.requests), Sent: w.sent.Load(), Received: w.received.Load(), Previews: w.previews.Load()}
}
