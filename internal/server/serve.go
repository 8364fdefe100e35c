package server

import (
	"context"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/sirupsen/logrus"
)

// Time limits of connections. Contents may take any time, so there is none for bodies.
const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	drainTimeout  = 30 * time.Second
)

// Serve answers requests on ln until ctx is done. Then it takes no new ones, waits up to
// 30 s for those in flight, cuts what is left, and returns nil. It closes ln.
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if !s.accepted.hasKey {
		return errors.Join(errors.New("serve archive: no API key is configured, so nobody could be let in"), ln.Close())
	}
	httpServer := &http.Server{
		Handler:           s.Handler(),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		ErrorLog:          log.New(logWriter{s.log}, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- httpServer.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve archive: %w", err)
	case <-ctx.Done():
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTimeout)
	defer cancel()
	if err := httpServer.Shutdown(drain); err != nil {
		s.log.WithError(err).Warn("requests were cut off at the end")
		if err := httpServer.Close(); err != nil {
			s.log.WithError(err).Warn("connections were left open at the end")
		}
	}
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve archive: %w", err)
	}
	return nil
}

// logWriter passes the lines of net/http on.
type logWriter struct{ log logrus.FieldLogger }

// Write implements io.Writer.
func (w logWriter) Write(p []byte) (int, error) {
	w.log.Warn(strings.TrimSpace(string(p)))
	return len(p), nil
}
