package server

import "context"

// inBackground does some work until stop, or until the server is closed; both wait for the piece
// that is under way. It goes on when ctx is done.
func (s *Server) inBackground(ctx context.Context, work func(context.Context)) (stop func()) {
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
	s.stops = append(s.stops, stop)
	return stop
}

func (s *Server) stopBackground() {
	for _, stop := range s.stops {
		stop()
	}
}
