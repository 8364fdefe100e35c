package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// problem is an error answer (RFC 9457). Instance names the request, as the log does; Field
// the parameter or form field that is wrong, Errors all of them.
type problem struct {
	Type     string         `json:"type"`
	Title    string         `json:"title"`
	Status   int            `json:"status"`
	Detail   string         `json:"detail,omitempty"`
	Instance string         `json:"instance,omitempty"`
	Field    string         `json:"field,omitempty"`
	Errors   []problemField `json:"errors,omitempty"`
}

type problemField struct {
	Name   string `json:"name"`
	Reason string `json:"reason"`
}

// outcome is how a kind of error is answered.
type outcome struct {
	status int
	name   string // ends the problem's type
}

// outcomes is the one table from kinds to statuses. A kind that says what happened to a
// client's own requests cannot come up here and is answered as a failure of the server.
// Unreachable is what this service needs itself, as a bucket.
// Busy is who waited too long for a turn; Timeout, who stopped in the middle of a body.
func outcomes() map[archive.Kind]outcome {
	failed := outcome{http.StatusInternalServerError, "server"}
	return map[archive.Kind]outcome{
		archive.KindOther:        failed,
		archive.KindInvalid:      {http.StatusBadRequest, "invalid"},
		archive.KindUnauthorized: {http.StatusUnauthorized, "credentials"},
		archive.KindForbidden:    {http.StatusForbidden, "forbidden"},
		archive.KindNotFound:     {http.StatusNotFound, "not-found"},
		archive.KindConflict:     {http.StatusConflict, "conflict"},
		archive.KindTooLarge:     {http.StatusRequestEntityTooLarge, "too-large"},
		archive.KindUnsupported:  {http.StatusNotFound, "operation"},
		archive.KindBusy:         {http.StatusTooManyRequests, "busy"},
		archive.KindServer:       failed,
		archive.KindUnreachable:  {http.StatusServiceUnavailable, "unavailable"},
		archive.KindInterrupted:  failed,
		archive.KindTimeout:      {http.StatusRequestTimeout, "timeout"},
		archive.KindProtocol:     failed,
	}
}

// retryAfter is after how many seconds a client may find again what this service needs itself.
const retryAfter = "5"

// problemPrefix begins the type of a problem.
const problemPrefix = "urn:archivefs:problem:"

func problemType(name string) string { return problemPrefix + name }

// answer writes an error. What is not the client's doing is logged and not told. Once
// the answer has begun, or the client has gone, the connection is cut, so that nobody takes half
// of it for whole.
func (s *Server) answer(w *response, err error) {
	if w.gone || errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler)
	}
	kind := archive.KindOf(err)
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		kind = archive.KindTooLarge
	}
	w.denied = denial(err)
	o := outcomes()[kind]
	if o.status >= http.StatusInternalServerError {
		s.log.WithError(err).WithField("id", w.id).Error("a request failed")
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if kind == archive.KindUnreachable {
		w.Header().Set("Retry-After", retryAfter)
	}
	w.problem(o.status, describe(problemType(o.name), o.status, err))
}

// describe fills a problem with what the client may know of err.
func describe(typ string, status int, err error) problem {
	p := problem{Type: typ}
	if status >= http.StatusInternalServerError {
		return p
	}
	var told *archive.Error
	if errors.As(err, &told) {
		p.Detail = told.Detail
	}
	var blamed fieldErrors
	if errors.As(err, &blamed) {
		p.Field = blamed[0].name
		p.Detail = blamed.Error()
		for _, f := range blamed {
			p.Errors = append(p.Errors, problemField{Name: f.name, Reason: f.reason()})
		}
	}
	return p
}

// problem writes a problem with its title.
func (w *response) problem(status int, p problem) {
	p.Title, p.Status = http.StatusText(status), status
	if w.id != "" {
		p.Instance = "urn:archivefs:request:" + w.id
	}
	w.refused = strings.TrimPrefix(p.Type, problemPrefix)
	body, err := json.Marshal(p)
	if err != nil { // strings and numbers always encode
		body = nil
	}
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body)
}
