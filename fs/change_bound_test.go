package fs

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A change ends, whatever the service asks for.
func TestChangeEnds(t *testing.T) {
	busy := func(retryAfter time.Duration) error {
		return &archive.Error{Op: "document/archive", Kind: archive.KindBusy, RetryAfter: retryAfter}
	}
	for _, tt := range []struct {
		name   string
		err    error
		within time.Duration // RetryFor, what it asks for, and one pause
	}{
		{"failing", &archive.Error{Op: "document/archive", Kind: archive.KindServer}, 10 * time.Second},
		{"busy for a second, again and again", busy(time.Second), 40 * time.Second},
		{"busy for 20 seconds, again and again", busy(20 * time.Second), 25 * time.Second},
		{"busy for an hour", busy(time.Hour), time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &FileSystem{opts: Options{RetryFor: 3 * time.Second, Now: time.Now}}
				began, looked := time.Now(), false
				err := f.change(t.Context(), func(context.Context) error { looked = false; return tt.err },
					func(context.Context) (bool, error) { looked = true; return false, nil })
				if took := time.Since(began); !errors.Is(err, tt.err) || took > tt.within || !looked {
					t.Errorf("ended after %s with %v; looked at its outcome: %v", took, err, looked)
				}
			})
		})
	}
}
