package mount

import (
	"context"
	"crypto/rand"
	"fmt"
	"net"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/cmd/archivefs/internal/running"
	"github.com/archivefs/archivefs/internal/server"
)

// embedded is the archive service inside the process of a mount, on loopback, with a key
// that lives as long as the process.
type embedded struct {
	url         string
	credentials apiclient.Credentials
	cancel      context.CancelFunc
	served      chan error
	server      *server.Server
}

// startEmbedded opens the archive in data and serves it.
func startEmbedded(ctx context.Context, data string, withSample bool, log logrus.FieldLogger) (*embedded, error) {
	key := rand.Text()
	// The service logs nothing: the client logs the same requests.
	srv, err := server.Open(ctx, server.Options{Data: data, Credentials: server.Credentials{APIKey: key}})
	if err != nil {
		return nil, fmt.Errorf("open embedded archive: %w", err)
	}
	if err := running.Fill(ctx, srv, withSample, log); err != nil {
		_ = srv.Close() // the first error says more
		return nil, err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // on loopback it does not wait
	if err != nil {
		_ = srv.Close() // the first error says more
		return nil, fmt.Errorf("serve embedded archive: %w", err)
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &embedded{
		url: "http://" + ln.Addr().String() + "/api/v2", cancel: cancel, server: srv,
		credentials: apiclient.Credentials{APIKey: key}, served: make(chan error, 1),
	}
	go func() { e.served <- srv.Serve(running, ln) }()
	return e, nil
}

// stop stops the service after the requests in flight.
func (e *embedded) stop() error {
	e.cancel()
	if err := <-e.served; err != nil {
		return fmt.Errorf("embedded archive: %w", err)
	}
	if err := e.server.Close(); err != nil {
		return fmt.Errorf("close embedded archive: %w", err)
	}
	return nil
}
