// Package network tells when the machine is in another network: addresses or the way out of it have changed.
package network

import (
	"context"
	"time"
)

// settle is how long nothing may change before a change is told: another network comes in many small steps.
const settle = time.Second

// source is where changes come from.
type source struct {
	events <-chan struct{} // something may have changed; closed at its end
	state  func() string   // what counts: another value is another network
	close  func()
}

// Watch calls changed after each change until ctx ends. On systems other than Linux it calls it never.
// The error says that changes cannot be seen.
func Watch(ctx context.Context, changed func()) error {
	s, err := open()
	if err != nil {
		return err
	}
	defer s.close()
	s.follow(ctx, settle, changed)
	return nil
}

// follow calls changed when the state differs after events have settled.
func (s *source) follow(ctx context.Context, settle time.Duration, changed func()) {
	last := s.state()
	var settled <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case _, open := <-s.events:
			if !open {
				return
			}
			if settled == nil { // later events do not put it off
				settled = time.After(settle)
			}
		case <-settled:
			settled = nil
			if now := s.state(); now != last {
				last = now
				changed()
			}
		}
	}
}
