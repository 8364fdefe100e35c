package store

import (
	"cmp"
	"context"
	"crypto/tls"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

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

// notOpened says why the database could not be opened, and what to do.
func (a *address) notOpened(err error) error {
	user, database := a.names()
	advice := new(advised)
	switch c := code(err); {
	case errors.As(err, &advice):
		return &advised{"open database: " + advice.sentence, err}
	case c == "42501": // insufficient privilege
		return &advised{fmt.Sprintf("open database: user %s may not use database %s for an archive (%s); make it the owner with ALTER DATABASE %s OWNER TO %s, or name the user whose archive it is",
			user, database, message(err), database, user), err}
	case c == "42P01": // undefined table
		return &advised{fmt.Sprintf("open database: there is no archive in database %s at %s; archivefs serve --database makes one", database, a), err}
	case c == "25006": // read only
		return &advised{fmt.Sprintf("open database: the server at %s takes no changes; is it a standby? Name the primary, or all hosts and target_session_attrs=read-write", a), err}
	}
	return fmt.Errorf("open database: %w", err)
}

// advice says what to do about a connection that could not be made.
func (a *address) advice(err error) string {
	user, database := a.names()
	old := oldServer("")
	switch code(err) {
	case "":
		if errors.As(err, &old) {
			return fmt.Sprintf("the server at %s is PostgreSQL %s; archivefs needs version %d or a newer one", a, archive.Printable(string(old)), oldest)
		}
		return a.adviceOnNetwork(err)
	case "28P01": // invalid password
		if a.config.Password == "" {
			return fmt.Sprintf("the server at %s wants a password for user %s, and there is none; PGPASSWORD or a password file (libpq's .pgpass) can give it", a, user)
		}
		return fmt.Sprintf("the server at %s refuses the password of user %s; look at the URL, PGPASSWORD and the password file (libpq's .pgpass)", a, user)
	case "28000": // invalid authorization
		return fmt.Sprintf("the server at %s does not let user %s into database %s (%s); look whether it has that user, and at its pg_hba.conf%s",
			a, user, database, message(err), a.orTLS())
	case "3D000": // invalid catalog name
		return fmt.Sprintf("there is no database %s at %s; make it with createdb --owner=%s %s, or name another", database, a, user, database)
	case "42501": // insufficient privilege
		return fmt.Sprintf("user %s may not connect to database %s at %s; permit it with GRANT CONNECT ON DATABASE %s TO %s, or name another", user, database, a, database, user)
	case "53300": // too many connections
		return fmt.Sprintf("the server at %s has no connection left (%s); raise its max_connections, or lower pool_max_conns in the URL of each instance", a, message(err))
	case "57P01", "57P02", "57P03":
		return fmt.Sprintf("the server at %s is starting or ending (%s); try again in a moment", a, message(err))
	}
	return fmt.Sprintf("the server at %s refuses the connection (%s)", a, message(err))
}

// adviceOnNetwork is the advice for errors that no server has reported.
func (a *address) adviceOnNetwork(err error) string {
	name, certificate := new(net.DNSError), new(tls.CertificateVerificationError)
	var network net.Error
	switch {
	case errors.As(err, &certificate):
		return fmt.Sprintf("the certificate of the server at %s is not accepted (%s); sslrootcert=FILE in the URL names whom to trust",
			a, archive.Printable(certificate.Err.Error()))
	case errors.As(err, &name):
		return fmt.Sprintf("the host %s of the database is not known; check its name, and whether this machine resolves names", archive.Printable(name.Name))
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("there is no PostgreSQL at %s; is it started, and is that its directory and its port?", a)
	case errors.Is(err, fs.ErrPermission) && a.local():
		return fmt.Sprintf("this user may not open the socket of PostgreSQL at %s; look at unix_socket_permissions there", a)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("nothing listens at %s; is PostgreSQL started, with listen_addresses for this machine, and is that its port?", a)
	case !a.tries(false) && strings.Contains(err.Error(), "server refused TLS connection"): // the driver has no type for it
		return fmt.Sprintf("the server at %s has no TLS, and the URL asks for it; turn on its ssl, or write sslmode=prefer where the network can be trusted", a)
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return fmt.Sprintf("what listens at %s ends the connection without a word; is it PostgreSQL, and does it run?", a)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network):
		return fmt.Sprintf("%s cannot be reached or does not answer; look at host, port and what is between (firewalls)", a)
	}
	if connect := new(pgconn.ConnectError); errors.As(err, &connect) {
		err = connect.Unwrap()
	}
	return fmt.Sprintf("no connection to PostgreSQL at %s (%s)", a, archive.Printable(strings.Join(strings.Fields(err.Error()), " ")))
}

// message is the error message of a server.
func message(err error) string {
	var e *pgconn.PgError
	errors.As(err, &e)
	return archive.Printable(e.Message)
}

// orTLS is additional advice for network connections that are never tried with TLS.
func (a *address) orTLS() string {
	if a.local() || a.tries(true) {
		return ""
	}
	return "; if it wants TLS, write sslmode=require"
}

// attempts are the ways to connect, in order.
func (a *address) attempts() []*pgconn.FallbackConfig {
	first := &pgconn.FallbackConfig{Host: a.config.Host, Port: a.config.Port, TLSConfig: a.config.TLSConfig}
	return append([]*pgconn.FallbackConfig{first}, a.config.Fallbacks...)
}

// tries reports whether one of them is with TLS, or without.
func (a *address) tries(encrypted bool) bool {
	return slices.ContainsFunc(a.attempts(), func(f *pgconn.FallbackConfig) bool { return (f.TLSConfig != nil) == encrypted })
}

// local reports whether the connection uses a Unix socket.
func (a *address) local() bool {
	network, _ := pgconn.NetworkAddress(a.config.Host, a.config.Port)
	return network == "unix"
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
	var all []string
	for _, f := range a.attempts() {
		if _, place := pgconn.NetworkAddress(f.Host, f.Port); !slices.Contains(all, place) {
			all = append(all, place)
		}
	}
	return archive.Printable(strings.Join(all, ", "))
}
