package server

import (
	"errors"
	"net/http"
	"path"
	"runtime/debug"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// front is the middleware before the operations.
type front struct {
	log       logrus.FieldLogger
	onRequest func(Request) // nil: not set
	stall     time.Duration // how long a client may send or read nothing
	door      *door
	db        *store.Store
	counters  counters
	activity  *activity
	places    *turns.Places // of requests
	uploads   *turns.Places // of uploads among them
	patience  time.Duration // how long a request waits for one
}

func newFront(o Options, door *door, db *store.Store, activity *activity) *front {
	return &front{
		log: o.Log, onRequest: o.OnRequest, stall: o.Stall, door: door, db: db, activity: activity,
		counters: counters{refused: map[string]int64{}, denied: map[string]int64{}},
		places:   turns.New(o.MaxRequests), uploads: turns.New(o.MaxUploads), patience: patience,
	}
}

// recovered turns a panic into 500, or cuts the connection if the answer has begun.
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

// authenticated requires credentials, and stores the identity in the response.
func (f *front) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		w := asResponse(plain)
		who, err := f.door.identify(r)
		if err == nil {
			w.who = who
			next.ServeHTTP(w, r)
			return
		}
		denied := new(gate.Refusal)
		if errors.As(err, &denied) {
			w.who = holder(denied.Key, denied.User)
		}
		if f.door.accepted.setA || denied.OfUser() {
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

// patience is how long a request waits for its turn before it is refused.
const patience = 10 * time.Second

// admitted calls next for a key with the scope of the operation, when it is the request's turn: the
// options bound the requests and the uploads in flight. The body is not read before. A request that
// waits too long is answered 429; clients may then repeat any request.
func (f *front) admitted(operation route, next handler) handler {
	needed := operation.scope()
	return func(w *response, r *request) error {
		if !r.who.may(needed) {
			return refusal.Deny(refusal.NoScope, archive.KindForbidden, "the API key is not for this operation: it lacks the scope %s", needed)
		}
		who := r.who.party()
		if operation.traits&upload != 0 {
			if !f.uploads.Take(r.Context(), who, f.patience) {
				return sentAway("uploads")
			}
			defer f.uploads.Leave(who)
		}
		if !f.places.Take(r.Context(), who, f.patience) {
			return sentAway("requests")
		}
		defer f.places.Leave(who)
		r.catalog = archiveOf(f.db, r.who)
		return next(w, r)
	}
}

func sentAway(tooMany string) error {
	return refusal.New(archive.KindBusy, "too many %s are under way; try again in a moment", tooMany)
}

// operation answers and counts the requests of a route.
func (f *front) operation(r route, handle handler) http.Handler {
	tally := f.counters.of(r.method, r.path, r.traits)
	return f.problems(func(w *response, request *request) error {
		w.tally = tally
		if r.traits&inquiry == 0 {
			defer f.activity.begin()()
		}
		err := handle(w, request)
		if r.method == http.MethodPost {
			f.activity.change()
		}
		return err
	})
}

// unlocked answers public routes, and calls next for the others.
func unlocked(public map[string]http.Handler, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, found := public[r.URL.Path]
		if !found || r.Method != http.MethodGet && r.Method != http.MethodHead {
			handler = next
		}
		handler.ServeHTTP(w, r)
	})
}

// literal treats a path with empty or dotted segments, and a target that is no path (CONNECT host:443,
// OPTIONS *), as unknown. A ServeMux would redirect it, and a client need not follow a redirect with
// its credentials.
func (f *front) literal(mux *http.ServeMux) http.Handler {
	unknown := f.problems(noSuchOperation)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/") || path.Clean(r.URL.Path) != r.URL.Path {
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}
