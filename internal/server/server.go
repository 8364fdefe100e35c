// Package server is the embedded archive service. It implements the eight operations of the
// specification, and most of the further public interface, on a data directory of its own.
//
// It guarantees that nothing is served without the configured credentials; that every change is all or
// nothing across a crash (contents are durable before the one transaction that refers to them); and
// that only one process uses a data directory. Documents and folders are numbered separately, and ids
// are never reused. Dates on the wire have no time zone and are in the server's local time.
//
// Errors are answered as application/problem+json (RFC 9457) and name the field that is
// wrong. Contents lie in package blob, everything else in package store.
//
// A Server opens, serves and closes an archive. routes.go puts the table of operations together; the handlers, with
// their rows of it, are in listings.go, documents.go, archiving.go, uploads.go, contents.go and search.go. The
// middleware before them is the front: it makes each handler's request, with the archive as its sender sees it.
package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/stall"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Server is an open archive. Its methods may be called concurrently.
type Server struct {
	options Options
	log     logrus.FieldLogger
	db      *store.Store
	vault   *vault
	lock    *datalock.Lock // nil without a data directory of its own

	furnisher
	health *health
	background
	activity *activity
	door     *door
	front    *front
	intake   *intake
	renderer *renderer
	held     holdings
	cut      chan struct{} // closed by cutOnce
	cutOnce  func()
}

// Open opens the data directory. It creates a missing one, migrates it to the current format and cleans up after an
// interrupted run. A directory that another process uses is an error, unless Options.Database is set.
func Open(ctx context.Context, options Options) (*Server, error) {
	if options.Data == "" {
		return nil, errors.New("open archive: no data directory given")
	}
	if options.Database != "" {
		return openShared(ctx, options)
	}
	if options.Blobs != "" {
		return nil, errors.New("open archive: contents in a bucket need a database that instances can share")
	}
	if err := durable.MkdirAll(options.Data, 0o700); err != nil {
		return nil, fmt.Errorf("make data directory: %w", err)
	}
	lock, err := datalock.Take(options.Data)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, options, lock)
	if err != nil {
		return nil, errors.Join(err, lock.Release(!lock.Interrupted))
	}
	return s, nil
}

func open(ctx context.Context, options Options, lock *datalock.Lock) (*Server, error) {
	contents := filepath.Join(options.Data, "contents")
	if err := blob.WithoutClaim(contents); err != nil { // they belong to a PostgreSQL database
		return nil, fmt.Errorf("open data directory: %w; name that database, or another directory", err)
	}
	options = withDefaults(options)
	files, err := blob.OpenFiles(contents)
	if err == nil {
		err = files.KeepLog(options.LogSize, options.Log)
	}
	if err != nil {
		return nil, fmt.Errorf("open data directory: %w", err)
	}
	opened, err := store.Open(ctx, databaseFile(options.Data))
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open data directory: %w", err), files.Close())
	}
	s := newServer(options, opened, files)
	s.lock = lock
	if err := s.prepare(ctx); err != nil {
		return nil, errors.Join(err, opened.Close(), files.Close())
	}
	s.startIndexing(ctx, opened.Index)
	s.startErasing(ctx)
	return s, nil
}

// logSize is the size of a file of the journal of contents, in bytes.
const logSize = 16 << 20

// databaseFile is the path of the database in a data directory.
func databaseFile(data string) string { return filepath.Join(data, "archive.db") }

func newServer(options Options, db *store.Store, contents contents) *Server {
	options = withDefaults(options)
	log := options.Log
	s := &Server{
		options: options, log: log, db: db, activity: &activity{made: time.Now(), changed: make(chan struct{}, 1)},
		vault: &vault{contents: contents, uses: db.Uses, log: log},
		door: &door{accepted: accept(options.Credentials), gate: gate.New(db.Access, options.Credentials.CloudID, func(err error) {
			log.WithError(err).Warn("something went wrong beside a request")
		})},
		held: holdings{db: db, log: log},
		cut:  make(chan struct{}),
	}
	s.cutOnce = sync.OnceFunc(func() { close(s.cut) })
	workers := newWorkers()
	s.front = newFront(options, s.door, db, s.activity)
	s.health = &health{db: db, vault: s.vault, log: log}
	s.renderer = &renderer{vault: s.vault, known: db.Uses, workers: workers, attempts: newAttempts(), log: log}
	s.intake = &intake{vault: s.vault, workers: workers, activity: s.activity, most: options.MaxUpload}
	s.furnisher = furnisher{catalog: catalog.Whole{Archive: db.Tenant(store.DefaultTenant)}, intake: s.intake}
	return s
}

func withDefaults(o Options) Options {
	if o.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		silent.SetLevel(logrus.PanicLevel)
		o.Log = silent
	}
	o.MaxUpload = cmp.Or(o.MaxUpload, DefaultMaxUpload)
	o.MaxRequests = cmp.Or(o.MaxRequests, DefaultMaxRequests)
	o.MaxUploads = cmp.Or(o.MaxUploads, DefaultMaxUploads)
	o.LogSize = cmp.Or(o.LogSize, logSize)
	o.Stall = cmp.Or(o.Stall, DefaultStall)
	o.Drain = cmp.Or(o.Drain, DefaultDrain)
	if o.Location == nil {
		o.Location = time.Local
	}
	return o
}

// prepare cleans up after an interrupted run.
func (s *Server) prepare(ctx context.Context) error {
	if s.lock.Interrupted {
		removed, err := s.vault.sweep(ctx, time.Now())
		if err != nil {
			return fmt.Errorf("clean up after an interrupted run: %w", err)
		}
		s.log.WithField("contents-removed", removed).Warn("the last run was interrupted; cleaned up")
	}
	return s.lock.Begin()
}

// Close closes the archive and releases its directory. All requests must have ended.
func (s *Server) Close() error {
	s.stopBackground()
	s.door.gate.Close()
	err := s.db.Close()
	if c, ok := s.vault.contents.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	if s.lock == nil {
		return err
	}
	return errors.Join(err, s.lock.Release(err == nil))
}

// The defaults of Options.
const (
	DefaultMaxUpload   = 10 << 30 // bytes
	DefaultMaxRequests = 512
	DefaultMaxUploads  = 64
	DefaultStall       = 30 * time.Second
	DefaultDrain       = 30 * time.Second
)

// Options configure a Server.
type Options struct {
	// Data is the directory of the archive; it is created with mode 0700. With Database it holds only
	// the contents, and with Blobs only contents that are being received.
	Data string
	// Database is the URL of a PostgreSQL database, which any number of servers may use at the same
	// time. Empty is a file in Data, for one server. It may contain a password, so it is never shown.
	Database string
	// Blobs is the address of a bucket for the contents (blob.ParseAddress); it needs Database.
	// Empty is files in Data, which all servers of one Database then share.
	Blobs string
	// Credentials are what a client must send.
	Credentials Credentials
	// Log gets a line for each request at info level, and failures. Nil is no log.
	Log logrus.FieldLogger
	// OnRequest, when set, is called after each request was answered.
	OnRequest func(Request)
	// MaxUpload is the largest accepted content, in bytes; 0 is DefaultMaxUpload.
	MaxUpload int64
	// LogSize is the size of a file of the journal of contents, in bytes; 0 is 16 MiB.
	LogSize int64
	// MaxRequests and MaxUploads bound the requests, and the uploads among them, in flight; further
	// ones wait, and are answered 429 after 10 s.
	MaxRequests, MaxUploads int
	// Stall is how long to wait for a client that sends or reads nothing, beyond a second for each
	// KiB, before its request is cut.
	Stall time.Duration
	// DrainDelay is how long Serve continues after its end was requested, so that load balancers see
	// that it is not ready. Then requests in flight have Drain to end; below 0 is no time at all.
	DrainDelay, Drain time.Duration
	// Location is the time zone of the dates on the wire; nil is the local one.
	Location *time.Location

	// What plainer deployments lack can be left out.

	// HideSizes leaves content-length and content-type out of document lists.
	HideSizes bool
	// NoHead answers HEAD of contents with 405.
	NoHead bool
	// NoRange answers every content whole.
	NoRange bool
	// OnlyEight serves only the eight operations of the specification.
	OnlyEight bool
}

// archiveOf is what somebody sees of what all tenants share.
func archiveOf(db *store.Store, who identity) catalog.Catalog {
	whole := catalog.Whole{Archive: db.Tenant(who.tenant).By(who.user)}
	if who.mandators == nil {
		return whole
	}
	return catalog.Confine(whole, who.mandators, who.userID)
}

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

// Serve answers requests on ln until ctx is done. Then it reports that it is not ready, continues for
// Options.DrainDelay, stops accepting requests, waits up to Options.Drain for those in flight, cuts the rest, and
// returns nil. Cut ends the waiting. Serve closes ln, and logs the cause of ctx (context.Cause).
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

func (w logWriter) Write(p []byte) (int, error) {
	text := strings.TrimSpace(string(p))
	if strings.HasPrefix(text, "http: TLS handshake error") { // about clients such as monitors and scanners
		w.log.Debug(text)
	} else {
		w.log.Warn(text)
	}
	return len(p), nil
}
