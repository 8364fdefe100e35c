package server

import "context"

// background is what goes on beside the requests.
type background struct {
	stops []func() // only who opens the archive adds to them
}

// inBackground does some work until stop, or until all is stopped; both wait for the piece
// that is under way. It goes on when ctx is done.
func (b *background) inBackground(ctx context.Context, work func(context.Context)) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		work(ctx)
	}()
	stop = func() {
		cancel()
		<-ended
	}
	b.stops = append(b.stops, stop)
	return stop
}

func (b *background) stopBackground() {
	for _, stop := range b.stops {
		stop()
	}
}
