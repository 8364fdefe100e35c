package store

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"database/sql"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/archivefs/archivefs/archive"
)

const (
	// maxConnections is how many connections an instance makes, unless the URL sets pool_max_conns.
	// PostgreSQL accepts 100 in all by default.
	maxConnections = 16
	// connectTimeout is how long a connection may take to be made.
	connectTimeout = 10 * time.Second
	// settleFor is how long settle tries to find out the outcome of a commit.
	settleFor = 15 * time.Second
)

// limits are the default settings of connections; the URL may override them. They end queries, lock
// waits, and transactions of an instance that hangs. A search holds its matching contents in work_mem,
// or else looks them up once for each document: 64 MB are enough for some 500,000.
func limits() map[string]string {
	return map[string]string{
		"application_name": "archivefs", "work_mem": "64MB", "statement_timeout": "60s", "lock_timeout": "30s", "idle_in_transaction_session_timeout": "60s",
	}
}

// withoutLimits lets a transaction last as long as it needs.
const withoutLimits = "SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0; SET LOCAL idle_in_transaction_session_timeout = 0"

// OpenPostgres opens a PostgreSQL database by its URL (or libpq keywords), with libpq's environment
// variables for what the URL lacks, and migrates it. Any number of processes may use it. A database with
// an incomplete restore is refused. Errors do not contain the URL, which may have a password in it.
func OpenPostgres(ctx context.Context, url string) (*Store, error) {
	s, at, err := connectPostgres(url, limits())
	if err != nil {
		return nil, err
	}
	err = s.migrate(ctx, s.write)
	if err == nil {
		err = s.wantWhole(ctx)
	}
	if err != nil {
		return nil, errors.Join(at.notOpened(err), s.Close())
	}
	return s, nil
}

// ViewPostgres is OpenPostgres for reading only: nothing is migrated, and a database of another schema
// version is an error. Queries may take as long as they need.
func ViewPostgres(ctx context.Context, url string) (*Store, error) {
	s, at, err := connectPostgres(url, map[string]string{"application_name": "archivefs", "default_transaction_read_only": "on", "statement_timeout": "0"})
	if err != nil {
		return nil, err
	}
	var version int
	err = s.read.row(ctx, "SELECT max(version) FROM schema_version").Scan(&version)
	if err == nil {
		err = current("postgres", version)
	}
	if err == nil {
		err = s.wantWhole(ctx)
	}
	if err != nil {
		return nil, errors.Join(at.notOpened(err), s.Close())
	}
	return s, nil
}

func parse(url string) (*pgx.ConnConfig, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil { // it may contain the password
		return nil, errors.New("open database: what names it is not right; write for example postgres://archivefs@db.example:5432/archivefs, " +
			"without the password, which PGPASSWORD or a password file can give (libpq's .pgpass)")
	}
	return config, nil
}

// connectPostgres prepares connections with settings that the URL may override.
func connectPostgres(url string, settings map[string]string) (*Store, *address, error) {
	config, err := parse(url)
	if err != nil {
		return nil, nil, err
	}
	for name, value := range settings {
		if _, given := config.RuntimeParams[name]; !given {
			config.RuntimeParams[name] = value
		}
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connectTimeout
	}
	connections := maxConnections
	if given, ok := config.RuntimeParams["pool_max_conns"]; ok {
		if connections, err = strconv.Atoi(given); err != nil || connections < 1 {
			return nil, nil, errors.New("open database: pool_max_conns is not a number of connections")
		}
		delete(config.RuntimeParams, "pool_max_conns")
	}
	config.AfterConnect = newEnough
	at := &address{config}
	s := newStore(postgres{})
	s.write = &pool{db: sql.OpenDB(advising{stdlib.GetConnector(*config), at}), engine: s.engine}
	s.read = s.write
	s.write.db.SetMaxOpenConns(connections)
	s.write.db.SetMaxIdleConns(connections)
	s.write.db.SetConnMaxIdleTime(5 * time.Minute)
	s.write.db.SetConnMaxLifetime(time.Hour)
	return s, at, nil
}

// postgres is PostgreSQL, from version 14 on.
type postgres struct{}

// text translates SQLite's functions and parameters: ? and ?1 become $1, and so on.
func (postgres) text(query string) string {
	query = strings.NewReplacer(
		"instr(", "strpos(",
		"%d", "%s", // of format
		"SELECT json_object(", "SELECT json_build_object(",
		"SELECT value FROM json_each(?)", "SELECT CAST(value AS BIGINT) FROM json_array_elements_text(CAST(? AS JSON))",
	).Replace(query)
	parts := strings.Split(query, "?")
	var b strings.Builder
	b.WriteString(parts[0])
	for n, part := range parts[1:] {
		b.WriteByte('$')
		if part == "" || part[0] < '0' || part[0] > '9' {
			b.WriteString(strconv.Itoa(n + 1))
		}
		b.WriteString(part)
	}
	return b.String()
}

// The names of locks other than those of contents.
const (
	lockSchema = "schema"
	// lockRemoval is shared by removals of contents, and exclusive for a hold of all contents.
	lockRemoval = "removal of contents"
	lockBackup  = "backup"
	lockRestore = "restore"
)

// migrate does all steps in one transaction, under a lock between processes.
func (e postgres) migrate(ctx context.Context, p *pool) error {
	return p.retry(ctx, func() error {
		return p.once(ctx, func(tx changing) error { return e.steps(ctx, tx) })
	})
}

func (e postgres) steps(ctx context.Context, tx changing) error {
	if _, err := tx.exec(ctx, withoutLimits); err != nil {
		return err
	}
	if err := e.lock(ctx, tx, lockSchema); err != nil {
		return err
	}
	if _, err := tx.exec(ctx, "CREATE TABLE IF NOT EXISTS schema_version (version BIGINT NOT NULL)"); err != nil {
		return err
	}
	version, err := single[int](ctx, tx, "read schema version", "SELECT coalesce(max(version), 0) FROM schema_version")
	if err != nil {
		return err
	}
	steps, err := stepsAfter("postgres", version)
	if err != nil {
		return err
	}
	for _, step := range steps {
		if err := step.run(ctx, tx); err != nil {
			return err
		}
		if _, err := tx.exec(ctx, "INSERT INTO schema_version (version) VALUES (?)", step.version); err != nil {
			return err
		}
	}
	return nil
}

func (postgres) taken(err error) bool { return code(err) == "23505" }

// code is the SQLSTATE of a server error (PostgreSQL, appendix A), empty for other errors.
func code(err error) string {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code
	}
	return ""
}

func (postgres) full(err error) bool { return code(err) == "53100" }

func (postgres) again(err error) bool {
	if errors.Is(err, errRolledBack) {
		return true
	}
	switch c := code(err); c {
	case "40001", "40P01": // serialization failure, deadlock
		return true
	case "57P01", "57P02", "57P03", "53300": // shutting down, crashed, starting, too many clients
		return true
	case "":
		return gone(err)
	default:
		return strings.HasPrefix(c, "08") // connection
	}
}

// gone reports whether err says that a connection is gone or cannot be made.
func gone(err error) bool {
	if errors.Is(err, errUncertain) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	if certificate := new(tls.CertificateVerificationError); errors.As(err, &certificate) {
		return false
	}
	var network net.Error
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, driver.ErrBadConn) ||
		errors.Is(err, net.ErrClosed) || errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// begin inserts a mark of the transaction.
func (postgres) begin(ctx context.Context, tx changing) (mark string, err error) {
	mark = rand.Text()
	if err := run(ctx, tx, "mark transaction", "INSERT INTO change_mark (mark, committed) VALUES (?, true)", mark); err != nil {
		return "", err
	}
	if mathrand.N(1000) == 0 { //nolint:gosec // one change in a thousand removes old marks
		_, err = tx.exec(ctx, "DELETE FROM change_mark WHERE made < now() - INTERVAL '1 hour'")
	}
	return mark, err
}

var (
	// errRolledBack says that the connection was lost during a commit, and that the transaction was rolled back.
	errRolledBack = errors.New("the connection was lost before the commit")
	// errUncertain says that the outcome of a transaction is unknown.
	errUncertain = errors.New("it is unknown whether the change was made; check before making it again")
)

// settle looks for the mark of a transaction after the answer to its commit was lost. It does so by
// inserting the mark: that waits for a transaction that is still running, and if it succeeds, the
// transaction was rolled back and can never commit.
func (e postgres) settle(ctx context.Context, db *sql.DB, mark string, failed error) error {
	if code(failed) != "" && !e.again(failed) {
		return failed // the server says so
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleFor)
	defer cancel()
	for {
		var committed bool
		err := db.QueryRowContext(ctx, `INSERT INTO change_mark AS known (mark, committed) VALUES ($1, false)
			ON CONFLICT (mark) DO UPDATE SET mark = known.mark RETURNING committed`, mark).Scan(&committed)
		switch {
		case err == nil && committed:
			return nil
		case err == nil:
			return fmt.Errorf("%w: %w", errRolledBack, failed)
		case sleep(ctx, 50*time.Millisecond) != nil:
			return fmt.Errorf("%w: %w", errUncertain, failed)
		}
	}
}

func (postgres) several() bool { return true }

// The locks are advisory locks, which PostgreSQL releases when their transaction ends, in whatever way. Each is a
// 64-bit number. A collision of two names is very unlikely, and would only make somebody wait.

func (postgres) lock(ctx context.Context, tx session, name string) error {
	_, err := single[int](ctx, tx, "lock", "SELECT count(pg_advisory_xact_lock(?))", number(name))
	return err
}

func (postgres) share(ctx context.Context, tx session, digests []string) error {
	numbers := make([]int64, 0, len(digests))
	for _, digest := range digests {
		numbers = append(numbers, number(digest))
	}
	all, err := encode(numbers)
	if err != nil {
		return err
	}
	_, err = single[int](ctx, tx, "lock", `SELECT count(pg_advisory_xact_lock_shared(n))
		FROM (SELECT value FROM json_each(?)) AS numbers (n)`, all)
	return err
}

func (postgres) claim(ctx context.Context, tx session, digest string) (alone bool, err error) {
	return single[bool](ctx, tx, "lock", "SELECT pg_try_advisory_xact_lock(?)", number(digest))
}

func (postgres) removable(ctx context.Context, tx session) (nobodyHolds bool, err error) {
	return single[bool](ctx, tx, "lock", "SELECT pg_try_advisory_xact_lock_shared(?)", number(lockRemoval))
}

// number is the number of a lock: the first 64 bits of a digest, or of the hash of another name.
func number(name string) int64 {
	first, err := hex.DecodeString(name)
	if err != nil || len(first) != sha256.Size {
		sum := sha256.Sum256([]byte(name))
		first = sum[:]
	}
	return int64(binary.BigEndian.Uint64(first)) //nolint:gosec // any number will do
}

// mention uses a trigram index if the database has one: see the migration.
func (postgres) mention(folded string) (condition, bool) {
	escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(folded)
	return condition{"d.said LIKE ?", []any{"%" + escaped + "%"}}, false
}

// indexSaid does nothing: PostgreSQL's index is never behind.
func (postgres) indexSaid(context.Context, changing, int) (more bool, err error) { return false, nil }
func (postgres) secure(context.Context, changing) error                          { return nil }

func (postgres) insertRow(t table) string {
	columns := strings.Join(t.columns, ", ")
	return "INSERT INTO " + t.name + " (" + columns + ") SELECT " + columns + " FROM json_populate_record(CAST(NULL AS " + t.name + "), CAST(? AS JSON))"
}

func (postgres) scrub(context.Context, *pool) error { return nil }

func (postgres) contains(s sought) condition {
	match := "'" + strings.Join(s.words, "' <-> '") + "'"
	if s.prefix {
		match += ":*"
	}
	stems := make([]string, 0, len(s.stems))
	for _, stem := range s.stems {
		stems = append(stems, "'"+stem+"'")
	}
	match = strings.Join(append([]string{match}, stems...), " | ")
	return condition{`d.digest IN (SELECT digest FROM content
		WHERE words @@ CAST(CAST(? AS TEXT) AS TSQUERY) OR stems @@ CAST(CAST(? AS TEXT) AS TSQUERY))`, []any{match, strings.Join(stems, " | ")}}
}

func (postgres) indexText(ctx context.Context, tx changing, id int64, v vector) error {
	_, err := tx.exec(ctx, `UPDATE content SET words = CAST(CAST(? AS TEXT) AS TSVECTOR), stems = CAST(CAST(? AS TEXT) AS TSVECTOR) WHERE id = ?`,
		tsvector(v.words), tsvector(v.stems), id)
	return err
}

// oldest is the oldest supported version of PostgreSQL.
const oldest = 14

// oldServer is the version of a server that is too old.
type oldServer string

func (v oldServer) Error() string { return "PostgreSQL " + string(v) + " is too old" }

// newEnough refuses servers that are too old. A server without a numeric version is accepted.
func newEnough(_ context.Context, conn *pgconn.PgConn) error {
	version, _, _ := strings.Cut(conn.ParameterStatus("server_version"), " ")
	digits := version
	if end := strings.IndexFunc(version, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		digits = version[:end]
	}
	if n, err := strconv.Atoi(digits); err == nil && n < oldest {
		return oldServer(version)
	}
	return nil
}

// advised replaces the text of an error by a sentence that says what is wrong and what to do.
type advised struct {
	sentence string
	err      error
}

func (e *advised) Error() string { return e.sentence }
func (e *advised) Unwrap() error { return e.err }

// advising makes connections, and says what to do when that fails.
type advising struct {
	driver.Connector
	at *address
}

func (c advising) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := c.Connector.Connect(ctx)
	if err == nil || ctx.Err() != nil {
		return conn, err
	}
	return nil, &advised{c.at.advice(err), err}
}

// address is the hosts and the user of a database connection. Its texts never contain the password.
type address struct{ config *pgx.ConnConfig }

// remedies say what to do about errors of a server, by their codes (PostgreSQL, appendix A), with the
// $user and the $database of the connection.
var remedies = map[string]string{
	"25006": "is it a standby? Name the primary, or all hosts and target_session_attrs=read-write",
	"28000": "look whether it has that user, and at its pg_hba.conf; if it wants TLS, write sslmode=require",
	"28P01": "look at the URL, PGPASSWORD and the password file (libpq's .pgpass)",
	"3D000": "make it with createdb --owner=$user $database, or name another",
	"42501": "make $user the owner with ALTER DATABASE $database OWNER TO $user, or name the user whose archive it is",
	"42P01": "there is no archive in database $database; archivefs serve --database makes one",
	"53300": "raise its max_connections, or lower pool_max_conns in the URL of each instance",
}

// notOpened says why the database could not be opened, and what to do.
func (a *address) notOpened(err error) error {
	if advice := new(advised); errors.As(err, &advice) {
		return &advised{"open database: " + advice.sentence, err}
	}
	if _, known := remedies[code(err)]; known {
		return &advised{"open database: " + a.advice(err), err}
	}
	return fmt.Errorf("open database: %w", err)
}

// advice says what to do about a connection that could not be made, or a database that could not be opened.
func (a *address) advice(err error) string {
	if old := oldServer(""); errors.As(err, &old) {
		return fmt.Sprintf("the server at %s is PostgreSQL %s; archivefs needs version %d or a newer one", a, archive.Printable(string(old)), oldest)
	}
	if e := new(pgconn.PgError); errors.As(err, &e) {
		said := fmt.Sprintf("the server at %s says: %s", a, archive.Printable(e.Message))
		if remedy, known := remedies[e.Code]; known {
			user, database := a.names()
			said += "; " + strings.NewReplacer("$user", user, "$database", database).Replace(remedy)
		}
		return said
	}
	if connect := new(pgconn.ConnectError); errors.As(err, &connect) {
		err = connect.Unwrap()
	}
	attempts := strings.FieldsFunc(err.Error(), unicode.IsControl) // with and without TLS
	return fmt.Sprintf("no connection to PostgreSQL at %s (%s); is it started, are host and port right, and sslmode and sslrootcert those for its TLS?",
		a, archive.Printable(strings.Join(slices.Compact(attempts), "; ")))
}

// names returns the user and the database, quoted. The default name of a database is its user's.
func (a *address) names() (user, database string) {
	return strconv.Quote(a.config.User), strconv.Quote(cmp.Or(a.config.Database, a.config.User))
}

// NamePostgres describes the database of a URL and its hosts for people, without user and password.
func NamePostgres(url string) (string, error) {
	config, err := parse(url)
	if err != nil {
		return "", err
	}
	at := &address{config}
	_, database := at.names()
	return fmt.Sprintf("database %s on %s", database, at), nil
}

// String is the hosts with their ports, as they are tried.
func (a *address) String() string {
	_, place := pgconn.NetworkAddress(a.config.Host, a.config.Port)
	all := []string{place}
	for _, f := range a.config.Fallbacks {
		if _, place := pgconn.NetworkAddress(f.Host, f.Port); !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return archive.Printable(strings.Join(all, ", "))
}
