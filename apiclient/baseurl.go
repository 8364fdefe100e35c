package apiclient

import (
	"errors"
	"net"
	"net/url"
	"path"
	"strconv"
	"strings"
)

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
