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

	"github.com/archivefs/archivefs/internal/server/stall"
)

const (
	// headerTimeout is how long a client may take to send the header.
	headerTimeout = 10 * time.Second
	// idleTimeout is how long a connection is kept without a request.
	idleTimeout = 2 * time.Minute
	// maxHeader is the longest header of a request, in bytes; net/http allows 4 KiB more.
	maxHeader = 60 << 10
	// afterCut is how long requests have to notice that their connections were closed, and cutPause how
	// often it is looked whether they have.
	afterCut = 10 * time.Second
	cutPause = 20 * time.Millisecond
)

// Serve answers requests on ln until ctx is done. Then it reports that it is not ready, continues
// for Options.DrainDelay, stops accepting requests, waits up to Options.Drain for those in flight,
// cuts the rest, and returns nil. Cut ends the waiting. Serve closes ln, and logs the cause of ctx
// (context.Cause).
func (s *Server) Serve(ctx context.Context, ln net.Listener) error {
	if err := s.mayLetIn(ctx); err != nil {
		return errors.Join(fmt.Errorf("serve archive: %w", err), ln.Close())
	}
	httpServer := &http.Server{
		Handler:           s.Handler(), //nolint:contextcheck // each request has a context of its own
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ConnContext:       stall.WithTaken,
		// This is about connections; package stall watches the requests on them.
		HTTP2: &http.HTTP2Config{WriteByteTimeout: s.options.Stall},
		// Every request needs credentials, whatever its path.
		DisableGeneralOptionsHandler: true,
		ErrorLog:                     log.New(logWriter{s.log}, "", 0),
	}
	ended := make(chan error, 1)
	go func() { ended <- httpServer.Serve(ln) }()
	select {
	case err := <-ended:
		return fmt.Errorf("serve archive: %w", err)
	case <-ctx.Done():
	}
	s.health.draining.Store(true)
	began := time.Now()
	s.log.WithFields(logrus.Fields{
		"requests": s.front.counters.requests.Load(), "at-most": (s.options.DrainDelay + max(s.options.Drain, 0)).String(),
	}).Infof("the service ends: %v", context.Cause(ctx))
	s.drain(context.WithoutCancel(ctx), httpServer)
	if err := <-ended; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve archive: %w", err)
	}
	s.log.WithField("seconds", seconds(time.Since(began).Round(time.Millisecond))).Info("the service has ended")
	return nil
}

// drain shuts the server down.
func (s *Server) drain(ctx context.Context, httpServer *http.Server) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		select {
		case <-s.cut:
			cancel()
		case <-ctx.Done():
		}
	}()
	if s.options.DrainDelay > 0 {
		_ = pause(ctx, s.options.DrainDelay) // Cut ends it early
	}
	within, cancel := context.WithTimeout(ctx, s.options.Drain)
	defer cancel()
	if err := httpServer.Shutdown(within); err == nil {
		return
	}
	s.log.WithField("requests", s.front.counters.requests.Load()).Warn("requests are cut off at the end")
	if err := httpServer.Close(); err != nil {
		s.log.WithError(err).Warn("connections were left open at the end")
	}
	// Changes that have begun continue; other requests end soon.
	for ends := time.Now().Add(afterCut); s.front.counters.requests.Load() > 0; time.Sleep(cutPause) {
		if time.Now().After(ends) {
			s.log.Warn("some requests are still running, although their connections are closed")
			return
		}
	}
}

// Cut ends Serve at once: requests in flight are cut.
func (s *Server) Cut() { s.cutOnce() }

// mayLetIn returns an error if no credentials would be accepted.
func (s *Server) mayLetIn(ctx context.Context) error {
	if s.door.accepted.hasKey {
		return nil
	}
	some, err := s.HasKeys(ctx)
	if err == nil && !some {
		return errors.New("no API key is configured, so no request would be accepted")
	}
	return err
}

// logWriter writes the lines of net/http to the log.
type logWriter struct{ log logrus.FieldLogger }

// Write implements io.Writer.
func (w logWriter) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	if strings.HasPrefix(text, "http: TLS handshake error") { // about clients such as monitors and scanners
		w.log.Debug(text)
	} else {
		w.log.Warn(text)
	}
	return len(p), nil
}
