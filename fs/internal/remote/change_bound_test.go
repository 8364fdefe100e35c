package remote

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A change ends, whatever Retry-After the service sends.
func TestChangeEnds(t *testing.T) {
	busy := func(retryAfter time.Duration) error {
		return &archive.Error{Op: "document/archive", Kind: archive.KindBusy, RetryAfter: retryAfter}
	}
	for _, tt := range []struct {
		name   string
		err    error
		within time.Duration // RetryFor, the Retry-After and one pause
	}{
		{"failing", &archive.Error{Op: "document/archive", Kind: archive.KindServer}, 10 * time.Second},
		{"busy for a second, again and again", busy(time.Second), 40 * time.Second},
		{"busy for 20 seconds, again and again", busy(20 * time.Second), 25 * time.Second},
		{"busy for an hour", busy(time.Hour), time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{RetryFor: 3 * time.Second, Now: time.Now})
				began, looked := time.Now(), false
				err := s.Change(t.Context(), func(context.Context) error { looked = false; return tt.err },
					func(context.Context) (bool, error) { looked = true; return false, nil })
				if took := time.Since(began); !errors.Is(err, tt.err) || took > tt.within || !looked {
					t.Errorf("ended after %s with %v; looked at its outcome: %v", took, err, looked)
				}
			})
		})
	}
}

// Before a Retry-After the client looks at the service once: if that fails because the service is
// away, nobody waits.
func TestChangeLooksBeforeItWaits(t *testing.T) {
	busy := &archive.Error{Op: "folder/create", Kind: archive.KindBusy, Status: 503, RetryAfter: 5 * time.Second}
	for _, tt := range []struct {
		name  string
		look  func(looks int) (bool, error)
		asked int
		looks int
		took  time.Duration
		err   error
	}{
		{"away", func(int) (bool, error) { return false, busy }, 1, 1, 100 * time.Millisecond, busy},
		{"made before the answer", func(int) (bool, error) { return true, nil }, 1, 1, 100 * time.Millisecond, nil},
		{"made while it is waited for", func(looks int) (bool, error) { return looks == 2, nil }, 1, 2, 5 * time.Second, nil},
		{"not made", func(int) (bool, error) { return false, nil }, 2, 2, 5 * time.Second, nil},
		{"back at the end of a long look", func(int) (bool, error) { time.Sleep(5 * time.Second); return false, nil }, 2, 1, 5100 * time.Millisecond, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Config{RetryFor: 3 * time.Second, Now: time.Now})
				began, asked, looks := time.Now(), 0, 0
				err := s.Change(t.Context(),
					func(context.Context) error {
						if asked++; asked == 1 {
							return busy
						}
						return nil
					},
					func(context.Context) (bool, error) { looks++; return tt.look(looks) })
				if took := time.Since(began); !errors.Is(err, tt.err) || asked != tt.asked || looks != tt.looks || took != tt.took {
					t.Errorf("asked %d times, looked %d times, ended after %s with %v; want %d, %d, %s, %v", asked, looks, took, err, tt.asked, tt.looks, tt.took, tt.err)
				}
			})
		})
	}
}
