package turns

import (
	"context"
	"testing"
	"time"
)

// Parties that take as many places as they can get leave some for others.
func TestPlacesAreShared(t *testing.T) {
	p := New(64)
	ctx, cancel := context.WithCancel(t.Context())
	cancel() // nobody waits
	most := func(key int64) (n int) {
		for p.Take(ctx, Party{Key: key}, 0) {
			n++
		}
		return n
	}
	for key, want := range []int{48, 12, 3, 1} {
		if got := most(int64(key)); got != want {
			t.Errorf("key %d has %d places, want %d", key, got, want)
		}
	}
	if taken, waiting := p.Count(); taken != 64 || waiting != 0 {
		t.Errorf("%d places are taken, %d wait", taken, waiting)
	}
	for range 20 {
		p.Leave(Party{Key: 0})
	}
	p.Take(ctx, Party{Key: 0}, 0)
	p.mu.Lock()
	if n := p.held[Party{Key: 0}]; n != 29 {
		t.Errorf("key 0 has %d places", n)
	}
	p.mu.Unlock()
	for n, want := range map[int]int{1: 1, 2: 2, 3: 3, 4: 3, 8: 6, 512: 384} {
		p = New(n)
		if got := most(1); got != want {
			t.Errorf("of %d places one key has %d, want %d", n, got, want)
		}
	}
}

// A released place goes to the longest waiting one that may have it, and never to one that has left.
func TestPlacesComeInTurn(t *testing.T) {
	p := New(4)
	for range 3 {
		p.Take(t.Context(), Party{Key: 1}, 0)
	}
	p.Take(t.Context(), Party{Key: 2}, 0)
	came := make(chan int64, 3)
	wait := func(ctx context.Context, key int64) {
		_, before := p.Count()
		go func() {
			if !p.Take(ctx, Party{Key: key}, time.Hour) {
				key = -key
			}
			came <- key
		}()
		for waiting := before; waiting == before; _, waiting = p.Count() {
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
	p.Leave(Party{Key: 2})
	if key := <-came; key != 3 { // key 1 has waited longer, and has too many
		t.Errorf("%d came instead of 3", key)
	}
	p.Leave(Party{Key: 1})
	if key := <-came; key != 1 {
		t.Errorf("%d came instead of 1", key)
	}
	if taken, waiting := p.Count(); taken != 4 || waiting != 0 {
		t.Errorf("%d places are taken, %d wait", taken, waiting)
	}
}

// A party with a full line is refused at once; others may still wait.
func TestALineHasAnEnd(t *testing.T) {
	p := &Places{all: 3, Portion: 1, Line: 2, held: map[Party]int{}}
	ctx, cancel := context.WithCancel(t.Context())
	came := make(chan bool)
	for key, has := range []int{2, 1} {
		for range has {
			p.Take(ctx, Party{Key: int64(key)}, 0)
		}
	}
	wait := func(key int64) {
		_, before := p.Count()
		go func() { came <- p.Take(ctx, Party{Key: key}, time.Hour) }()
		for waiting := before; waiting == before; _, waiting = p.Count() {
			time.Sleep(time.Millisecond) // until it waits
		}
	}
	wait(0)
	wait(0)
	if p.Take(t.Context(), Party{Key: 0}, time.Hour) {
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
