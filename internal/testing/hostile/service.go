package hostile

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"
)

// Service is the archive service. It is an http.Handler and safe for concurrent use.
type Service struct {
	operations []operation
	stop       chan struct{} // closed by Close
	once       sync.Once
	active     sync.WaitGroup // requests being served, also on dropped connections

	mu         sync.Mutex
	cfg        Config     // guarded by mu
	store      store      // guarded by mu
	faults     []*script  // guarded by mu
	requests   []*Request // guarded by mu, in the order of arrival
	violations []string   // guarded by mu
	inFlight   int        // guarded by mu
	peak       int        // guarded by mu
	answered   int        // guarded by mu, numbers changing entity tags
}

// New returns a service without content.
func New(cfg Config) *Service {
	s := &Service{stop: make(chan struct{}), store: store{documents: map[int64]*Document{}}}
	s.operations = s.table()
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

// Violations returns what requests did against the specification, one sentence each.
func (s *Service) Violations() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.violations)
}

// violate notes violations. They never hold the value of a parameter or header.
func (s *Service) violate(r *http.Request, problems []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, problem := range problems {
		s.violations = append(s.violations, fmt.Sprintf("%s %q: %s", r.Method, r.URL.Path, problem))
	}
}

// ServeHTTP implements http.Handler.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.active.Add(1)
	defer s.active.Done()
	x, act := s.admit(w, r)
	defer s.leave()
	act(x)
}

// admit records a request and picks what is done with it.
func (s *Service) admit(w http.ResponseWriter, r *http.Request) (*exchange, Action) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight++
	s.peak = max(s.peak, s.inFlight)
	x := &exchange{s: s, w: w, r: r, cfg: s.cfg, record: newRequest(r, s.cfg.BasePath)}
	s.requests = append(s.requests, x.record)
	return x, s.strikeLocked(x.record)
}

func (s *Service) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inFlight--
}
