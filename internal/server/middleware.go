package server

import (
	"errors"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// maxLogged is how much of a form is logged, in bytes.
const maxLogged = 512

// logged writes a line for each request and calls OnRequest. Headers, where the
// credentials are, and bodies other than form fields are never logged.
func (s *Server) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		began := time.Now()
		w := &response{ResponseWriter: plain}
		defer func() {
			done := Request{
				Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Form: w.form,
				Status: w.status, Bytes: w.bytes, Duration: time.Since(began),
			}
			s.log.WithFields(line(done)).Info("request")
			if s.options.OnRequest != nil {
				s.options.OnRequest(done)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// line is what is logged of a request.
func line(r Request) logrus.Fields {
	l := logrus.Fields{
		"method": r.Method, "path": decoded(r),
		"status": r.Status, "bytes": r.Bytes, "duration": r.Duration.Round(time.Microsecond),
	}
	if len(r.Form) > 0 {
		l["form"] = fields(r.Form)
	}
	return l
}

// decoded is a request's path and query as people read them.
func decoded(r Request) string {
	path := archive.Printable(r.Path)
	if len(r.Query) > 0 {
		path += "?" + fields(r.Query)
	}
	return path
}

// fields joins parameters by name, decoded, escaped for printing and shortened.
func fields(values url.Values) string {
	names := make([]string, 0, len(values))
	for name := range values {
		names = append(names, name)
	}
	slices.Sort(names)
	var b strings.Builder
	for i, name := range names {
		if i > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name + "=" + strings.Join(values[name], ","))
		if b.Len() > maxLogged {
			return archive.Printable(b.String()[:maxLogged]) + "..."
		}
	}
	return archive.Printable(b.String())
}

// recovered turns a panic into 500, or cuts the connection when the answer has begun.
func (s *Server) recovered(next http.Handler) http.Handler {
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
			s.log.WithFields(logrus.Fields{"panic": cause, "stack": string(debug.Stack())}).Error("a request failed")
			if w.status != 0 {
				panic(http.ErrAbortHandler)
			}
			w.problem(http.StatusInternalServerError, problem{Type: problemType("server")})
		}()
		next.ServeHTTP(w, r)
	})
}

// authenticated serves nothing without credentials, and tells handlers by the request's
// context whose they are.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		if who, ok := s.accepted.identify(r); ok {
			next.ServeHTTP(plain, r.WithContext(withIdentity(r.Context(), who)))
			return
		}
		w := asResponse(plain)
		if s.accepted.setA {
			w.Header().Set("WWW-Authenticate", `Basic realm="archive", charset="UTF-8"`)
		}
		s.answer(w, refuse(archive.KindUnauthorized, "the credentials of one accepted set are needed"))
	})
}

// problems answers the errors of a handler.
func (s *Server) problems(next handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		w := asResponse(plain)
		if err := next(w, r); err != nil {
			s.answer(w, err)
		}
	})
}

func asResponse(w http.ResponseWriter) *response {
	if r, ok := w.(*response); ok {
		return r
	}
	return &response{ResponseWriter: w}
}
