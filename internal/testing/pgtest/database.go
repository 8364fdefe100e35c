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
	return []string{"-c fsync=off", "-c synchronous_commit=off", "-c full_page_writes=off", "-c max_connections=300", "-c jit=off"}
}

// shared is the one server of a test process for all tests that need no more than a database.
// It ends with the process.
var shared = sync.OnceValues(func() (*Server, error) { return start(context.Background(), quick()...) })

var databases atomic.Int64

// Database makes a new database, which is dropped when the test ends, and returns its URL.
// Where PostgreSQL is not installed the test is skipped; with ARCHIVEFS_REQUIRE_POSTGRES=1,
// which scripts/test sets, it fails instead.
func Database(t testing.TB) (url string) {
	t.Helper()
	s, err := shared()
	need(t, err)
	return s.Database(t)
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
	name := fmt.Sprintf("test_%d", databases.Add(1))
	s.do(t, "CREATE DATABASE "+name)
	t.Cleanup(func() { s.do(t, "DROP DATABASE "+name+" WITH (FORCE)") })
	return s.URL(name)
}

func (s *Server) do(t testing.TB, command string) {
	t.Helper()
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(context.WithoutCancel(t.Context()), command)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Errorf("%s: %v", command, err)
	}
}
