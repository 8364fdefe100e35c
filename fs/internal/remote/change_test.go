package remote

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A change is repeated only if it may not have been carried out, and never by both this package and
// the client, which repeats refused requests (429).
func TestChangeIsRepeated(t *testing.T) {
	answer := func(kind archive.Kind, status int) error {
		return &archive.Error{Op: "folder/create", Kind: kind, Status: status}
	}
	for _, tt := range []struct {
		name  string
		err   error
		asked int
	}{
		{"done", nil, 1},
		{"refused", answer(archive.KindForbidden, http.StatusForbidden), 1},
		{"too many requests", answer(archive.KindBusy, http.StatusTooManyRequests), 1},
		{"no answer in time", answer(archive.KindTimeout, 0), 1},
		{"busy", answer(archive.KindBusy, http.StatusServiceUnavailable), 5}, // after 0, 100, 300, 700, 1500 ms
		{"failed", answer(archive.KindServer, http.StatusInternalServerError), 5},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{RetryFor: 3 * time.Second, Now: time.Now})
				asked := 0
				err := s.Change(t.Context(),
					func(context.Context) error { asked++; return tt.err },
					func(context.Context) (bool, error) { return false, nil })
				if !errors.Is(err, tt.err) || asked != tt.asked {
					t.Errorf("asked %d times, want %d; %v", asked, tt.asked, err)
				}
			})
		})
	}
}
