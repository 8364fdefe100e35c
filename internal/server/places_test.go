package server

import (
	"context"
	"testing"
	"time"
)

// Who takes all that they can get leaves some for others, and for the ones after those.
func TestPlacesAreShared(t *testing.T) {
	p := newPlaces(64)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits
	most := func(key int64) (n int) {
		for p.take(ctx, party{key: key}, 0) {
			n++
		}
		return n
	}
	for key, want := range []int{48, 12, 3, 1} {
		if got := most(int64(key)); got != want {
			t.Errorf("key %d has %d places, want %d", key, got, want)
		}
	}
	if taken, waiting := p.count(); taken != 64 || waiting != 0 {
		t.Errorf("%d places are taken, %d wait", taken, waiting)
	}
	for range 20 {
		p.leave(party{key: 0})
	}
	if p.take(ctx, party{key: 0}, 0); p.held[party{key: 0}] != 29 {
		t.Errorf("key 0 has %d places", p.held[party{key: 0}])
	}
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3, 8: 6, 512: 384} {
		if p = newPlaces(n); most(1) != want {
			t.Errorf("of %d places one key has %d, want %d", n, p.taken, want)
		}
	}
}

// A place that is given up goes to who has waited longest and may have it, and to nobody who has gone.
func TestPlacesComeInTurn(t *testing.T) {
	p := newPlaces(4)
	for range 3 {
		p.take(t.Context(), party{key: 1}, 0)
	}
	p.take(t.Context(), party{key: 2}, 0)
	came := make(chan int64, 3)
	wait := func(ctx context.Context, key int64) {
		_, before := p.count()
		go func() {
			if !p.take(ctx, party{key: key}, time.Hour) {
				key = -key
			}
			came <- key
		}()
		for waiting := before; waiting == before; _, waiting = p.count() {
			time.Sleep(time.Millisecond) // until it waits
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	wait(gone, 4)
	wait(t.Context(), 1)
	wait(t.Context(), 3)
	cancel()
	if key := <-came; key != -4 {
		t.Errorf("%d came instead of 4, who has gone", key)
	}
	p.leave(party{key: 2})
	if key := <-came; key != 3 { // key 1 has waited longer, and has too many
		t.Errorf("%d came instead of 3", key)
	}
	p.leave(party{key: 1})
	if key := <-came; key != 1 {
		t.Errorf("%d came instead of 1", key)
	}
	if taken, waiting := p.count(); taken != 4 || waiting != 0 {
		t.Errorf("%d places are taken, %d wait", taken, waiting)
	}
}

// Who has as many waiting as may be is not let wait any more, and others are.
func TestALineHasAnEnd(t *testing.T) {
	p := &places{all: 3, portion: 1, line: 2, held: map[party]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	came := make(chan bool)
	for key, has := range []int{2, 1} {
		for range has {
			p.take(ctx, party{key: int64(key)}, 0)
		}
	}
	wait := func(key int64) {
		_, before := p.count()
		go func() { came <- p.take(ctx, party{key: key}, time.Hour) }()
		for waiting := before; waiting == before; _, waiting = p.count() {
			time.Sleep(time.Millisecond) // until it waits
		}
	}
	wait(0)
	wait(0)
	if p.take(t.Context(), party{key: 0}, time.Hour) {
		t.Error("a third one has come")
	}
	wait(1)
	cancel()
	for range 3 {
		if <-came {
			t.Error("one came although none has left")
		}
	}
}
