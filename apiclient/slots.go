package apiclient

import "context"

// slots bounds the requests in flight. A quarter of them, one at least, is kept for what
// carries no content: however many documents hang, a directory can be listed and a folder
// be made. One slot alone cannot be shared out.
type slots struct {
	all     chan struct{} // holds one element for each request in flight
	content chan struct{} // and for each that is about content
}

func newSlots(n int) slots {
	kept := max(n/4, 1)
	return slots{all: make(chan struct{}, n), content: make(chan struct{}, max(n-kept, 1))}
}

// enter waits for a slot, as long as the requests before it may last, or until ctx ends.
func (s *slots) enter(ctx context.Context, op Operation) error {
	if !op.aboutContent() {
		return take(ctx, s.all)
	}
	if err := take(ctx, s.content); err != nil {
		return err
	}
	err := take(ctx, s.all)
	if err != nil {
		<-s.content
	}
	return err
}

func take(ctx context.Context, c chan struct{}) error {
	select {
	case c <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// leave gives the slot back.
func (s *slots) leave(op Operation) {
	<-s.all
	if op.aboutContent() {
		<-s.content
	}
}
