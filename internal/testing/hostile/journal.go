package hostile

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// Request is what the service was asked.
type Request struct {
	Method string
	// Path is relative to the base path, as "/document/17/archive"; a path elsewhere
	// is whole.
	Path  string
	Query url.Values
	// Form holds the form fields, of multipart bodies too, the file aside.
	Form url.Values
	// FileName and FileSize are those of upload-data; FileSize is -1 without.
	FileName string
	FileSize int64
	// Body is a JSON body.
	Body []byte
	// Length is the announced length of the body, -1 for a chunked one.
	Length int64
	// Header holds credentials, media types, range and conditions.
	Header http.Header
	// Status is what was answered, 0 when nothing was (yet).
	Status int
	// Handled tells that the operation was carried out, whatever was answered.
	Handled bool
	// Struck tells that a fault was at work.
	Struck bool
}

// newRequest records what is known of r before its body is read.
func newRequest(r *http.Request, base string) *Request {
	rec := &Request{
		Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Form: url.Values{},
		FileSize: -1, Length: r.ContentLength, Header: http.Header{},
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, base); ok && strings.HasPrefix(rest, "/") {
		rec.Path = rest
	}
	for _, name := range []string{
		"Api-Key", "Cloud-Id", "Authorization", "Accept", "Accept-Encoding", "Content-Type",
		"Expect", "Range", "If-Range", "If-None-Match", "User-Agent",
	} {
		if v := r.Header.Values(name); v != nil {
			rec.Header[name] = slices.Clone(v)
		}
	}
	return rec
}

// clone returns a copy that shares no map with r.
func (r *Request) clone() Request {
	c := *r
	c.Query, c.Form, c.Header = maps.Clone(r.Query), maps.Clone(r.Form), maps.Clone(r.Header)
	return c
}

// journal records the requests and what they did against the specification.
type journal struct {
	mu         sync.Mutex
	requests   []*Request // guarded by mu, in the order of arrival, as is what is recorded of each
	violations []string   // guarded by mu
	inFlight   int        // guarded by mu
	peak       int        // guarded by mu
}

// Requests returns what was asked since the start or the last Reset, by arrival.
func (j *journal) Requests() []Request {
	return j.RequestsTo("", "")
}

// RequestsTo returns the requests of a method ("" for any) to paths that a pattern
// matches ("" for any), as "/document/{id}/archive".
func (j *journal) RequestsTo(method, pattern string) []Request {
	j.mu.Lock()
	defer j.mu.Unlock()
	var found []Request
	for _, r := range j.requests {
		if (method == "" || method == r.Method) && (pattern == "" || match(pattern, r.Path)) {
			found = append(found, r.clone())
		}
	}
	return found
}

// Count returns the number of requests that RequestsTo returns.
func (j *journal) Count(method, pattern string) int { return len(j.RequestsTo(method, pattern)) }

// Peak returns the largest number of requests that were in flight at a time.
func (j *journal) Peak() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.peak
}

// Reset forgets requests, violations and the peak; content, shapes and faults stay.
func (j *journal) Reset() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.requests, j.violations, j.peak = nil, nil, j.inFlight
}

// Violations returns what requests did against the specification, one sentence each.
func (j *journal) Violations() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.violations)
}

// violate notes violations. They never hold the value of a parameter or header.
func (j *journal) violate(r *http.Request, problems []string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, problem := range problems {
		j.violations = append(j.violations, fmt.Sprintf("%s %q: %s", r.Method, r.URL.Path, problem))
	}
}

// arrive records a request and returns what strike does with it. It is one step, so that
// faults count the requests in the order of the journal.
func (j *journal) arrive(r *Request, strike func(*Request) Action) Action {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inFlight++
	j.peak = max(j.peak, j.inFlight)
	j.requests = append(j.requests, r)
	return strike(r)
}

func (j *journal) leave() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.inFlight--
}

// note changes what is recorded of a request.
func (j *journal) note(r *Request, change func(*Request)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(r)
}

// match compares a path with a pattern segment by segment; {name} matches any one.
func match(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, have, func(w, h string) bool {
		return w == h || strings.HasPrefix(w, "{") && strings.HasSuffix(w, "}") && h != ""
	})
}
