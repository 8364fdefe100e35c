package network

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// Many events are one change, and events that change nothing are none.
func TestFollow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		events, state, changes := make(chan struct{}), atomic.Value{}, 0
		state.Store("home")
		s := &source{events: events, state: func() string { return state.Load().(string) }} //nolint:forcetypeassert // see above
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			s.follow(ctx, time.Second, func() { changes++ })
		}()
		want := func(n int) {
			t.Helper()
			time.Sleep(2 * time.Second)
			synctest.Wait()
			if changes != n {
				t.Errorf("%d changes, want %d", changes, n)
			}
		}
		events <- struct{}{}
		want(0)
		for _, at := range []string{"", "train"} {
			state.Store(at)
			events <- struct{}{}
		}
		want(1)
		state.Store("office")
		events <- struct{}{}
		want(2)
		cancel()
		<-ended
	})
}

func TestFollowEnds(t *testing.T) {
	events := make(chan struct{})
	close(events)
	s := &source{events: events, state: func() string { return "" }}
	s.follow(t.Context(), time.Second, func() { t.Error("a change") })
}
