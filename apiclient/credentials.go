package apiclient

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// Credentials authorise requests (specification, Authentication): set A (API key, user and password), set B (Cloud-ID
// and API key), or the API key alone. Printed in any way they show the Identity only.
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
		if strings.ContainsFunc(field.value, func(r rune) bool { return r < 0x20 || r == 0x7f }) {
			return unusable(field.name, "the %s holds a line break or another control character", field.name)
		}
	}
	return nil
}

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

// redactor returns a function that removes the secrets of c from a text of the service: an error may quote the request.
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

// People are the credentials of users of this machine. A request on behalf of one of them
// (Config.Person) is sent with these, any other with the client's own.
type People struct {
	Of map[uint32]Person // by number
	// Others is everybody else, nil to refuse them.
	Others *Person
}

// Person is a user of this machine.
type Person struct {
	Name string // on this machine, for messages
	// Own: the client's own credentials are this user's, too.
	Own         bool
	Credentials Credentials
}

// people are People in the form in which requests use them: nil stands for the client's own credentials.
type people struct {
	of      map[uint32]*caller
	others  *caller
	refuses bool // everybody else is refused
	names   map[string]*caller
	// ids names the credentials of each caller; no later People have the same names.
	ids map[*caller]string
}

// SetPeople sets the credentials of people for further requests; nil for none. If the service refused
// some of them, it is asked again.
func (c *Client) SetPeople(all *People) error {
	if all == nil {
		c.sender.people.Store(nil)
		return nil
	}
	p := &people{of: make(map[uint32]*caller, len(all.Of)), refuses: all.Others == nil, names: map[string]*caller{}, ids: map[*caller]string{}}
	generation, same := c.generations.Add(1), map[Credentials]*caller{}
	add := func(who Person) (*caller, error) {
		name := archive.Printable(who.Name)
		if who.Own {
			p.names[name] = nil
			return nil, nil
		}
		if err := who.Credentials.Validate(); err != nil {
			return nil, fmt.Errorf("the user %s: %w", name, err)
		}
		as := newCaller(who.Credentials)
		as.person = name
		p.ids[as] = fmt.Sprintf("%d.%d", generation, len(same))
		if first := same[who.Credentials]; first != nil {
			as.lockout, p.ids[as] = first.lockout, p.ids[first]
		} else {
			same[who.Credentials] = as
		}
		p.names[name] = as
		return as, nil
	}
	var err error
	for uid, who := range all.Of {
		if p.of[uid], err = add(who); err != nil {
			return err
		}
	}
	if all.Others != nil {
		if p.others, err = add(*all.Others); err != nil {
			return err
		}
	}
	c.sender.people.Store(p)
	return nil
}

// errStranger is the cause of an error for somebody who is not among the People.
var errStranger = errors.New("there are no credentials for this user")

// get returns the credentials of a user, nil for the client's own. A nil p has no others.
func (p *people) get(uid uint32) (*caller, error) {
	if p == nil {
		return nil, nil
	}
	as, ok := p.of[uid]
	switch {
	case ok:
		return as, nil
	case p.refuses:
		return nil, errStranger
	}
	return p.others, nil
}

// callerOf returns the credentials of a request on somebody's behalf.
func (s *sender) callerOf(who person, op Operation) (*caller, error) {
	if p := s.people.Load(); p != nil && who.some {
		as, err := p.get(who.uid)
		if err != nil {
			return nil, &archive.Error{
				Op: op.doing, Kind: archive.KindUnauthorized, Unsent: true, Person: strconv.FormatUint(uint64(who.uid), 10), Err: err,
			}
		}
		if as != nil {
			return as, nil
		}
	}
	return s.caller.Load(), nil
}

// Whose names the credentials of a user of this machine: the same name is of the same credentials, until the next
// SetPeople. It is empty for the client's own. There is an error for somebody who has none.
func (c *Client) Whose(uid uint32) (string, error) {
	p := c.sender.people.Load()
	as, err := p.get(uid)
	if as == nil || err != nil {
		return "", err
	}
	return p.ids[as], nil
}

// Mapped returns how many people have credentials of their own, and the names of those whose the
// service refused when it last answered a request of theirs.
func (c *Client) Mapped() (people int, refused []string) {
	p := c.sender.people.Load()
	if p == nil {
		return 0, nil
	}
	for name, as := range p.names {
		if as != nil && as.lockout.refused() {
			refused = append(refused, name)
		}
	}
	slices.SortFunc(refused, strings.Compare)
	for _, as := range p.of {
		if as != nil {
			people++
		}
	}
	return people, refused
}
