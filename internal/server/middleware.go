package server

import (
	"errors"
	"net/http"
	"runtime/debug"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
)

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
			s.log.WithFields(logrus.Fields{"id": w.id, "panic": cause, "stack": string(debug.Stack())}).Error("a request failed")
			if w.status != 0 {
				panic(http.ErrAbortHandler)
			}
			w.problem(http.StatusInternalServerError, problem{Type: problemType("server"), Detail: failedDetail})
		}()
		next.ServeHTTP(w, r)
	})
}

// authenticated serves nothing without credentials, and remembers whose they are.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		w := asResponse(plain)
		who, err := s.identify(r)
		if err == nil {
			w.who = who
			next.ServeHTTP(w, r)
			return
		}
		refusal := new(gate.Refusal)
		if errors.As(err, &refusal) {
			w.who = holder(refusal.Key, refusal.User)
		}
		if s.accepted.setA || refusal.OfUser() {
			w.Header().Set("WWW-Authenticate", `Basic realm="archive", charset="UTF-8"`)
		}
		if archive.KindOf(err) == archive.KindBusy {
			w.Header().Set("Retry-After", gate.RetryAfter)
		}
		s.answer(w, err)
	})
}

// problems answers the errors of a handler.
func (s *Server) problems(next handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		w := asResponse(plain)
		if err := next(w, &request{Request: r, who: w.who}); err != nil {
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
