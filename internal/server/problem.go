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

const (
	// lostProblem ends the type of the problem that a content is lost.
	lostProblem = "lost-content"
	// fullProblem ends that of the problem that there is no room for what was to be kept.
	fullProblem = "full"
)

// full reports whether err says that a disk is full, or what may be used of it: here, or where the
// database or the bucket is.
func full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// After how many seconds a request may be worth another try.
const (
	afterBusy = "1"
	// afterAway is when a client may find again what this service needs itself.
	afterAway = "5"
	// afterCare is when it may find a content that was lost, or room for another. A person sees to it, if
	// anybody; no client shall wait for that, and archivefs waits for 30 s at most.
	afterCare = "60"
)

// again is after how many seconds another try is worth while, empty when that is not known.
func (o outcome) again() string {
	switch {
	case o.status == http.StatusTooManyRequests:
		return afterBusy
	case o.status == http.StatusServiceUnavailable:
		return afterAway
	case o.name == lostProblem, o.name == fullProblem:
		return afterCare
	}
	return ""
}

// problemPrefix begins the type of a problem.
const problemPrefix = "urn:archivefs:problem:"

func problemType(name string) string { return problemPrefix + name }

// outcomeOf is how an error is answered.
func outcomeOf(err error) outcome {
	if lost(err) != nil {
		return outcome{http.StatusInternalServerError, lostProblem}
	}
	if full(err) {
		return outcome{http.StatusInsufficientStorage, fullProblem}
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return outcomes()[archive.KindTooLarge]
	}
	return outcomes()[archive.KindOf(err)]
}

// answer writes an error. What is not the client's doing is logged and not told, but for a content
// that is lost, and a disk that is full: who asked shall know that nobody has it, or why nothing is taken. Once the answer has begun, or the
// client has gone, the connection is cut, so that nobody takes half of it for whole.
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
	failedDetail = "the service failed; its log says why, beside the id of this request"
	awayDetail   = "what the service needs itself cannot be reached now; try again in a moment"
)

// describe fills a problem with what the client may know of err.
func describe(typ string, status int, err error) problem {
	p := problem{Type: typ}
	switch e := lost(err); {
	case e != nil:
		p.Detail = e.told()
	case full(err):
		p.Detail = "the service has no room left, and kept nothing of this; whoever runs it has to make room"
	case status == http.StatusServiceUnavailable:
		p.Detail = awayDetail
	case status >= http.StatusInternalServerError:
		p.Detail = failedDetail
	}
	if status >= http.StatusInternalServerError {
		return p
	}
	var told *archive.Error
	if errors.As(err, &told) {
		p.Detail = told.Detail
	}
	var blamed refusal.Fields
	if errors.As(err, &blamed) {
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
