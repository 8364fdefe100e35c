// Package stone imports nothing of the house.
package stone

import "sync"

type Stone struct {
	Mu sync.Mutex
}

func (s *Stone) Lie() {
	s.Mu.Lock()
	defer s.Mu.Unlock()
}
