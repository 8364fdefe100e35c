package retry

import "time"

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
