package apiclient

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// Credentials authorise requests (specification, Authentication): set A (API key, user and
// password), set B (Cloud-ID and API key), or the API key alone. Printed in any way they show
// the Identity only.
type Credentials struct {
	APIKey   string
	CloudID  string
	User     string
	Password string
}

// Validate returns a *SettingError unless c is one of the credential sets.
func (c Credentials) Validate() error {
	switch {
	case c.APIKey == "":
		return unusable(SettingAPIKey, "an API key is required")
	case c.CloudID != "" && (c.User != "" || c.Password != ""):
		return unusable(SettingCloudID, "a Cloud-ID and a user with password exclude each other")
	case c.User != "" && c.Password == "":
		return unusable(SettingPassword, "the user needs a password")
	case c.User == "" && c.Password != "":
		return unusable(SettingUser, "the password needs a user")
	case strings.Contains(c.User, ":"):
		return unusable(SettingUser, "a user name cannot hold a colon (RFC 7617, section 2)")
	}
	for _, field := range []struct {
		name  Setting
		value string
	}{
		{SettingAPIKey, c.APIKey}, {SettingCloudID, c.CloudID}, {SettingUser, c.User}, {SettingPassword, c.Password},
	} {
		if strings.ContainsFunc(field.value, isControl) {
			return unusable(field.name, "the %s holds a line break or another control character", field.name)
		}
	}
	return nil
}

func isControl(r rune) bool { return r < 0x20 || r == 0x7f }

// Identity names the credentials without a secret, to bind state on disk to them:
// "basic:USER", "cloud:ID", or "key:" and 16 hexadecimal digits of a hash of the API key.
func (c Credentials) Identity() string {
	switch {
	case c.User != "":
		return "basic:" + c.User
	case c.CloudID != "":
		return "cloud:" + c.CloudID
	}
	sum := sha256.Sum256([]byte("archivefs-key-fingerprint\x00" + c.APIKey))
	return "key:" + hex.EncodeToString(sum[:8])
}

// String returns the identity.
func (c Credentials) String() string { return c.Identity() }

// GoString returns the identity.
func (c Credentials) GoString() string { return c.Identity() }

// Format writes the identity, whatever the verb.
func (c Credentials) Format(f fmt.State, _ rune) {
	_, _ = io.WriteString(f, c.Identity()) // a fmt.State does not fail
}

// MarshalText returns the identity, so that encoders (such as of JSON logs) show no secret.
func (c Credentials) MarshalText() ([]byte, error) { return []byte(c.Identity()), nil }

// basic returns the user and password as RFC 7617 encodes them.
func (c Credentials) basic() string {
	return base64.StdEncoding.EncodeToString([]byte(c.User + ":" + c.Password))
}

// authorizer returns a function that adds the credentials to a request. The secrets live in its
// closure, where formatting a Client does not reach them. The header names are spelled as in the
// specification (Header.Set would write Api-Key): some proxies compare their case.
func (c Credentials) authorizer() func(http.Header) {
	return func(h http.Header) {
		h["API-Key"] = []string{c.APIKey}
		if c.CloudID != "" {
			h["Cloud-ID"] = []string{c.CloudID}
		}
		if c.User != "" {
			h.Set("Authorization", "Basic "+c.basic())
		}
	}
}

// shortestSecret is the length in bytes of the shortest secret that is redacted: replacing
// every "a" would make messages unreadable.
const shortestSecret = 4

// redactor returns a function that removes the secrets of c from a text of the service: an
// error may quote the request.
func (c Credentials) redactor() func(string) string {
	var pairs []string
	for _, secret := range []string{c.basic(), c.APIKey, c.Password} {
		if len(secret) < shortestSecret {
			continue
		}
		pairs = append(pairs, secret, "***")
		if escaped := url.QueryEscape(secret); escaped != secret {
			pairs = append(pairs, escaped, "***")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}

// caller is the credentials of requests, in a form that shows no secret when a Client is printed.
type caller struct {
	person    string // the user of this machine whose they are, Printable; empty for the client's own
	authorize func(http.Header)
	redact    func(string) string
	lockout   *lockout // shared by all who have the same credentials
}

func newCaller(c Credentials) *caller {
	return &caller{authorize: c.authorizer(), redact: c.redactor(), lockout: &lockout{}}
}
