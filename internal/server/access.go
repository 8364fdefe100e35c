package server

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/stall"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

const (
	// maxLogged is how many bytes of a form are logged.
	maxLogged = 512
	// headerID carries the id of a request, in both directions.
	headerID = "X-Request-Id"
	// maxID is the longest id that a client may send.
	maxID = 128
)

// Request is an answered request.
type Request struct {
	ID     string // as sent in X-Request-Id
	Method string
	Path   string
	Query  url.Values
	User   string // empty without a user
	Tenant int64  // 0 without credentials
	Key    int64  // the number of the API key, 0 for that of the options and for an unknown one
	// Reason is why the request was refused, in a word: the reason of 401 or 403, else the end of
	// the problem's type. Empty if it was not refused.
	Reason string
	Remote string // address of the client, or of the last proxy
	// Form holds the form fields of the body, without files.
	Form     url.Values
	Status   int
	Received int64 // bytes of the request's body
	Bytes    int64 // of the answer's body
	Duration time.Duration
}

// logged gives a request its id, counts it, watches its pace, logs it and calls OnRequest. Headers,
// which have the credentials, and bodies other than form fields are never logged.
func (f *front) logged(next http.Handler) http.Handler {
	return http.HandlerFunc(func(plain http.ResponseWriter, r *http.Request) {
		began := time.Now()
		w := &response{ResponseWriter: plain, id: requestID(r), progress: stall.New(plain, r, f.stall)}
		w.Header().Set(headerID, w.id)
		if len(r.TransferEncoding) > 0 {
			// The request may also have had a Content-Length (RFC 9112, section 6.1), which net/http
			// hides. A proxy that uses that length would take the rest for another request.
			w.Header().Set("Connection", "close")
		}
		var body *inbound
		if r.Body != nil && r.Body != http.NoBody {
			// net/http checks the body of its own request to learn whether the client was told to send it.
			body = &inbound{ReadCloser: r.Body, w: w, expected: r.Header.Get("Expect") != ""}
			own := *r
			own.Body = body
			r = &own
		}
		f.counters.requests.Add(1)
		defer func() {
			f.counters.end(w, time.Since(began))
			f.note(w, r, began)
			w.finish(body)
		}()
		next.ServeHTTP(w, r)
	})
}

// note logs a request.
func (f *front) note(w *response, r *http.Request, began time.Time) {
	if f.onRequest == nil && !enabled(f.log, logrus.InfoLevel) {
		return
	}
	done := Request{
		ID: w.id, Method: r.Method, Path: r.URL.Path, Query: r.URL.Query(), Form: w.form, User: w.who.user, Tenant: int64(w.who.tenant), Key: w.who.key, Remote: r.RemoteAddr,
		Reason: cmp.Or(string(w.denied), w.refused),
		Status: w.status, Received: w.received, Bytes: w.bytes, Duration: time.Since(began),
	}
	f.log.WithFields(line(done)).Info("request")
	if f.onRequest != nil {
		f.onRequest(done)
	}
}

// enabled reports whether a log writes entries of a level; true if the log cannot tell.
func enabled(log logrus.FieldLogger, level logrus.Level) bool {
	asked, ok := log.(interface{ IsLevelEnabled(logrus.Level) bool })
	return !ok || asked.IsLevelEnabled(level)
}

// requestID is the id that a client, or a proxy, gave the request, or a new one.
func requestID(r *http.Request) string {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~"
	given := r.Header.Get(headerID)
	if given == "" || len(given) > maxID || strings.Trim(given, allowed) != "" {
		return rand.Text()
	}
	return given
}

// amountOfTime is a number of seconds, printed without an exponent.
type amountOfTime float64

func seconds(d time.Duration) amountOfTime { return amountOfTime(d.Seconds()) }

func (a amountOfTime) String() string { return strconv.FormatFloat(float64(a), 'f', -1, 64) }

// line is the log entry of a request.
func line(r Request) logrus.Fields {
	l := logrus.Fields{
		"id": r.ID, "method": r.Method, "path": decoded(r), "status": r.Status, "received": r.Received, "sent": r.Bytes,
		"seconds": seconds(r.Duration.Round(time.Microsecond)), "remote": r.Remote,
	}
	if r.Tenant != 0 {
		l["tenant"] = r.Tenant
	}
	if r.Key != 0 {
		l["key"] = r.Key
	}
	if r.Reason != "" {
		l["reason"] = r.Reason
	}
	if r.User != "" {
		l["user"] = archive.Printable(r.User)
	}
	if len(r.Form) > 0 {
		l["form"] = fields(r.Form)
	}
	return l
}

// decoded is a request's path and query, decoded. Without credentials the query is left out,
// because the client may have put them there.
func decoded(r Request) string {
	path := archive.Printable(shortened(r.Path))
	if len(r.Query) > 0 && r.Status != http.StatusUnauthorized {
		path += "?" + fields(r.Query)
	}
	return path
}

// fields joins parameters by name, decoded, escaped for printing and shortened.
func fields(values url.Values) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if b.Len() > 0 {
			b.WriteByte('&')
		}
		b.WriteString(name + "=" + strings.Join(values[name], ","))
		if b.Len() > maxLogged {
			break
		}
	}
	return archive.Printable(shortened(b.String()))
}

func shortened(text string) string {
	if len(text) > maxLogged {
		return text[:maxLogged] + "..."
	}
	return text
}

// Credentials are the credentials of a client (specification, Authentication). An APIKey is always
// required. With User, Basic credentials are accepted in addition (set A); with CloudID, a Cloud-ID
// (set B); with both, either set; with neither, the key alone, and clients of the specification may
// send a set, which is ignored. Without an APIKey nothing is served.
type Credentials struct {
	APIKey   string
	CloudID  string
	User     string
	Password string
}

// accepted holds the hashes of the configured credentials: comparing hashes takes the same time for
// any input of any length.
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

// door authenticates requests.
type door struct {
	accepted accepted
	gate     *gate.Gate
}

// identify returns the sender of a request, by the credentials of the options or of the database.
// A credential header that is sent twice is refused: a proxy may have checked the other one.
func (d *door) identify(r *http.Request) (identity, error) {
	for _, name := range []string{"API-Key", "Cloud-ID", "Authorization"} {
		if len(r.Header.Values(name)) > 1 {
			return identity{}, refusal.Deny(refusal.Twice, archive.KindUnauthorized, "the header %s is there twice", name)
		}
	}
	who, wrong := d.accepted.identify(r)
	if wrong == nil {
		return who, nil
	}
	shown := gate.Shown{Key: r.Header.Get("API-Key"), CloudID: r.Header.Get("Cloud-ID"), Address: r.RemoteAddr}
	shown.User, shown.Password, shown.Basic = r.BasicAuth()
	if !shown.Basic && r.Header.Get("Authorization") != "" {
		return identity{}, gate.Refuse(refusal.OtherScheme, store.Key{}, store.Account{})
	}
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		shown.Address = host
	}
	granted, err := d.gate.Admit(r.Context(), shown)
	if refusal.Denial(err) == gate.UnknownKey { // it may be that of the options
		err = wrong
	}
	if err != nil {
		return identity{}, err
	}
	return holder(granted.Key, granted.User), nil
}

// holder is a key of the database, with or without a user.
func holder(key store.Key, user store.Account) identity {
	return identity{
		tenant: key.Tenant.ID, key: key.ID, user: user.Name, userID: user.ID,
		limited: true, scopes: key.Scopes, mandators: key.Mandators,
	}
}

// AcceptKey sets the API key of the options. It is called before the first request.
func (s *Server) AcceptKey(key string) {
	s.options.Credentials.APIKey = key
	s.door.accepted = accept(s.options.Credentials)
}

// HasKeys reports whether the database has keys, of any tenant, valid or not.
func (s *Server) HasKeys(ctx context.Context) (bool, error) {
	return s.db.Access.HasKeys(ctx)
}

// identify returns the sender of a request with the credentials of one accepted set: a user of the
// default tenant, or an unnamed one. The error for any other request is a Refusal.
func (a accepted) identify(r *http.Request) (who identity, err error) {
	user, _, basic := r.BasicAuth()
	switch why := a.refuses(r); why {
	case "":
	case gate.WrongPassword:
		return identity{}, gate.Refuse(why, store.Key{}, store.Account{Name: user})
	default:
		return identity{}, gate.Refuse(why, store.Key{}, store.Account{})
	}
	who.tenant = store.DefaultTenant
	if basic && a.setA {
		who.user = user
	}
	return who, nil
}

// refuses returns why a request does not have the credentials of one accepted set, empty if it does.
// Mixing both sets is refused.
func (a accepted) refuses(r *http.Request) gate.Reason {
	user, password, basic := r.BasicAuth()
	cloud := r.Header.Get("Cloud-ID")
	mixed := cloud != "" && r.Header.Get("Authorization") != ""
	key := equal(a.key, r.Header.Get("API-Key"))
	asUser, withPassword := equal(a.user, user), equal(a.password, password)
	asCloud := equal(a.cloud, cloud)
	switch {
	case r.Header.Get("API-Key") == "":
		return gate.NoCredentials
	case mixed:
		return gate.Mixed
	case !a.hasKey || key == 0:
		return gate.UnknownKey
	case !a.setA && !a.setB, a.setA && basic && asUser&withPassword == 1, a.setB && asCloud == 1:
		return ""
	case a.setA && basic && asUser == 1:
		return gate.WrongPassword
	case a.setA && basic:
		return gate.UnknownUser
	case a.setB && cloud != "":
		return gate.WrongCloudID
	default:
		return refusal.Incomplete
	}
}

func hash(s string) [sha256.Size]byte { return sha256.Sum256([]byte(s)) }

func equal(want [sha256.Size]byte, got string) int {
	sum := hash(got)
	return subtle.ConstantTimeCompare(want[:], sum[:])
}

// identity is the sender of a request and the rights of the credentials. It is determined once, before anything else.
type identity struct {
	tenant store.TenantID
	key    int64  // 0 for that of the options
	user   string // empty for an unnamed one
	userID int64  // 0 for a user that the database does not have
	// limited says that only the operations of scopes are allowed.
	limited bool
	scopes  []string
	// mandators are those that can be seen, nil for all.
	mandators []archive.ID
}

// may reports whether an operation of a scope is allowed.
func (who identity) may(needed Scope) bool {
	return !who.limited || slices.Contains(who.scopes, string(needed))
}

func (who identity) party() turns.Party { return turns.Party{Key: who.key, User: who.user} }

// view identifies what an identity can see, to keep cached lists of others apart.
func (who identity) view() string {
	if who.mandators == nil {
		return fmt.Sprint(who.tenant)
	}
	return fmt.Sprint(who.tenant, who.mandators, who.userID)
}

// Scope is a group of operations to which a key may be limited.
type Scope string

// The scopes. Neither includes the other: a scanner may upload documents that it cannot read.
const (
	ScopeRead  Scope = "read"
	ScopeWrite Scope = "write"
)

// Scopes returns all scopes.
func Scopes() []Scope { return []Scope{ScopeRead, ScopeWrite} }
