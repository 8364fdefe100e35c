// Package apiclient is a client of the archive service's REST interface: the eight operations of the specification, and
// those for content, text, page previews, search, metadata, keywords, renaming, replacing and deleting, which a
// deployment may lack. It returns types of package archive; the types of the wire stay inside.
//
// # Layers
//
// Client has the operations. A service sends their requests, decodes the answers, and remembers which operations the
// deployment lacks. A sender repeats a request if allowed, unless a circuit breaker is open; an attempt sends it once.
//
// # Guarantees
//
//   - Every error of an operation is an *archive.Error whose Op is the operation in words. An ended context is in its
//     chain, so errors.Is(err, context.Canceled) holds.
//   - A change is never blindly repeated. It is sent again only when the service provably did not act on the first one
//     (no connection was made, or it answered 429), or when it sets a state (auto-export, keywords, metadata), which
//     makes a second one harmless. Everything that reads is repeated with capped exponential backoff, and Retry-After
//     is honoured.
//   - A circuit breaker opens when no connection can be made, or the service does not answer, or answers 503 to every
//     repetition. Then requests fail at once, as unsent, and only probes are sent. While the service lacks only
//     contents, a request for one is not repeated after a 503.
//   - A request that makes no progress ends after Config.Stall; a transfer that makes progress may take as long as it
//     needs.
//   - Memory does not grow with the document: uploads stream from an archive.Blob with an exact Content-Length,
//     content streams to the caller. Document lists and structures are decoded element by element.
//   - Content is exactly the service's bytes. A body that ends early is an error, never a silent end of file.
//   - Keys and passwords go to the configured origin only, and appear in no error, log line or printed value.
//   - After five refusals of the credentials in a row requests pause, so that the service does not lock the account.
//   - An operation that the deployment lacks fails with archive.KindUnsupported, for ten minutes without a request. A
//     single document without content does not make it missing for others.
package apiclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// Client talks to one archive service with one set of credentials, and with those of its People. It
// is safe for concurrent use.
type Client struct {
	sender   *sender
	service  *service
	location *time.Location
	log      logrus.FieldLogger
	// lazyIsSilent is set once a lazy structure left out the children of its own parent.
	lazyIsSilent atomic.Bool
	// generations counts calls of SetPeople.
	generations atomic.Uint64
}

// New returns a Client for cfg. It reads the certificate files and sends nothing. The error for
// a setting of the user is a *SettingError.
func New(cfg Config) (*Client, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	base, err := normalBase(cfg.BaseURL)
	if err != nil {
		return nil, err
	}
	proxy, through, err := proxyOf(cfg.Proxy, base)
	if err != nil {
		return nil, err
	}
	transport, made := cfg.Transport, &connections{}
	if transport == nil {
		if transport, err = newTransport(cfg, proxy, made); err != nil {
			return nil, err
		}
	}
	if base.Scheme == "http" && !loopback(base) {
		cfg.Log.WithField("base-url", base.String()).
			Warn("the connection is not encrypted: credentials and documents can be read on the way; use https")
	}
	s := newSender(cfg, base, transport, made)
	s.proxy = through
	service := &service{sender: s, support: supportTable{operations: map[Operation]supportRow{}}, log: cfg.Log}
	return &Client{sender: s, service: service, location: cfg.Location, log: cfg.Log}, nil
}

// BaseURL returns the normalised address of the service. It contains no secret.
func (c *Client) BaseURL() string { return c.sender.base.String() }

// Proxy names the proxy of all requests, without its credentials, and where it comes from; empty for none.
func (c *Client) Proxy() string { return c.sender.proxy }

// Doubt says, before the first request, that the service may be away: until its first answer calls fail
// after a second, as when it is known to be away.
func (c *Client) Doubt() { c.sender.circuit.doubt() }

// Expect says, before the first request, how to find out whether the top of the archive has ever listed
// something: if so, an empty one is no answer of the service.
func (c *Client) Expect(known func() bool) { c.sender.known = known }

// Close closes idle connections and ends probes. Requests in flight go on. The Client can still
// be used, but its circuit breaker does not close any more once it is open.
func (c *Client) Close() {
	c.sender.circuit.close()
	c.sender.http.CloseIdleConnections()
}

// SetCredentials sets the credentials of further requests, for instance after a change of the
// password. They are of the same user: pending uploads are sent with them.
func (c *Client) SetCredentials(cred Credentials) error {
	if err := cred.Validate(); err != nil {
		return err
	}
	c.sender.caller.Store(newCaller(cred))
	return nil
}

// Stats returns the counters of every operation used so far, by name. Requests counts attempts, Failures those that
// ended in an error; Total and Latency are times to the head of the answer, Waited and Waits those before, until a
// connection was free. An operation counts from its first request on, also while that is in flight.
func (c *Client) Stats() []archive.OperationStats { return c.sender.stats.all() }

// Supports returns whether the deployment has op, as far as its answers have shown. It sends nothing.
func (c *Client) Supports(op Operation) Support { return c.service.support.of(op) }

// LacksReplace reports whether the deployment is known to lack the operation, so that Replace
// would fail without a request.
func (c *Client) LacksReplace() bool { return c.Supports(OpReplace) == SupportNo }

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
	// Connections is the most requests in flight, default 16. A request whose body is being read
	// counts. If there are two or more, a quarter of them, at least one, is reserved for requests
	// without content. People get fair shares of them.
	Connections int
	// Person returns on whose behalf a request with that context is sent; false: on nobody's. Nil: on nobody's.
	Person func(ctx context.Context) (uid uint32, ok bool)
	// RetryFor is how long a repeatable request is repeated before its error is returned, default 3 s; waits for a
	// Retry-After come on top, 30 s in total at most. Negative: nothing is repeated.
	RetryFor time.Duration
	// Stall is the longest time a request may take, default 30 s; then it ends with archive.KindTimeout, and one that
	// only reads is repeated once. The time starts again when a body was sent, and when a content begins to arrive.
	// While either is transferred, the request ends when it is slower than 1 KiB/s for that long. A listing gets
	// another second for every 64 KiB.
	Stall time.Duration
	// UploadLimit and DownloadLimit are how many bytes of contents may be sent and received a second, by all
	// requests together, 0 for no limit. Waiting for them does not count as a stall.
	UploadLimit, DownloadLimit int64
	// Location is the zone of dates that carry none, default time.Local.
	Location *time.Location
	// Proxy is the address of the proxy for all requests, or ProxyNone; empty: that of the environment
	// (HTTPS_PROXY or HTTP_PROXY, unless NO_PROXY says otherwise).
	Proxy string
	// CAFile holds PEM certificates that are trusted in addition to the system's.
	CAFile string
	// CertFile and KeyFile are the client certificate and its key in PEM; both or none.
	CertFile, KeyFile string
	UserAgent         string
	// Log receives each request at debug, repetitions at info, oddities of the service
	// at warning level. Nil: nothing is logged.
	Log logrus.FieldLogger
	// Watch, if set, is called with each answer of any status. It must not read the body.
	Watch func(*http.Response)
	// Transport replaces the connection settings (CAFile, CertFile, proxies), for tests.
	Transport http.RoundTripper
}

func (cfg Config) withDefaults() Config {
	cfg.Connections = cmp.Or(cfg.Connections, DefaultConnections)
	cfg.RetryFor = cmp.Or(cfg.RetryFor, DefaultRetryFor)
	cfg.Stall = cmp.Or(cfg.Stall, DefaultStall)
	cfg.Location = cmp.Or(cfg.Location, time.Local)
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	if cfg.Log == nil {
		silent := logrus.New()
		silent.SetOutput(io.Discard)
		silent.SetLevel(logrus.PanicLevel)
		cfg.Log = silent
	}
	return cfg
}

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

// Setting names a part of a Config, in words.
type Setting string

// The settings that a SettingError can be about.
const (
	SettingBaseURL  Setting = "base URL"
	SettingAPIKey   Setting = "API key"
	SettingCloudID  Setting = "Cloud-ID"
	SettingUser     Setting = "user"
	SettingPassword Setting = "password"
	SettingProxy    Setting = "proxy"
	SettingCAFile   Setting = "CA file"
	SettingCertFile Setting = "client certificate"
)

// SettingError says which setting cannot be used, and why. It holds no secret.
type SettingError struct {
	Setting Setting
	Err     error
}

// Error implements error.
func (e *SettingError) Error() string { return string(e.Setting) + ": " + e.Err.Error() }

// Unwrap returns the reason.
func (e *SettingError) Unwrap() error { return e.Err }

func unusable(s Setting, format string, args ...any) error {
	return &SettingError{Setting: s, Err: fmt.Errorf(format, args...)}
}

// apiPath is where every operation lives (specification, Versioning).
const apiPath = "/api/v2"

// Address returns the address that a Client with the BaseURL raw has. Its error is a *SettingError.
func Address(raw string) (string, error) {
	base, err := normalBase(raw)
	if err != nil {
		return "", err
	}
	return base.String(), nil
}

// normalBase returns the address that operations are appended to: lower-case scheme and host, no default port, a clean
// path that ends in /api/v2. Its errors do not quote raw, which may contain a password by mistake.
func normalBase(raw string) (*url.URL, error) {
	raw = strings.TrimSpace(raw)
	if raw != "" && !strings.Contains(raw, "://") {
		return nil, unusable(SettingBaseURL, "add http:// or https:// in front")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, unusable(SettingBaseURL, "not an address of the form http(s)://HOST[:PORT][/PATH]")
	}
	switch scheme := strings.ToLower(u.Scheme); {
	case scheme != "http" && scheme != "https":
		return nil, unusable(SettingBaseURL, "must begin with http:// or https://")
	case u.User != nil:
		return nil, unusable(SettingBaseURL, "give user and password as credentials, not in the address")
	case u.Hostname() == "":
		return nil, unusable(SettingBaseURL, "the host is missing")
	case u.Port() != "" && !isPort(u.Port()):
		return nil, unusable(SettingBaseURL, "a port is a number from 1 to 65535")
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || strings.Contains(raw, "#"):
		return nil, unusable(SettingBaseURL, "must not have a query or fragment")
	}
	base, err := url.Parse(origin(u) + cleanPath(u.EscapedPath()))
	if err != nil {
		return nil, unusable(SettingBaseURL, "%w", errors.Unwrap(err))
	}
	return base, nil
}

// isPort reports whether s is a port number other than 0.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// cleanPath returns the escaped path p without empty and dot segments, ending in /api/v2.
func cleanPath(p string) string {
	p = strings.TrimSuffix(path.Clean("/"+p), "/")
	if !strings.HasSuffix(p, apiPath) {
		p += apiPath
	}
	return p
}

// origin returns scheme, host and port of u (RFC 6454, section 6.2), in lower case and without the scheme's own port.
func origin(u *url.URL) string {
	scheme, host, port := strings.ToLower(u.Scheme), strings.ToLower(u.Hostname()), u.Port()
	if strings.Contains(host, ":") {
		host = "[" + strings.ReplaceAll(host, "%", "%25") + "]"
	}
	if port == "" || scheme == "http" && port == "80" || scheme == "https" && port == "443" {
		return scheme + "://" + host
	}
	return scheme + "://" + host + ":" + port
}

// loopback reports whether the host of u is localhost or a loopback address.
func loopback(u *url.URL) bool {
	host := u.Hostname()
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
