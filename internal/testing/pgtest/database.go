package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"testing"
)

// quick are settings of a server whose data need not survive anything.
func quick() []string {
	return []string{
		"-c fsync=off", "-c synchronous_commit=off", "-c full_page_writes=off", "-c wal_level=minimal", "-c max_wal_senders=0",
		"-c autovacuum=off", "-c max_connections=300", "-c jit=off",
	}
}

// shared is the one server of a test process for all tests that need no more than a database.
var shared = sync.OnceValues(func() (*Server, error) {
	s, err := start(context.Background(), quick()...)
	if err == nil {
		running.Store(s)
	}
	return s, err
})

// running is the shared server once it has been started.
var running atomic.Pointer[Server]

var databases atomic.Int64

// End stops the server behind Database and removes its files. TestMain calls it after the tests;
// otherwise both happen once the process has ended, and take as long as the disk does.
func End() {
	if s := running.Load(); s != nil {
		if err := s.Stop(); err != nil {
			fmt.Fprintln(os.Stderr, "the tests' PostgreSQL:", err)
		}
	}
}

// Database makes a new database, which is dropped when the test ends, and returns its URL.
// Where PostgreSQL is not installed the test is skipped; with ARCHIVEFS_REQUIRE_POSTGRES=1,
// which scripts/test sets, it fails instead.
func Database(t testing.TB) (url string) {
	t.Helper()
	s, err := shared()
	need(t, err)
	return s.Database(t)
}

// Copier makes databases that are all like one, which prepare makes of an empty one the first time.
func Copier(prepare func(ctx context.Context, url string) error) func(t testing.TB) (url string) {
	name := fmt.Sprintf("template_%d", databases.Add(1))
	prepared := sync.OnceValues(func() (*Server, error) {
		s, err := shared()
		if err != nil {
			return nil, err
		}
		ctx := context.Background() // the template is not that test's alone
		if err := s.do(ctx, "CREATE DATABASE "+name); err != nil {
			return nil, err
		}
		return s, prepare(ctx, s.URL(name))
	})
	return func(t testing.TB) string {
		t.Helper()
		s, err := prepared()
		need(t, err)
		return s.create(t, " TEMPLATE "+name)
	}
}

// Start runs a server of the test's own, which may be killed, and whose data are safe from that.
func Start(t testing.TB, options ...string) *Server {
	t.Helper()
	s, err := start(t.Context(), options...)
	return s.of(t, err)
}

// Guarded runs a server of the test's own, to which those are let in that rules of pg_hba.conf
// permit, and the owner of all its databases.
func Guarded(t testing.TB, rules ...string) *Server {
	t.Helper()
	s, err := guarded(t.Context(), rules...)
	return s.of(t, err)
}

// of makes a server end with a test.
func (s *Server) of(t testing.TB, err error) *Server {
	t.Helper()
	need(t, err)
	t.Cleanup(func() {
		if err := s.Stop(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv("ARCHIVEFS_REQUIRE_POSTGRES") != "1":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

// Database makes a database of this server.
func (s *Server) Database(t testing.TB) (url string) {
	t.Helper()
	return s.create(t, "")
}

func (s *Server) create(t testing.TB, options string) (url string) {
	t.Helper()
	name := fmt.Sprintf("test_%d", databases.Add(1))
	if err := s.do(t.Context(), "CREATE DATABASE "+name+options); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.do(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return s.URL(name)
}

func (s *Server) do(ctx context.Context, command string) error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	_, err = db.ExecContext(ctx, command)
	if err := errors.Join(err, db.Close()); err != nil {
		return fmt.Errorf("%s: %w", command, err)
	}
	return nil
}
