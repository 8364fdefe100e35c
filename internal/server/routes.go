package server

import (
	_ "embed" // the description of the interface
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/refusal"
)

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

// Handler serves the operations below /api/v2. Any request without credentials is answered 401,
// except to public paths.
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
		w.body("application/json", text)
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
