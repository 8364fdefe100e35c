package apiclient

import (
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/sirupsen/logrus"
)

// Defaults of a Config.
const (
	DefaultConnections = 16
	DefaultRetryFor    = 3 * time.Second
	DefaultStall       = 30 * time.Second
	DefaultUserAgent   = "archivefs"
)

// Config says which service a Client talks to, and how.
type Config struct {
	// BaseURL is the service's address; "/api/v2" is appended when its path does not
	// end in it. Only http and https; no user information, query or fragment.
	BaseURL     string
	Credentials Credentials
	// Connections is the most requests in flight; a body being read counts. A quarter of
	// them, one at least if there are two, serves what carries no content. Default 16.
	Connections int
	// RetryFor is how long a repeatable request is repeated before its error is
	// returned, default 3 s; waiting as Retry-After asks comes on top, 30 s at most in
	// sum. Negative: nothing is repeated.
	RetryFor time.Duration
	// Stall ends a request with archive.KindTimeout when it takes longer, default 30 s. The time
	// begins anew once a body was sent, or when a content begins to arrive; while either goes on,
	// the request ends when less than 1 KiB a second moved for so long. A listing has a second more
	// for every 64 KiB. One that only reads is sent once more then.
	Stall time.Duration
	// Location is the zone of dates that carry none, default time.Local.
	Location *time.Location
	// CAFile holds PEM certificates that are trusted beside the system's.
	CAFile string
	// CertFile and KeyFile are the client certificate and its key in PEM; both or none.
	CertFile, KeyFile string
	UserAgent         string
	// Log receives each request at debug, repetitions at info, oddities of the service
	// at warning level. Nil: nothing is logged.
	Log logrus.FieldLogger
	// Watch, when set, is called with the head of each answer, of any status. It leaves the
	// body alone.
	Watch func(*http.Response)
	// Transport replaces the connection settings (CAFile, CertFile, proxies), for tests.
	Transport http.RoundTripper
}

// withDefaults returns cfg with what was left out filled in.
func (cfg Config) withDefaults() Config {
	if cfg.Connections == 0 {
		cfg.Connections = DefaultConnections
	}
	if cfg.RetryFor == 0 {
		cfg.RetryFor = DefaultRetryFor
	}
	if cfg.Stall == 0 {
		cfg.Stall = DefaultStall
	}
	if cfg.Location == nil {
		cfg.Location = time.Local
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = DefaultUserAgent
	}
	if cfg.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		silent.SetLevel(logrus.PanicLevel)
		cfg.Log = silent
	}
	return cfg
}

// validate reports the first setting that cannot be used.
func (cfg Config) validate() error {
	if err := cfg.Credentials.Validate(); err != nil {
		return err
	}
	if cfg.Connections < 1 {
		return fmt.Errorf("connections: %d is not a positive number", cfg.Connections)
	}
	if cfg.Stall < 0 {
		return fmt.Errorf("stall: %s is negative", cfg.Stall)
	}
	return nil
}
