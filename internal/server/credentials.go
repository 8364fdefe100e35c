package server

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Credentials are what a client must show (specification, Authentication). APIKey is
// needed always. With User, Basic credentials beside it are accepted (set A); with
// CloudID, a Cloud-ID beside it (set B); with both, either set; with neither, the key
// alone. Without an APIKey nothing is served.
type Credentials struct {
	APIKey   string
	CloudID  string
	User     string
	Password string
}

// accepted holds the hashes of the configured credentials: comparing hashes takes the
// same time whatever the client sent, its length included.
type accepted struct {
	key, cloud, user, password [sha256.Size]byte
	hasKey, setA, setB         bool
}

func accept(c Credentials) accepted {
	return accepted{
		key: hash(c.APIKey), cloud: hash(c.CloudID), user: hash(c.User), password: hash(c.Password),
		hasKey: c.APIKey != "", setA: c.User != "", setB: c.CloudID != "",
	}
}

// identify returns who makes a request: by the credentials of the options, or by those that
// the database has. What is shown twice is refused: a proxy in between may have looked at the other one.
func (s *Server) identify(r *http.Request) (identity, error) {
	for _, name := range []string{"API-Key", "Cloud-ID", "Authorization"} {
		if len(r.Header.Values(name)) > 1 {
			return identity{}, refuse(archive.KindUnauthorized, "the header %s is there twice", name)
		}
	}
	if who, ok := s.accepted.identify(r); ok {
		return who, nil
	}
	shown := gate.Shown{Key: r.Header.Get("API-Key"), CloudID: r.Header.Get("Cloud-ID"), Address: r.RemoteAddr}
	shown.User, shown.Password, shown.Basic = r.BasicAuth()
	if s.gate == nil || !shown.Basic && r.Header.Get("Authorization") != "" {
		return identity{}, refuse(archive.KindUnauthorized, "the credentials of one accepted set are needed")
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		shown.Address = host
	}
	granted, err := s.gate.Admit(r.Context(), shown)
	if err != nil {
		return identity{}, err
	}
	return identity{
		tenant: granted.Key.Tenant.ID, user: granted.User.Name, userID: granted.User.ID,
		limited: true, scopes: granted.Key.Scopes, mandators: granted.Key.Mandators,
	}, nil
}

// AcceptKey takes a key as the one of the options, which have none. It is called before the
// service is asked.
func (s *Server) AcceptKey(key string) {
	s.options.Credentials.APIKey = key
	s.accepted = accept(s.options.Credentials)
}

// HasKeys reports whether there are keys in the database, for whatever tenant, and whether they
// can still be used or not.
func (s *Server) HasKeys(ctx context.Context) (bool, error) {
	if s.keys == nil {
		return false, nil
	}
	return s.keys.HasKeys(ctx)
}

// identify returns who makes a request that shows the credentials of one accepted set: a
// user of the default tenant, or nobody by name. ok is false when it shows none.
func (a accepted) identify(r *http.Request) (who identity, ok bool) {
	if !a.admits(r) {
		return identity{}, false
	}
	who.tenant = store.DefaultTenant
	if user, _, basic := r.BasicAuth(); basic && a.setA {
		who.user = user
	}
	return who, true
}

// admits reports whether a request shows the credentials of one accepted set. A request
// that mixes the sets is refused.
func (a accepted) admits(r *http.Request) bool {
	user, password, basic := r.BasicAuth()
	cloud := r.Header.Get("Cloud-ID")
	mixed := cloud != "" && r.Header.Get("Authorization") != ""
	key := equal(a.key, r.Header.Get("API-Key"))
	asUser := equal(a.user, user) & equal(a.password, password)
	asCloud := equal(a.cloud, cloud)
	switch {
	case !a.hasKey || mixed || key == 0:
		return false
	case !a.setA && !a.setB:
		return true
	case a.setA && basic && asUser == 1:
		return true
	default:
		return a.setB && asCloud == 1
	}
}

func hash(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

func equal(want [sha256.Size]byte, got string) int {
	sum := hash(got)
	return subtle.ConstantTimeCompare(want[:], sum[:])
}
