package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/refusal"
)

// problem is an error answer (RFC 9457). Instance is the id of the request, as in the log; Field is
// the parameter or form field that is wrong, Errors are all of them.
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

// outcome is the answer for a kind of error.
type outcome struct {
	status int
	name   string // end of the problem's type
}

// outcomes is the only table from kinds to statuses. Kinds for errors of a client's own requests cannot occur and
// become 500. Unreachable is about a dependency of this service, such as a bucket. Busy: the request waited too long
// for its turn. Timeout: the client stopped in the middle of a body.
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
		archive.KindForeign:      {http.StatusServiceUnavailable, "unavailable"},
		archive.KindInterrupted:  failed,
		archive.KindTimeout:      {http.StatusRequestTimeout, "timeout"},
		archive.KindProtocol:     failed,
	}
}

const (
	// lostProblem ends the type of the problem of a lost content.
	lostProblem = "lost-content"
	// fullProblem ends the type of the problem of a full disk.
	fullProblem = "full"
)

// full reports whether err is about a full disk or an exceeded quota, of this machine, the database or the bucket.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// Values of Retry-After, in seconds.
const (
	afterBusy = "1"
	// afterUnavailable is for an unavailable dependency of this service.
	afterUnavailable = "5"
	// afterCare is for a lost content and a full disk, which a person must fix. It exceeds the 30 s for
	// which archivefs waits at most.
	afterCare = "60"
)

// again returns the Retry-After in seconds, empty if unknown.
func (o outcome) again() string {
	switch {
	case o.status == http.StatusTooManyRequests:
		return afterBusy
	case o.status == http.StatusServiceUnavailable:
		return afterUnavailable
	case o.name == lostProblem, o.name == fullProblem:
		return afterCare
	}
	return ""
}

// problemPrefix begins the type of a problem.
const problemPrefix = "urn:archivefs:problem:"

func problemType(name string) string { return problemPrefix + name }

// outcomeOf returns the outcome of an error.
func outcomeOf(err error) outcome {
	if lost(err) != nil {
		return outcome{http.StatusInternalServerError, lostProblem}
	}
	if full(err) {
		return outcome{http.StatusInsufficientStorage, fullProblem}
	}
	if _, tooLarge := errors.AsType[*http.MaxBytesError](err); tooLarge {
		return outcomes()[archive.KindTooLarge]
	}
	return outcomes()[archive.KindOf(err)]
}

// answer writes an error. An error that is not the client's is logged and not reported, except for
// a lost content and a full disk, so that the user knows why. If the answer has begun, or the
// client has gone, the connection is cut, so that nobody takes a part of the answer for the whole.
func (f *front) answer(w *response, err error) {
	if w.gone || errors.Is(err, context.Canceled) {
		panic(http.ErrAbortHandler)
	}
	w.denied = refusal.Denial(err)
	o := outcomeOf(err)
	if o.status >= http.StatusInternalServerError {
		log := f.log.WithError(err).WithField("id", w.id)
		if e := lost(err); e != nil {
			e.note(log)
		} else {
			log.Error("a request failed")
		}
	}
	if w.status != 0 {
		panic(http.ErrAbortHandler)
	}
	if again := o.again(); again != "" && w.Header().Get("Retry-After") == "" {
		w.Header().Set("Retry-After", again)
	}
	w.problem(o.status, describe(problemType(o.name), o.status, err))
}

const (
	failedDetail      = "the service failed; its log says why, beside the id of this request"
	unavailableDetail = "what the service needs itself cannot be reached now; try again in a moment"
)

// describe fills a problem with the public part of err.
func describe(typ string, status int, err error) problem {
	p := problem{Type: typ}
	switch e := lost(err); {
	case e != nil:
		p.Detail = e.public()
	case full(err):
		p.Detail = "the service has no room left, and stored nothing of this; its operator has to make room"
	case status == http.StatusServiceUnavailable:
		p.Detail = unavailableDetail
	case status >= http.StatusInternalServerError:
		p.Detail = failedDetail
	}
	if status >= http.StatusInternalServerError {
		return p
	}
	if refused, ok := errors.AsType[*archive.Error](err); ok {
		p.Detail = refused.Detail
	}
	if blamed, ok := errors.AsType[refusal.Fields](err); ok {
		p.Field = blamed[0].Name
		p.Detail = blamed.Error()
		for _, f := range blamed {
			p.Errors = append(p.Errors, problemField{Name: f.Name, Reason: f.Reason()})
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
