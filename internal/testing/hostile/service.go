package hostile

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Service is the archive service. It is an http.Handler and safe for concurrent use.
// Locks are taken in this order: mu and content's, journal's, faults'.
type Service struct {
	content
	faults
	journal

	operations []operation
	stop       chan struct{} // closed by Close
	once       sync.Once
	active     sync.WaitGroup // requests being served, also on dropped connections

	mu  sync.Mutex
	cfg Config // guarded by mu
}

// New returns a service without content.
func New(cfg Config) *Service {
	s := &Service{
		content:    content{store: store{documents: map[int64]*Document{}}},
		operations: slices.Concat(eight(), others()),
		stop:       make(chan struct{}),
	}
	s.setConfigLocked(cfg)
	return s
}

// Start serves on a port of 127.0.0.1 until the test ends and returns the base URL,
// the version in the path included.
func (s *Service) Start(t testing.TB) (baseURL string) {
	t.Helper()
	srv := httptest.NewServer(s)
	t.Cleanup(func() {
		s.Close()
		srv.Close()
		s.Wait()
	})
	return srv.URL + s.config().BasePath
}

// Close ends every wait at a gate. Who serves without Start calls it before closing
// the server.
func (s *Service) Close() { s.once.Do(func() { close(s.stop) }) }

// Wait returns when no request is being served, those on dropped connections included.
// The caller sees to it that none comes meanwhile.
func (s *Service) Wait() { s.active.Wait() }

// Configure changes the shapes for the requests that come from now on.
func (s *Service) Configure(change func(*Config)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	cfg := s.cfg
	change(&cfg)
	s.setConfigLocked(cfg)
}

func (s *Service) setConfigLocked(cfg Config) {
	if cfg.BasePath == "" {
		cfg.BasePath = DefaultBasePath
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	cfg.Without = slices.Clone(cfg.Without)
	s.cfg = cfg
}

func (s *Service) config() Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.cfg
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	x, act := s.admit(w, r)
	defer s.leave()
	act(x)
}

// admit records a request and picks what is done with it, in one step with its configuration.
func (s *Service) admit(w http.ResponseWriter, r *http.Request) (*exchange, Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	x := &exchange{s: s, w: w, r: r, cfg: s.cfg, record: newRequest(r, s.cfg.BasePath)}
	act := s.arrive(x.record, s.strike)
	if s.cfg.NoExpect && r.Header.Get("Expect") != "" {
		act = AnswerUnread(http.StatusExpectationFailed, "")
	}
	return x, act
}
