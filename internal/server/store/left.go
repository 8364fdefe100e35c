package store

import (
	"context"
	"sync"
)

// mostLeft bounds the memory of what is left, some 10 MB. More is found by a search for contents
// without a use.
const mostLeft = 100_000

// leftovers are contents that Drop left in their place because they were held.
type leftovers struct {
	mu      sync.Mutex
	digests map[string]struct{} // guarded by mu
}

func (l *leftovers) add(digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.digests == nil {
		l.digests = map[string]struct{}{}
	}
	if len(l.digests) < mostLeft {
		l.digests[digest] = struct{}{}
	}
}

// take returns one of them, empty when there is none.
func (l *leftovers) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for digest := range l.digests {
		delete(l.digests, digest)
		return digest
	}
	return ""
}

func (l *leftovers) has(digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.digests[digest]
	return ok
}

// DropLeft removes the contents that Drop left in this process, once nobody holds them any more.
func (s *Store) DropLeft(ctx context.Context, remove func(ctx context.Context, digest string) error) error {
	for digest := s.left.take(); digest != ""; digest = s.left.take() {
		if err := s.Drop(ctx, digest, remove); err != nil {
			s.left.add(digest)
			return err
		}
		if s.left.has(digest) { // they are held, all of them
			break
		}
	}
	return nil
}
