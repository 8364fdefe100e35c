package apiclient

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
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

// Setting names a part of a Config, in words.
type Setting string

// The settings that a SettingError can be about.
const (
	SettingBaseURL  Setting = "base URL"
	SettingAPIKey   Setting = "API key"
	SettingCloudID  Setting = "Cloud-ID"
	SettingUser     Setting = "user"
	SettingPassword Setting = "password"
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

// Address returns the address of a service as BaseURL of a Client has it. What is wrong with
// raw is a *SettingError.
func Address(raw string) (string, error) {
	base, err := normalBase(raw)
	if err != nil {
		return "", err
	}
	return base.String(), nil
}

// normalBase returns the address that operations are appended to: lower-case scheme
// and host, no default port, a clean path that ends in /api/v2. Its errors do not
// repeat raw, which may hold a password by mistake.
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

// isPort reports whether s is a port to which one can connect.
func isPort(s string) bool {
	n, err := strconv.ParseUint(s, 10, 16)
	return err == nil && n > 0
}

// cleanPath returns the escaped path p without empty and dot segments, ending in
// /api/v2.
func cleanPath(p string) string {
	p = strings.TrimSuffix(path.Clean("/"+p), "/")
	if !strings.HasSuffix(p, apiPath) {
		p += apiPath
	}
	return p
}

// origin returns scheme, host and port of u (RFC 6454, section 6.2), in lower case
// and without the scheme's own port.
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

// loopback reports whether u's host is this machine, as far as its name tells.
func loopback(u *url.URL) bool {
	host := u.Hostname()
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}
