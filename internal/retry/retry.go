// Package retry holds the rules by which requests to the archive service are repeated: how long to wait before the next
// one (Backoff, and what the service asks by Retry-After), for how long in all (Budget), and when nothing is sent
// because the service is known to be away (Breaker). The clock and the locks are the caller's.
package retry

import (
	"context"
	"math/rand/v2"
	"net/http"
	"strconv"
	"time"
)

// Backoff is exponential backoff with jitter.
type Backoff struct {
	// First is the delay after the first failure. It doubles up to Longest.
	First, Longest time.Duration
	// Less and More bound the jitter: each delay is multiplied by a random factor from 1-Less
	// to 1+More. Where both are 0 there is none.
	Less, More float64
}

// After is the delay after so many failures in a row, one or more.
func (b Backoff) After(failures int) time.Duration {
	d := b.Longest
	if doublings := failures - 1; b.First <= b.Longest>>doublings {
		d = b.First << doublings
	}
	if b.Less+b.More > 0 {
		d = time.Duration(float64(d) * (1 - b.Less + rand.Float64()*(b.Less+b.More))) //nolint:gosec // to spread requests
	}
	return d
}

// Sleep waits for d, or until ctx is done, whose error it then returns.
func Sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	// MaxRetryAfter is how long, in sum, one call waits because the service asks for it. That
	// comes on top of the call's own limit.
	MaxRetryAfter = 30 * time.Second
	// longestRetryAfter bounds what a service can ask of those who wait in the background.
	longestRetryAfter = 24 * time.Hour
)

// ParseRetryAfter reads a Retry-After field: seconds or a date (RFC 9110, section 10.2.3).
// It is 0 when there is none, or none that can be read, and never more than a day.
func ParseRetryAfter(value string, now time.Time) time.Duration {
	wait := time.Duration(0)
	if seconds, err := strconv.ParseUint(value, 10, 31); err == nil {
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(value); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), longestRetryAfter)
}

// Budget bounds for how long one call is repeated: for its limit, and for what the service asks to wait.
type Budget struct {
	begun time.Time
	limit time.Duration
	asked time.Duration // granted so far, MaxRetryAfter at most
	spent bool
}

// NewBudget returns the budget of a call that is repeated for limit from begun on.
func NewBudget(begun time.Time, limit time.Duration) *Budget {
	return &Budget{begun: begun, limit: limit}
}

// Left is how long after now a repetition may begin, negative when none may.
func (b *Budget) Left(now time.Time) time.Duration {
	if b.spent {
		return -1
	}
	return b.begun.Add(b.limit).Add(b.asked).Sub(now)
}

// Most is what would be left if the service asked to wait for as long as it may.
func (b *Budget) Most(now time.Time) time.Duration { return b.Left(now) + MaxRetryAfter - b.asked }

// Grant extends the budget by what the service asks to wait (Retry-After), and reports whether
// that is obeyed: within MaxRetryAfter in sum.
func (b *Budget) Grant(asked time.Duration) bool {
	if b.spent || asked > MaxRetryAfter-b.asked {
		return false
	}
	b.asked += asked
	return true
}

// Spend ends the budget: nothing is repeated any more.
func (b *Budget) Spend() { b.spent = true }

// State is that of a circuit breaker.
type State uint8

// The states of a circuit breaker.
const (
	Closed   State = iota // requests are sent
	Open                  // none is sent
	HalfOpen              // one is sent as a probe; how it ends closes the circuit or opens it again
)

// Breaker is a circuit breaker: it spares callers, and a service in trouble, requests that are
// known to fail. Its owner says which failures trip it and for how long, and which answers close
// it, and guards it with a lock. The zero value is closed.
type Breaker struct {
	tripped bool
	until   time.Time // open before, half-open from then on; zero while closed
	probing bool
}

// State is the breaker's state at a time.
func (b *Breaker) State(now time.Time) State {
	switch {
	case !b.tripped:
		return Closed
	case now.Before(b.until):
		return Open
	}
	return HalfOpen
}

// Tripped reports whether the breaker is open or half-open.
func (b *Breaker) Tripped() bool { return b.tripped }

// Until is the end of the open state, zero while the breaker is closed.
func (b *Breaker) Until() time.Time { return b.until }

// Trip opens the breaker until a time.
func (b *Breaker) Trip(until time.Time) { b.tripped, b.until = true, until }

// Hasten makes an open breaker half-open at once.
func (b *Breaker) Hasten() { b.until = time.Time{} }

// Close closes the breaker and reports whether it was open or half-open.
func (b *Breaker) Close() bool {
	was := b.tripped
	b.tripped, b.until = false, time.Time{}
	return was
}

// Probe reports whether the caller may send a probe, which it then does: the breaker is
// half-open and no other probe is under way. ProbeEnded lets the next one begin.
func (b *Breaker) Probe(now time.Time) bool {
	if b.probing || b.State(now) != HalfOpen {
		return false
	}
	b.probing = true
	return true
}

// ProbeEnded notes the end of the probe, which says nothing by itself.
func (b *Breaker) ProbeEnded() { b.probing = false }
