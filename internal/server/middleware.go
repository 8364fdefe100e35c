package server

import (
	"errors"
	"net/http"
	"runtime/debug"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
)

// front is what stands before the operations.
type front struct {
	log       logrus.FieldLogger
	onRequest func(Request) // nil where nobody is told
	stall     time.Duration // how long a client that sends or takes nothing is waited for
	door      *door
	db        database
	counters  counters
	activity  *activity
	places    *places       // of requests
	uploads   *places       // of uploads among them
	patience  time.Duration // of who waits for one
}

func newFront(o Options, door *door, db database, activity *activity) *front {
	return &front{
		log: o.Log, onRequest: o.OnRequest, stall: o.Stall, door: door, db: db, activity: activity,
		counters: counters{refused: map[string]int64{}, denied: map[string]int64{}},
		places:   newPlaces(o.MaxRequests), uploads: newPlaces(o.MaxUploads), patience: patience,
	}
}

// recovered turns a panic into 500, or cuts the connection when the answer has begun.
func (f *front) recovered(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		w := asResponse(plain)
		defer func() {
			cause := recover()
			if cause == nil {
				return
			}
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(http.ErrAbortHandler)
			}
			f.log.WithFields(logrus.Fields{"id": w.id, "panic": cause, "stack": string(debug.Stack())}).Error("a request failed")
			if w.status != 0 {
				panic(http.ErrAbortHandler)
			}
			w.problem(http.StatusInternalServerError, problem{Type: problemType("server"), Detail: failedDetail})
		}()
		next.ServeHTTP(w, r)
	})
}

// authenticated serves nothing without credentials, and remembers whose they are.
func (f *front) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		w := asResponse(plain)
		who, err := f.door.identify(r)
		if err == nil {
			w.who = who
			next.ServeHTTP(w, r)
			return
		}
		refusal := new(gate.Refusal)
		if errors.As(err, &refusal) {
			w.who = holder(refusal.Key, refusal.User)
		}
		if f.door.accepted.setA || refusal.OfUser() {
			w.Header().Set("WWW-Authenticate", `Basic realm="archive", charset="UTF-8"`)
		}
		if archive.KindOf(err) == archive.KindBusy {
			w.Header().Set("Retry-After", gate.RetryAfter)
		}
		f.answer(w, err)
	})
}

// problems answers the errors of a handler.
func (f *front) problems(next handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		w := asResponse(plain)
		if err := next(w, &request{Request: r, who: w.who}); err != nil {
			f.answer(w, err)
		}
	})
}

func asResponse(w http.ResponseWriter) *response {
	if r, ok := w.(*response); ok {
		return r
	}
	return &response{ResponseWriter: w}
}
