package hostile

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
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
		"Range", "If-Range", "If-None-Match", "User-Agent",
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

// Requests returns what was asked since the start or the last Reset, by arrival.
func (s *Service) Requests() []Request {
	return s.RequestsTo("", "")
}

// RequestsTo returns the requests of a method ("" for any) to paths that a pattern
// matches ("" for any), as "/document/{id}/archive".
func (s *Service) RequestsTo(method, pattern string) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	var found []Request
	for _, r := range s.requests {
		if (method == "" || method == r.Method) && (pattern == "" || match(pattern, r.Path)) {
			found = append(found, r.clone())
		}
	}
	return found
}

// Count returns the number of requests that RequestsTo returns.
func (s *Service) Count(method, pattern string) int { return len(s.RequestsTo(method, pattern)) }

// Peak returns the largest number of requests that were in flight at a time.
func (s *Service) Peak() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.peak
}

// Reset forgets requests, violations and the peak; content, shapes and faults stay.
func (s *Service) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests, s.violations, s.peak = nil, nil, s.inFlight
}

// match compares a path with a pattern segment by segment; {name} matches any one.
func match(pattern, path string) bool {
	want, have := strings.Split(pattern, "/"), strings.Split(path, "/")
	return slices.EqualFunc(want, have, func(w, h string) bool {
		return w == h || strings.HasPrefix(w, "{") && strings.HasSuffix(w, "}") && h != ""
	})
}
