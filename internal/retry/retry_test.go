package retry

import (
	"context"
	"errors"
	"math"
	"testing"
	"testing/synctest"
	"time"
)

func TestBackoffDoublesUpToItsLongest(t *testing.T) {
	for _, tt := range []struct {
		name     string
		backoff  Backoff
		failures int
		want     time.Duration
	}{
		{"first", Backoff{First: 100, Longest: 1000}, 1, 100},
		{"fourth", Backoff{First: 100, Longest: 1000}, 4, 800},
		{"bounded", Backoff{First: 100, Longest: 1000}, 5, 1000},
		{"just reached", Backoff{First: 250, Longest: 1000}, 3, 1000},
		{"many", Backoff{First: time.Second, Longest: math.MaxInt64}, 1 << 30, math.MaxInt64},
		{"first beyond the longest", Backoff{First: 100, Longest: 10}, 1, 10},
	} {
		if got := tt.backoff.After(tt.failures); got != tt.want {
			t.Errorf("%s: %d, want %d", tt.name, got, tt.want)
		}
	}
}

func TestJitterStaysWithinItsBounds(t *testing.T) {
	b := Backoff{First: 1000, Longest: 8000, Less: 0.25, More: 0.5}
	least, most := time.Duration(math.MaxInt64), time.Duration(0)
	for range 10_000 {
		d := b.After(3)
		least, most = min(least, d), max(most, d)
	}
	if least < 3000 || most > 6000 || least == most {
		t.Errorf("delays from %d to %d, want them spread over 3000 to 6000", least, most)
	}
}

func TestBudgetOfACall(t *testing.T) {
	begun := time.Now()
	b := NewBudget(begun, 3*time.Second)
	left := func(want time.Duration) {
		t.Helper()
		if got := b.Left(begun.Add(time.Second)); got != want {
			t.Errorf("%s left, want %s", got, want)
		}
	}
	left(2 * time.Second)
	if b.Grant(MaxRetryAfter + 1) {
		t.Error("more than MaxRetryAfter is obeyed at once")
	}
	if !b.Grant(20 * time.Second) {
		t.Error("20 s are not obeyed")
	}
	left(22 * time.Second)
	if b.Grant(11 * time.Second) {
		t.Error("more than MaxRetryAfter is obeyed in sum")
	}
	left(22 * time.Second)
	if got := b.Most(begun); got != 33*time.Second {
		t.Errorf("%s at most, want 33s", got)
	}
	if !b.Grant(10 * time.Second) {
		t.Error("MaxRetryAfter in sum is not obeyed")
	}
	b.Spend()
	if b.Left(begun) >= 0 || b.Grant(0) {
		t.Error("something is left of a budget that is spent")
	}
}

func TestRetryAfterField(t *testing.T) {
	now := time.Date(2024, 5, 1, 12, 0, 0, 0, time.UTC)
	for field, want := range map[string]time.Duration{
		"":                              0,
		"7":                             7 * time.Second,
		"-7":                            0,
		"1.5":                           0,
		"soon":                          0,
		"Wed, 01 May 2024 12:00:09 GMT": 9 * time.Second,
		"Wed, 01 May 2024 11:00:00 GMT": 0,
		"2147483647":                    longestRetryAfter,
		"99999999999":                   0,
	} {
		if got := ParseRetryAfter(field, now); got != want {
			t.Errorf("%q is %s, want %s", field, got, want)
		}
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
		defer cancel()
		if err := Sleep(ctx, time.Second); err != nil || time.Since(began) != time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := Sleep(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || time.Since(began) != 2*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
	})
}

func TestBreaker(t *testing.T) {
	now := time.Now()
	var b Breaker
	want := func(at time.Time, state State, probe bool) {
		t.Helper()
		if got, may := b.State(at), b.Probe(at); got != state || may != probe {
			t.Errorf("state %d, probe %t; want %d, %t", got, may, state, probe)
		}
	}
	want(now, Closed, false)
	b.Trip(now.Add(time.Second))
	want(now, Open, false)
	later := now.Add(time.Second)
	want(later, HalfOpen, true)
	want(later, HalfOpen, false) // one at a time
	b.ProbeEnded()
	want(later, HalfOpen, true)
	b.ProbeEnded()
	b.Trip(later.Add(time.Second))
	want(later, Open, false)
	if !b.Close() || b.Close() || b.Tripped() || !b.Until().IsZero() {
		t.Error("not closed, or twice")
	}
	want(later, Closed, false)
	b.Hasten()
	want(later, Closed, false)
	b.Trip(later.Add(time.Second))
	b.Hasten()
	want(later, HalfOpen, true)
}
