package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
)

func TestProgressWakesThoseWhoHaveEnough(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p progress
		got := make(chan int64, 3)
		for _, want := range []int64{10, 20, 30} {
			go func() {
				if err := p.wait(t.Context(), want); err != nil {
					t.Errorf("%d: %v", want, err)
				}
				got <- want
			}()
		}
		synctest.Wait()
		for _, have := range []int64{10, 20, 30} {
			p.advance(have)
			synctest.Wait()
			if len(got) != 1 {
				t.Fatalf("at %d bytes %d woke up, want one", have, len(got))
			}
			if want := <-got; want != have {
				t.Fatalf("at %d bytes the one that wants %d woke up", have, want)
			}
		}
	})
}

func TestProgressEnds(t *testing.T) {
	broken := errors.New("broken")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	tests := map[string]struct {
		ctx    context.Context
		finish func(*progress)
		want   error
	}{
		"complete":  {t.Context(), func(p *progress) { p.finish(nil) }, nil},
		"failed":    {t.Context(), func(p *progress) { p.finish(broken) }, broken},
		"cancelled": {cancelled, func(*progress) {}, context.Canceled},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var p progress
				got := make(chan error, 1)
				go func() { got <- p.wait(tt.ctx, 1) }()
				tt.finish(&p)
				if err := <-got; !errors.Is(err, tt.want) {
					t.Fatalf("got %v, want %v", err, tt.want)
				}
			})
		})
	}
}
