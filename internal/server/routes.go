package server

import (
	"net/http"
	"path"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// base is where every operation lives (specification, Versioning).
const base = "/api/v2"

// handler answers a request, or returns the error to be answered as a problem.
type handler func(w *response, r *request) error

// route is one operation.
type route struct {
	method, path string
	handle       handler
	traits       traits
}

// traits are what sets an operation apart.
type traits int

const (
	further   traits = 1 << iota // not one of the specification's eight
	upload                       // brings a file
	inquiry                      // does not keep other work from being done
	looks                        // changes nothing, although it is posted
	specified traits = 0
)

// routes is the table of operations.
func (s *Server) routes() []route {
	return []route{
		{http.MethodGet, "/archivestructure", s.archiveStructure, specified},
		{http.MethodGet, "/document/list", s.documentList, specified},
		{http.MethodPost, "/file-upload", s.fileUpload, upload},
		{http.MethodPost, "/folder/create", s.folderCreate, specified},
		{http.MethodGet, "/inboxes", s.inboxes, specified},
		{http.MethodPost, "/document/{id}/archive", s.documentArchive, specified},
		{http.MethodPost, "/document/auto_export_status/set", s.autoExportStatusSet, specified},
		{http.MethodGet, "/document/{id}/data", s.documentData, specified},

		{http.MethodGet, "/document/{id}/pdf", s.documentPDF, further},
		{http.MethodHead, "/document/{id}/pdf", s.documentHead, further},
		{http.MethodGet, "/document/{id}/ocr-result", s.documentText, further},
		{http.MethodGet, "/page/{id}/ocr-result", s.pageText, further},
		{http.MethodGet, "/page/{id}/preview", s.pagePreview, further},
		{http.MethodGet, "/document/{id}/metadata", s.metadata, further},
		{http.MethodPost, "/document/{id}/metadata", s.metadataSet, further},
		{http.MethodPost, "/document/{id}/keywords", s.keywordsSet, further},
		{http.MethodPost, "/document/{id}/rename", s.documentRename, further},
		{http.MethodPost, "/document/{id}/replace", s.documentReplace, further | upload},
		{http.MethodPost, "/document/{id}/delete", s.documentDelete, further},
		{http.MethodGet, "/document/{id}/uploaded-with", s.uploadedWith, further},
		{http.MethodPost, "/search", s.search, further | inquiry | looks},
	}
}

// publicRoutes is the table of what is told to anybody, without credentials: nothing that
// depends on what the archive holds. The paths are whole ones, and there is a HEAD of each.
func (s *Server) publicRoutes() []route {
	return []route{
		{http.MethodGet, "/healthz", s.healthz, specified},
		{http.MethodGet, "/readyz", s.readyz, specified},
		{http.MethodGet, base + "/openapi.json", s.openAPI, specified},
	}
}

// served reports whether the options leave an operation in.
func (s *Server) served(r route) bool { return r.traits&further == 0 || !s.options.OnlyEight }

// Handler serves the operations below /api/v2. Requests without credentials, for whatever
// path that is not public, are answered 401.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, route := range s.routes() {
		if !s.served(route) {
			continue
		}
		route.path = base + route.path
		if route.method == http.MethodHead && s.options.NoHead { // else GET's pattern takes it
			methods[route.path] = []string{http.MethodGet}
			mux.Handle("HEAD "+route.path, s.problems(notAllowed(methods[route.path])))
			continue
		}
		mux.Handle(route.method+" "+route.path, s.operation(route, s.admitted(route, route.handle)))
		methods[route.path] = append(methods[route.path], route.method)
		if route.method == http.MethodGet { // whose pattern takes HEAD, too
			methods[route.path] = append(methods[route.path], http.MethodHead)
		}
	}
	public := map[string]http.Handler{}
	for _, route := range s.publicRoutes() {
		public[route.path] = s.operation(route, route.handle)
		methods[route.path] = []string{http.MethodGet, http.MethodHead}
	}
	for path, allowed := range methods {
		mux.Handle(path, s.problems(notAllowed(allowed)))
	}
	mux.Handle("/", s.problems(noSuchOperation))
	return s.logged(s.recovered(unlocked(public, s.authenticated(s.literal(mux)))))
}

// operation answers a route's requests, and counts them as such.
func (s *Server) operation(r route, handle handler) http.Handler {
	tally := s.counters.of(r.method, r.path, r.traits)
	return s.problems(func(w *response, request *request) error {
		w.tally = tally
		if r.traits&inquiry == 0 {
			defer s.activity.begin()()
		}
		err := handle(w, request)
		if r.method == http.MethodPost {
			s.activity.change()
		}
		return err
	})
}

// unlocked answers what is public, and lets next answer everything else.
func unlocked(public map[string]http.Handler, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler, found := public[r.URL.Path]
		if !found || r.Method != http.MethodGet && r.Method != http.MethodHead {
			handler = next
		}
		handler.ServeHTTP(w, r)
	})
}

// literal takes a path with empty or dotted segments for an unknown one, and what is no path
// (CONNECT host:443, OPTIONS *). A ServeMux redirects the first to another path, which a
// client that sends its keys along need not follow.
func (s *Server) literal(mux *http.ServeMux) http.Handler {
	unknown := s.problems(noSuchOperation)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasPrefix(r.URL.Path, "/") || path.Clean(r.URL.Path) != r.URL.Path {
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// notAllowed answers a method that a path does not have (RFC 9110, 15.5.6).
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
	return refuse(archive.KindUnsupported, "there is no operation %s %s", r.Method, archive.Printable(r.URL.Path))
}
