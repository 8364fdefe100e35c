package server

import (
	_ "embed" // the description of the interface
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"path"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
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

// literal treats a path with empty or dotted segments, and a target that is no path (CONNECT host:443, OPTIONS *), as
// unknown. A ServeMux would redirect it, and a client need not follow a redirect with its credentials.
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

// base is where every operation lives (specification, Versioning).
const base = "/api/v2"

// handler answers a request, or returns the error for a problem.
type handler func(w *response, r *request) error

// ofID calls next with the id in the path.
func ofID(next func(w *response, r *request, id archive.ID) error) handler {
	return func(w *response, r *request) error {
		id, err := pathID(r)
		if err != nil {
			return err
		}
		return next(w, r, id)
	}
}

// route is one operation.
type route struct {
	method, path string
	handle       handler
	traits       traits
}

// traits are the peculiarities of an operation.
type traits int

const (
	further   traits = 1 << iota // not one of the specification's eight
	upload                       // has a file in its body
	inquiry                      // does not delay background work
	looks                        // changes nothing, although it is a POST
	specified traits = 0
)

// scope is the scope that an operation needs: POST writes, except for a search.
func (r route) scope() Scope {
	if r.method != http.MethodPost || r.traits&looks != 0 {
		return ScopeRead
	}
	return ScopeWrite
}

// routes is the table of operations. Each group has its rows beside its handlers.
func (s *Server) routes() []route {
	data := dataHandlers{location: s.options.Location}
	return slices.Concat(
		listHandlers{location: s.options.Location, hideSizes: s.options.HideSizes, kept: newKeptLists()}.routes(),
		data.routes(),
		contentHandlers{renderer: s.renderer, noRange: s.options.NoRange}.routes(),
		newUploadHandlers(s.intake).routes(),
		(&searchHandlers{dataHandlers: data, renderer: s.renderer}).routes(),
		archivingRoutes(),
	)
}

// publicRoutes is the table of routes without credentials: they reveal nothing about the archive.
// The paths are complete, and each has a HEAD.
func (s *Server) publicRoutes() []route {
	return []route{
		{http.MethodGet, "/healthz", healthz, specified},
		{http.MethodGet, "/readyz", s.health.readyz, specified},
		{http.MethodGet, base + "/openapi.json", openAPI(s.describeServed), specified},
	}
}

// served reports whether the options include an operation.
func (s *Server) served(r route) bool { return r.traits&further == 0 || !s.options.OnlyEight }

// Handler serves the operations below /api/v2. Any request without credentials is answered 401, except to public paths.
func (s *Server) Handler() http.Handler {
	f, mux := s.front, http.NewServeMux()
	methods := map[string][]string{}
	for _, route := range s.routes() {
		if !s.served(route) {
			continue
		}
		route.path = base + route.path
		if route.method == http.MethodHead && s.options.NoHead { // otherwise the pattern of GET matches it
			methods[route.path] = []string{http.MethodGet}
			mux.Handle("HEAD "+route.path, f.problems(notAllowed(methods[route.path])))
			continue
		}
		mux.Handle(route.method+" "+route.path, f.operation(route, f.admitted(route, route.handle)))
		methods[route.path] = append(methods[route.path], route.method)
		if route.method == http.MethodGet { // the pattern matches HEAD, too
			methods[route.path] = append(methods[route.path], http.MethodHead)
		}
	}
	public := map[string]http.Handler{}
	for _, route := range s.publicRoutes() {
		public[route.path] = f.operation(route, route.handle)
		methods[route.path] = []string{http.MethodGet, http.MethodHead}
	}
	for path, allowed := range methods {
		mux.Handle(path, f.problems(notAllowed(allowed)))
	}
	mux.Handle("/", f.problems(noSuchOperation))
	return f.logged(f.recovered(unlocked(public, f.authenticated(f.literal(mux)))))
}

// notAllowed answers 405 (RFC 9110, section 15.5.6).
func notAllowed(allowed []string) handler {
	slices.Sort(allowed)
	allow := strings.Join(slices.Compact(allowed), ", ")
	return func(w *response, r *request) error {
		w.Header().Set("Allow", allow)
		w.problem(http.StatusMethodNotAllowed, problem{
			Type:   problemType("method"),
			Detail: r.Method + " is not a method of " + archive.Printable(r.URL.Path),
		})
		return nil
	}
}

func noSuchOperation(_ *response, r *request) error {
	return refusal.New(archive.KindUnsupported, "there is no operation %s %s", r.Method, archive.Printable(r.URL.Path))
}

// interfaceDescription is the OpenAPI document of the operations, written by hand. The tests
// check every answer against it.
//
//go:embed openapi.json
var interfaceDescription string

// openAPI answers GET /openapi.json: the document that describe makes once.
func openAPI(describe func() ([]byte, error)) handler {
	describe = sync.OnceValues(describe)
	return func(w *response, _ *request) error {
		text, err := describe()
		if err != nil {
			return err
		}
		w.body(http.StatusOK, "application/json", text)
		return nil
	}
}

// describeServed is the OpenAPI document of the served operations.
func (s *Server) describeServed() ([]byte, error) {
	if !s.options.OnlyEight {
		return []byte(interfaceDescription), nil
	}
	var document map[string]any
	if err := json.Unmarshal([]byte(interfaceDescription), &document); err != nil {
		return nil, fmt.Errorf("read the description of the interface: %w", err)
	}
	served := map[string]bool{}
	for _, r := range slices.Concat(s.routes(), s.publicRoutes()) {
		served[strings.ToLower(r.method)+" "+strings.TrimPrefix(r.path, base)] = s.served(r)
	}
	paths := member(document, "paths")
	for path := range paths {
		item, kept := member(paths, path), false
		for method := range item {
			keep, operation := served[method+" "+path]
			if operation && !keep {
				delete(item, method)
			}
			kept = kept || keep
		}
		if !kept {
			delete(paths, path)
		}
	}
	text, err := json.MarshalIndent(document, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the description of the interface: %w", err)
	}
	return text, nil
}

// member is an object inside another one, empty if there is none.
func member(object map[string]any, name string) map[string]any {
	found, _ := object[name].(map[string]any)
	return found
}
