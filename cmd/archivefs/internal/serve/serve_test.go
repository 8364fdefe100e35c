package serve

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/server"
)

// A service makes a key of its own only where there is none at all.
func TestTheServicesOwnKey(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	var log bytes.Buffer
	quiet := logrus.New()
	quiet.SetOutput(&log)
	letsIn := func() string {
		t.Helper()
		options := server.Options{Data: dir, Log: quiet}
		srv, err := server.Open(t.Context(), options)
		if err != nil {
			t.Fatal(err)
		}
		file, err := letIn(t.Context(), srv, &options)
		if err := errors.Join(err, srv.Close()); err != nil {
			t.Fatal(err)
		}
		return file
	}
	own := filepath.Join(dir, "api-key")
	if got := letsIn(); got != own || log.Len() > 0 {
		t.Errorf("without a key: %q, %s", got, log.String())
	}
	a, err := server.OpenAdmin(t.Context(), server.Place{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	id, _, err := a.AddKey(t.Context(), server.NewKey{Scopes: []server.Scope{server.ScopeRead}})
	if err == nil {
		err = a.RevokeKeys(t.Context(), id)
	}
	if err := errors.Join(err, a.Close()); err != nil {
		t.Fatal(err)
	}
	if got := letsIn(); got != "" || !strings.Contains(log.String(), "not accepted any more") {
		t.Errorf("with a key that was revoked: %q, %s", got, log.String())
	}
}

// What listens at all addresses says one that can be used, and who can use it as well.
func TestServeForOthers(t *testing.T) {
	tests := []struct {
		addr *net.TCPAddr
		at   string
		open bool
	}{
		{&net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 8081}, "127.0.0.1:8081", false},
		{&net.TCPAddr{IP: net.IPv6loopback, Port: 8081}, "[::1]:8081", false},
		{&net.TCPAddr{IP: net.IPv4zero, Port: 8081}, "localhost:8081", true},
		{&net.TCPAddr{IP: net.IPv6unspecified, Port: 8081}, "localhost:8081", true},
		{&net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 8081}, "192.0.2.1:8081", true},
	}
	for _, tt := range tests {
		if at, open := reachable(tt.addr); at != tt.at || open != tt.open {
			t.Errorf("%v: got %q and %v, want %q and %v", tt.addr, at, open, tt.at, tt.open)
		}
	}
}

func TestArchiveName(t *testing.T) {
	const url = "postgres://archivefs:geheim@db.example:5433/office"
	for _, test := range []struct {
		options server.Options
		want    string
	}{
		{server.Options{Data: "/srv/office"}, "/srv/office"},
		{server.Options{Database: url, Data: "/srv/office"}, "the archive\n" + `kept in database "office" on db.example:5433, contents in /srv/office`},
		{server.Options{Database: url, Blobs: "s3://documents/office?endpoint=https://s3.example.com", Data: "/tmp"}, "the archive\n" + `kept in database "office" on db.example:5433, contents in s3://documents/office`},
		{server.Options{Database: "host=a,b port=1,2 dbname=o user=u password=geheim", Blobs: "s3://documents"}, "the archive\n" + `kept in database "o" on a:1, b:2, contents in s3://documents`},
	} {
		name, kept, err := archiveName(test.options)
		if got := strings.Join(append([]string{name}, kept...), "\n"); err != nil || got != test.want {
			t.Errorf("%q, %v; want %q", got, err, test.want)
		}
	}
	if name, kept, err := archiveName(server.Options{Database: "postgres://archivefs:geheim@["}); err == nil || strings.Contains(fmt.Sprint(err, name, kept), "geheim") {
		t.Errorf("%q, %q, %v", name, kept, err)
	}
}
