package apiclient

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// Client talks to one archive service with one set of credentials. It is safe for
// concurrent use.
type Client struct {
	sender   *sender
	service  *service
	location *time.Location
	log      logrus.FieldLogger
	// lazyIsSilent is set once a lazy structure has left out the children of the very
	// parent that was asked for.
	lazyIsSilent atomic.Bool
}

// New returns a Client for cfg. It reads the certificate files and sends nothing. What is
// wrong with a setting that people choose is a *SettingError.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	base, err := normalBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	transport := cfg.Transport
	if transport == nil {
		if transport, err = newTransport(cfg); err != nil {
			return nil, err
		}
	}
	if base.Scheme == "http" && !loopback(base) {
		cfg.Log.WithField("base-url", base.String()).
			Warn("the connection is not encrypted: credentials and documents can be read on the way; use https")
	}
	s := newSender(cfg, base, transport)
	return &Client{sender: s, service: &service{sender: s, log: cfg.Log}, location: cfg.Location, log: cfg.Log}, nil
}

// BaseURL returns the normalised address of the service, which holds no secret.
func (c *Client) BaseURL() string { return c.sender.base.String() }

// Close closes idle connections. Requests in flight go on, and the Client can still be
// used while the service answers; it does not find out any more when one that was away is
// back.
func (c *Client) Close() {
	c.sender.circuit.close()
	c.sender.http.CloseIdleConnections()
}

// SetCredentials lets requests that begin from now on carry other credentials, as after a
// change of the password. Those of another Identity are refused: what waits on this machine
// belongs to the old one.
func (c *Client) SetCredentials(cred Credentials) error {
	if err := cred.Validate(); err != nil {
		return err
	}
	if was := c.sender.caller.Load().identity; was != cred.Identity() {
		return fmt.Errorf("they belong to %s, and only others of %s can take the place of those there are", cred.Identity(), was)
	}
	c.sender.caller.Store(newCaller(cred))
	c.sender.lockout.reset()
	return nil
}

// Stats returns the counters of every operation asked so far, by name. Requests counts
// each attempt, Failures those that ended in an error, Total and Latency the times to the
// heads of the answers.
func (c *Client) Stats() []archive.OperationStats { return c.sender.stats.all() }

// Supports returns whether the deployment has op, as far as its answers have told. It
// asks nothing.
func (c *Client) Supports(op Operation) Support { return c.service.support.of(op) }

// LacksReplace reports whether Replace would be answered without a request, because the
// deployment turned out not to have the operation.
func (c *Client) LacksReplace() bool { return c.Supports(OpReplace) == SupportNo }
