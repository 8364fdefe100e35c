package store_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

const password = "s3cr3t"

// wantAdvice fails unless a database cannot be opened, and one sentence says why and what to do, without
// the password.
func wantAdvice(t *testing.T, err error, parts ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was opened")
	}
	text := err.Error()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			t.Errorf("%q is not in: %s", part, text)
		}
	}
	if strings.ContainsAny(text, "\n\t") || strings.Contains(text, "failed to connect") || strings.Contains(text, password) || !strings.HasPrefix(text, "open database: ") {
		t.Errorf("that is no sentence for people: %q", text)
	}
}

func wantNotOpened(t *testing.T, url string, parts ...string) {
	t.Helper()
	_, err := store.OpenPostgres(t.Context(), url)
	wantAdvice(t, err, parts...)
}

// serving answers one connection after the other, and returns the address.
func serving(t *testing.T, answer func(net.Conn)) (host string) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			answer(conn)
			_ = conn.Close()
		}
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-ended
	})
	return l.Addr().String()
}

func TestAdviceOnPostgres(t *testing.T) {
	server := pgtest.Guarded(t, "local all erika scram-sha-256", "local all guest trust", "local all banned reject")
	admin := server.URL("postgres")
	for _, command := range []string{
		"CREATE ROLE erika LOGIN PASSWORD '" + password + "'", "CREATE ROLE guest LOGIN", "CREATE ROLE banned LOGIN",
		"CREATE DATABASE office OWNER erika", "CREATE DATABASE closed", "REVOKE CONNECT ON DATABASE closed FROM public",
	} {
		query(t, admin, command)
	}
	as := func(user, password, database string) string {
		u, err := url.Parse(server.URL(database))
		if err != nil {
			t.Fatal(err)
		}
		values := u.Query()
		values.Set("user", user)
		if password != "" {
			values.Set("password", password)
		}
		u.RawQuery = values.Encode()
		return u.String()
	}
	wantNotOpened(t, as("erika", "not "+password, "office"), `password authentication failed for user "erika"`, "PGPASSWORD")
	wantNotOpened(t, as("erika", "", "office"), `password`, "PGPASSWORD")
	wantNotOpened(t, as("erika", password, "offize"), `database "offize" does not exist`, `createdb --owner="erika" "offize"`)
	wantNotOpened(t, as("guest", "", "closed"), `permission denied for database "closed"`, `ALTER DATABASE "closed" OWNER TO "guest"`)
	wantNotOpened(t, as("guest", "", "postgres"), "permission denied for schema public", `ALTER DATABASE "postgres" OWNER TO "guest"`)
	wantNotOpened(t, as("banned", "", "office"), `user "banned", database "office"`, "look whether it has that user, and at its pg_hba.conf")
	wantNotOpened(t, as("stranger", "", "office"), `"stranger"`, "look whether it has that user")
	wantNotOpened(t, as("erika", password, "office")+"&default_transaction_read_only=on", "read-only", "target_session_attrs=read-write")
	wantNotOpened(t, as("erika", password, "office")+"&statement_timeout=never", `says: invalid value for parameter "statement_timeout"`)
	_, err := store.ViewPostgres(t.Context(), as("erika", password, "office"))
	wantAdvice(t, err, `there is no archive in database "office"`, "archivefs serve --database")

	host := serving(t, func(conn net.Conn) { relay(t, conn, server.Socket()) })
	wantNotOpened(t, "postgres://erika:"+password+"@"+host+"/office?sslmode=require", "server refused TLS connection", "sslmode")
	wantNotOpened(t, "postgres://banned@"+host+"/office?sslmode=disable", "write sslmode=require")

	s, err := store.OpenPostgres(t.Context(), as("erika", password, "office")) // following the advice helps
	if err := errors.Join(err, s.Close()); err != nil {
		t.Error(err)
	}
}

// relay joins a connection with a socket until one of them ends.
func relay(t *testing.T, conn net.Conn, socket string) {
	to, err := (&net.Dialer{}).DialContext(context.WithoutCancel(t.Context()), "unix", socket)
	if err != nil {
		t.Error(err)
		return
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _ = io.Copy(conn, to)
		_ = conn.Close()
	}()
	_, _ = io.Copy(to, conn)
	_ = to.Close()
	<-ended
}

func TestAdviceWithoutServer(t *testing.T) {
	mute := serving(t, func(net.Conn) {})
	web := serving(t, func(conn net.Conn) {
		if _, err := conn.Read(make([]byte, 512)); err == nil {
			_, _ = io.WriteString(conn, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request")
		}
	})
	wantAway := func(name, url string, parts ...string) {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // retried for some seconds
			wantNotOpened(t, url, parts...)
		})
	}
	wantAway("nobody listens", "postgres://a:"+password+"@127.0.0.1:1/archive", "no connection to PostgreSQL at 127.0.0.1:1 (", "connection refused", "is it started")
	wantAway("several hosts", "postgres://a:"+password+"@127.0.0.1:1,127.0.0.1:2/archive", "no connection to PostgreSQL at 127.0.0.1:1, 127.0.0.1:2 (")
	wantAway("no socket", "postgres://a:"+password+"@/archive?host=/nowhere", "/nowhere/.s.PGSQL.5432", "no such file or directory")
	wantAway("unknown host", "postgres://a:"+password+"@no.such.invalid/archive", "no.such.invalid", "no such host")
	wantAway("mute", "postgres://a:"+password+"@"+mute+"/archive", "no connection to PostgreSQL at "+mute+" (")
	wantAway("no PostgreSQL", "postgres://a:"+password+"@"+web+"/archive?sslmode=disable", "no connection to PostgreSQL at "+web+" (")
	wantAway("no PostgreSQL, perhaps with TLS", "postgres://a:"+password+"@"+web+"/archive", web)
	hangs := serving(t, func(net.Conn) { <-t.Context().Done() })
	wantAway("no answer", "postgres://a:"+password+"@"+hangs+"/archive?connect_timeout=1", "no connection to PostgreSQL at "+hangs+" (")
}

func TestAdviceOnCertificates(t *testing.T) {
	web := httptest.NewTLSServer(nil)
	defer web.Close()
	host := serving(t, func(conn net.Conn) {
		wish := make([]byte, 8) // SSLRequest
		if _, err := io.ReadFull(conn, wish); err != nil {
			return
		}
		_, _ = conn.Write([]byte("S"))
		_ = tls.Server(conn, web.TLS).HandshakeContext(t.Context())
	})
	wantNotOpened(t, "postgres://a:"+password+"@"+host+"/archive?sslmode=verify-full", "failed to verify certificate", "sslrootcert")
}

// A server that is too old is refused before the first query.
func TestOldPostgres(t *testing.T) {
	for version, refused := range map[string]bool{"13.16 (Debian 13.16-1)": true, "9.6.24": true, "13beta1": true, "14.0": false, "17beta2": false, "devel": false} {
		host := serving(t, func(conn net.Conn) {
			b := pgproto3.NewBackend(conn, conn)
			if _, err := b.ReceiveStartupMessage(); err != nil {
				return
			}
			b.Send(&pgproto3.AuthenticationOk{})
			b.Send(&pgproto3.ParameterStatus{Name: "server_version", Value: version})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			_ = b.Flush()
			if _, err := b.Receive(); err != nil { // it goes away
				return
			}
			b.Send(&pgproto3.ErrorResponse{Severity: "ERROR", Code: "0A000", Message: "this is no server"})
			b.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
			_ = b.Flush()
		})
		_, err := store.OpenPostgres(t.Context(), "postgres://a:"+password+"@"+host+"/archive?sslmode=disable")
		if refused {
			short, _, _ := strings.Cut(version, " ")
			wantAdvice(t, err, "is PostgreSQL "+short+"; archivefs needs version 14")
		} else if err == nil || !strings.Contains(err.Error(), "this is no server") {
			t.Errorf("%s: %v", version, err)
		}
	}
}
