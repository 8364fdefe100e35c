package server

import (
	"net/http"

	"github.com/archivefs/archivefs/archive"
)

// Scope is a kind of operations that a key may be limited to.
type Scope string

// The scopes. Neither includes the other: a scanner may put documents in that it cannot read.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
)

// Scopes are all that there are.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeWrite} }

// scope is what an operation needs. What is posted changes something, but for a search.
func (r route) scope() Scope {
	if r.method != http.MethodPost || r.traits&looks != 0 {
		return ScopeRead
	}
	return ScopeWrite
}

// permitted asks next only for those whose key has the scope of an operation, before anything
// of a body is read.
func permitted(needed Scope, next handler) handler {
	return func(w *response, r *http.Request) error {
		if who := identityOf(r.Context()); !who.may(needed) {
			return deny(noScope, archive.KindForbidden, "the API key is not for this operation: it lacks the scope %s", needed)
		}
		return next(w, r)
	}
}
