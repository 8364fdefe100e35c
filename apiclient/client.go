package apiclient

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"
)

// Client talks to one archive service with one set of credentials. It is safe for
// concurrent use.
type Client struct {
	base      *url.URL
	http      *http.Client
	caller    atomic.Pointer[caller]
	userAgent string
	location  *time.Location
	stall     time.Duration
	retryFor  time.Duration
	log       logrus.FieldLogger
	watch     func(*http.Response) // nil: nobody does

	slots    slots
	lockout  lockout
	circuit  circuit
	contents contents
	support  supportTable
	stats    statsTable
	// lazyIsSilent is set once a lazy structure has left out the children of the very
	// parent that was asked for.
	lazyIsSilent atomic.Bool

	alive  context.Context // until Close; of the probes alone
	die    context.CancelFunc
	probes sync.WaitGroup
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
	alive, die := context.WithCancel(context.Background())
	c := &Client{
		base:      base,
		http:      &http.Client{Transport: transport, CheckRedirect: checkRedirect},
		userAgent: cfg.UserAgent,
		location:  cfg.Location,
		stall:     cfg.Stall,
		retryFor:  cfg.RetryFor,
		log:       cfg.Log,
		watch:     cfg.Watch,
		slots:     newSlots(cfg.Connections),
		alive:     alive,
		die:       die,
	}
	c.caller.Store(newCaller(cfg.Credentials))
	return c, nil
}

// BaseURL returns the normalised address of the service, which holds no secret.
func (c *Client) BaseURL() string { return c.base.String() }

// Close closes idle connections. Requests in flight go on, and the Client can still be
// used while the service answers; it does not find out any more when one that was away is
// back.
func (c *Client) Close() {
	c.circuit.mu.Lock()
	c.die()
	c.circuit.mu.Unlock()
	c.probes.Wait()
	c.http.CloseIdleConnections()
}
