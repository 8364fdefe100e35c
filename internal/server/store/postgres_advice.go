package store

import (
	"cmp"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/archivefs/archivefs/archive"
)

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

// Connect implements driver.Connector.
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
