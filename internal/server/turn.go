package server

import (
	"net/http"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// patience is how long a request waits for its turn before it is sent away.
const patience = 10 * time.Second

// inTurn lets so many requests in at a time as the options say, and so many uploads among
// them. Nothing of a request's body is read before its turn. One that waited too long is
// answered 429, after which clients may repeat whatever they asked.
func (s *Server) inTurn(t traits, next handler) handler {
	return func(w *response, r *http.Request) error {
		who := partyOf(identityOf(r.Context()))
		if t&upload != 0 {
			if !s.uploads.take(r.Context(), who, s.patience) {
				return sentAway("uploads")
			}
			defer s.uploads.leave(who)
		}
		if !s.places.take(r.Context(), who, s.patience) {
			return sentAway("requests")
		}
		defer s.places.leave(who)
		return next(w, r)
	}
}

func sentAway(tooMany string) error {
	return refuse(archive.KindBusy, "too many %s are under way; try again in a moment", tooMany)
}
