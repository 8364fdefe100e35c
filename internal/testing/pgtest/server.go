package pgtest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver "pgx"
)

// Server is a PostgreSQL that runs.
type Server struct {
	dir     string
	bin     string
	account *syscall.Credential // nil: that of this process
	process *exec.Cmd
	alive   io.Closer // the process ends when this is closed, be it by the end of this one
}

// watched runs the server until standard input ends, which it does with the process that
// began it, however that ends. Then nothing is left.
const watched = `"$0" -D "$1/data" -k "$1" -c listen_addresses= $2 >>"$1/log" 2>&1 & pid=$!
read -r _
kill -QUIT "$pid" 2>/dev/null
wait "$pid"
rm -rf "$1"`

// errMissing says that the machine has no PostgreSQL.
var errMissing = errors.New("PostgreSQL is not installed; run: scripts/setup --test")

// start makes a server with settings such as "-c fsync=off" and waits until it answers.
func start(ctx context.Context, options ...string) (*Server, error) {
	s, err := initialized(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.run(ctx, strings.Join(options, " "))
}

// initialized makes a server that does not run yet. It lets everybody in.
func initialized(ctx context.Context) (s *Server, err error) {
	s = &Server{}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	if err != nil || len(found) == 0 {
		return nil, errMissing
	}
	s.bin = filepath.Dir(slices.Max(found))
	if s.dir, err = os.MkdirTemp(place(), "pg-"); err != nil {
		return nil, err
	}
	if err := s.unprivileged(); err != nil {
		return nil, err
	}
	initdb := exec.CommandContext(ctx, filepath.Join(s.bin, "initdb"), "--no-sync", "--auth=trust", "--username=archivefs", //nolint:gosec // the package's program
		"--encoding=UTF8", "--locale=C.UTF-8", "--pgdata="+filepath.Join(s.dir, "data"))
	initdb.Dir, initdb.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.account}
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, nil
}

// guarded is start for a server that lets in others than its owner by rules of pg_hba.conf alone.
func guarded(ctx context.Context, rules ...string) (*Server, error) {
	s, err := initialized(ctx)
	if err != nil {
		return nil, err
	}
	rules = append([]string{"local all archivefs trust"}, rules...)
	if err := os.WriteFile(filepath.Join(s.dir, "data", "pg_hba.conf"), []byte(strings.Join(rules, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	return s, s.run(ctx, strings.Join(quick(), " "))
}

// longest is how long the path of a directory for temporary files may be: the server makes a
// socket below it.
const longest = 60

// place is where a directory is made that another user can enter, and remove: the one for
// temporary files, which goes with a run of the tests, unless it keeps others out.
func place() string {
	dir := os.TempDir()
	if os.Getuid() != 0 {
		return dir
	}
	need := os.FileMode(0o003)
	for d := dir; ; d, need = filepath.Dir(d), 0o001 {
		info, err := os.Stat(d)
		if err != nil || info.Mode()&need != need || len(dir) > longest {
			return "/tmp"
		}
		if d == filepath.Dir(d) {
			return dir
		}
	}
}

// unprivileged gives the directory to a user that the server takes: it does not run as root.
func (s *Server) unprivileged() error {
	if os.Getuid() != 0 {
		return nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return err
	}
	uid, err1 := strconv.ParseUint(account.Uid, 10, 32)
	gid, err2 := strconv.ParseUint(account.Gid, 10, 32)
	s.account = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return errors.Join(err1, err2, os.Chown(s.dir, int(uid), int(gid)))
}

func (s *Server) run(ctx context.Context, options string) error {
	s.process = exec.CommandContext(context.WithoutCancel(ctx), "/bin/sh", "-c", watched, filepath.Join(s.bin, "postgres"), s.dir, options) //nolint:gosec // the package's program
	s.process.Dir, s.process.SysProcAttr = s.dir, &syscall.SysProcAttr{Credential: s.account, Setpgid: true}
	in, err := s.process.StdinPipe()
	if err != nil {
		return err
	}
	s.alive = in
	if err := s.process.Start(); err != nil {
		return err
	}
	return s.answers(ctx)
}

// answers waits until the server takes connections.
func (s *Server) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if err = db.PingContext(ctx); err == nil {
			tick.Stop()
			return nil
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("PostgreSQL does not answer: %w: %s", err, log)
		}
	}
}

// URL names a database of the server.
func (s *Server) URL(database string) string {
	return "postgres:///" + database + "?" + url.Values{"host": {s.dir}, "user": {"archivefs"}}.Encode()
}

// Socket is where the server is asked.
func (s *Server) Socket() string { return filepath.Join(s.dir, ".s.PGSQL.5432") }

// Crash kills the process of a connection of its own: all others are cut off in the middle of
// whatever they do, the server goes back to what was committed, and starts again by itself.
func (s *Server) Crash(ctx context.Context) error {
	db, err := sql.Open("pgx", s.URL("postgres"))
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	victim, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = victim.Close() }()
	var pid int
	if err := victim.QueryRowContext(ctx, "SELECT pg_backend_pid()").Scan(&pid); err != nil {
		return err
	}
	witness, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = witness.Close() }()
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		return err
	}
	// The server answers until it has noticed, and then it cuts this one off.
	_, _ = witness.ExecContext(ctx, "SELECT pg_sleep(600)")
	return s.answers(ctx)
}

// Stop ends the server and removes what it kept.
func (s *Server) Stop() error {
	return errors.Join(s.alive.Close(), s.process.Wait(), os.RemoveAll(s.dir))
}
