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
type handler func(w *response, r *http.Request) error

// route is one operation.
type route struct {
	method, path string
	handle       handler
	further      bool // not one of the specification's eight
}

// routes is the table of operations.
func (s *Server) routes() []route {
	return []route{
		{http.MethodGet, "/archivestructure", s.archiveStructure, false},
		{http.MethodGet, "/document/list", s.documentList, false},
		{http.MethodPost, "/file-upload", s.fileUpload, false},
		{http.MethodPost, "/folder/create", s.folderCreate, false},
		{http.MethodGet, "/inboxes", s.inboxes, false},
		{http.MethodPost, "/document/{id}/archive", s.documentArchive, false},
		{http.MethodPost, "/document/auto_export_status/set", s.autoExportStatusSet, false},
		{http.MethodGet, "/document/{id}/data", s.documentData, false},

		{http.MethodGet, "/document/{id}/pdf", s.documentPDF, true},
		{http.MethodHead, "/document/{id}/pdf", s.documentHead, true},
		{http.MethodGet, "/document/{id}/ocr-result", s.documentText, true},
		{http.MethodGet, "/page/{id}/preview", s.pagePreview, true},
		{http.MethodGet, "/document/{id}/metadata", s.metadata, true},
		{http.MethodPost, "/document/{id}/metadata", s.metadataSet, true},
		{http.MethodPost, "/document/{id}/keywords", s.keywordsSet, true},
		{http.MethodPost, "/document/{id}/rename", s.documentRename, true},
		{http.MethodPost, "/document/{id}/replace", s.documentReplace, true},
		{http.MethodPost, "/document/{id}/delete", s.documentDelete, true},
		{http.MethodGet, "/document/{id}/uploaded-with", s.uploadedWith, true},
		{http.MethodPost, "/search", s.search, true},
	}
}

// publicRoutes is the table of what is told to anybody, without credentials: nothing that
// depends on what the archive holds. The paths are whole ones, and there is a HEAD of each.
func (s *Server) publicRoutes() []route {
	return []route{
		{http.MethodGet, base + "/openapi.json", s.openAPI, true},
	}
}

// served reports whether the options leave an operation in.
func (s *Server) served(r route) bool { return !r.further || !s.options.OnlyEight }

// Handler serves the operations below /api/v2. Requests without credentials, for whatever
// path that is not public, are answered 401.
func (s *Server) Handler() http.Handler {
	mux := http.NewServeMux()
	methods := map[string][]string{}
	for _, route := range s.routes() {
		if !s.served(route) {
			continue
		}
		if route.method == http.MethodHead && s.options.NoHead { // else GET's pattern takes it
			mux.Handle("HEAD "+base+route.path, s.problems(notAllowed([]string{http.MethodGet})))
			continue
		}
		mux.Handle(route.method+" "+base+route.path, s.problems(route.handle))
		methods[base+route.path] = append(methods[base+route.path], route.method)
	}
	public := map[string]http.Handler{}
	for _, route := range s.publicRoutes() {
		if s.served(route) {
			public[route.path] = s.problems(route.handle)
			methods[route.path] = []string{http.MethodGet, http.MethodHead}
		}
	}
	for path, allowed := range methods {
		mux.Handle(path, s.problems(notAllowed(allowed)))
	}
	mux.Handle("/", s.problems(noSuchOperation))
	return s.logged(s.recovered(unlocked(public, s.authenticated(s.literal(mux)))))
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

// literal takes a path with empty or dotted segments for an unknown one. A ServeMux
// redirects it to another path, which a client that sends its keys along need not follow.
func (s *Server) literal(mux *http.ServeMux) http.Handler {
	unknown := s.problems(noSuchOperation)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path.Clean(r.URL.Path) != r.URL.Path {
			unknown.ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// notAllowed answers a method that a path does not have (RFC 9110, 15.5.6).
func notAllowed(allowed []string) handler {
	slices.Sort(allowed)
	return func(w *response, r *http.Request) error {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		w.problem(http.StatusMethodNotAllowed, problem{
			Type:   problemType("method"),
			Detail: r.Method + " is not a method of " + archive.Printable(r.URL.Path),
		})
		return nil
	}
}

func noSuchOperation(_ *response, r *http.Request) error {
	return refuse(archive.KindUnsupported, "there is no operation %s %s", r.Method, archive.Printable(r.URL.Path))
}
