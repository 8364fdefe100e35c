package server

import (
	"net/http"
	"time"

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

// patience is how long a request waits for its turn before it is sent away.
const patience = 10 * time.Second

// admitted asks next for those whose key has the scope of an operation, when it is their turn: so many
// requests are let in at a time as the options say, and so many uploads among them. Nothing of a body
// is read before. One that waited too long is answered 429, after which clients may repeat whatever
// they asked.
func (f *front) admitted(operation route, next handler) handler {
	needed := operation.scope()
	return func(w *response, r *request) error {
		if !r.who.may(needed) {
			return deny(noScope, archive.KindForbidden, "the API key is not for this operation: it lacks the scope %s", needed)
		}
		who := r.who.party()
		if operation.traits&upload != 0 {
			if !f.uploads.take(r.Context(), who, f.patience) {
				return sentAway("uploads")
			}
			defer f.uploads.leave(who)
		}
		if !f.places.take(r.Context(), who, f.patience) {
			return sentAway("requests")
		}
		defer f.places.leave(who)
		r.catalog = archiveOf(f.db, r.who)
		return next(w, r)
	}
}

func sentAway(tooMany string) error {
	return refuse(archive.KindBusy, "too many %s are under way; try again in a moment", tooMany)
}
