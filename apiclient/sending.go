package apiclient

import (
	"errors"
	"io"
	"sync"
)

// errSendingEnded ends the transport's reads of a body whose request is over.
var errSendingEnded = errors.New("the request has ended")

// sending is a request's body on its way: it reports progress, keeps a failure to
// read, and is never read after end has returned, so that the owner of what is sent may
// then let it go. The transport itself gives no such promise.
type sending struct {
	progress func(n int) // called with what was read

	mu     sync.Mutex
	source io.Reader // guarded by mu
	failed error     // guarded by mu
	ended  bool      // guarded by mu
}

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return 0, errSendingEnded
	}
	n, err := s.source.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed = err
	}
	s.progress(n)
	return n, err
}

// Close implements io.Closer.
func (s *sending) Close() error {
	s.end()
	return nil
}

// end waits for a read under way and lets no other follow.
func (s *sending) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
}

// failure returns why the source could not be read, nil when it could.
func (s *sending) failure() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
