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

// Bytes can be read before they are in the file, and are not looked for there.
func TestProgressShowsWhatIsInMemory(t *testing.T) {
	var p progress
	p.advance(4)
	p.receive([]byte("efgh"))
	if err := p.wait(t.Context(), 8); err != nil || p.reached() != 8 {
		t.Fatalf("reached %d, %v; want 8", p.reached(), err)
	}
	for _, tt := range []struct {
		off    int64
		n      int
		inFile int
		want   string
	}{
		{0, 4, 4, "...."}, {0, 8, 4, "....efgh"}, {2, 4, 2, "..ef"}, {4, 4, 0, "efgh"}, {6, 2, 0, "gh"},
	} {
		got := []byte("........")[:tt.n]
		if inFile, err := p.read(t.Context(), got, tt.off); err != nil || inFile != tt.inFile || string(got) != tt.want {
			t.Errorf("%d bytes at %d: %d in the file, %q, %v; want %d, %q", tt.n, tt.off, inFile, got, err, tt.inFile, tt.want)
		}
	}
	p.receive(nil) // it could not be written
	if _, ok := p.recent(make([]byte, 8), 0); ok || p.reached() != 4 {
		t.Error("what went from memory is there")
	}
	p.advance(8)
	if inFile, err := p.read(t.Context(), make([]byte, 8), 0); err != nil || inFile != 8 {
		t.Errorf("%d of 8 bytes are to be read from the file, %v; want all", inFile, err)
	}
}
