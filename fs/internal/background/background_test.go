package background

import (
	"context"
	"errors"
	"testing"
)

func TestWorkIsWaitedFor(t *testing.T) {
	var w Work
	if err := w.Wait(t.Context()); err != nil {
		t.Fatalf("nothing is under way: %v", err)
	}
	first, second := make(chan struct{}), make(chan struct{})
	w.Go(func() { <-first })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := w.Wait(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("under way, and waited for until the context ends: %v", err)
	}
	waited := make(chan error)
	go func() { waited <- w.Wait(t.Context()) }()
	w.Go(func() { <-second }) // more work begins during the wait
	close(first)
	close(second)
	if err := <-waited; err != nil {
		t.Fatal(err)
	}
	if err := w.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
}
