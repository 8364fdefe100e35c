// Package gate authenticates requests by the credentials in the database: API keys, and users with passwords.
//
// It guarantees that a revoked key or a removed or changed user is accepted for freshFor at most, whatever process made
// the change; that neither the answer nor its time reveals to the holder of a key which users exist; that only a few
// passwords are checked at a time; and that repeated failures of one client do not lock out others.
//
// A key is a random text of 130 bits, so its SHA-256 is stored: a slower hash would only protect
// texts that can be guessed, and it would have to be computed for every request. Passwords are chosen
// by people, so their argon2id hashes are stored (RFC 9106).
package gate

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// freshFor is how long a key or user from the database is cached. A revoked key may still be
	// accepted for that time, on any instance.
	freshFor = 2 * time.Second
	// noteEvery is the shortest interval at which uses of a key are recorded.
	noteEvery = time.Minute
	// noteWithin is how long recording may take.
	noteWithin = 10 * time.Second
	// remembered is how many keys, users and passwords are cached, each.
	remembered = 4096
)

// Database stores keys and users. Unknown ones are KindNotFound.
type Database interface {
	FindKey(ctx context.Context, hash string) (store.Key, error)
	FindAccount(ctx context.Context, tenant store.TenantID, name string) (store.Account, error)
	UseKey(ctx context.Context, id int64, at, before time.Time) error
}

// Gate authenticates requests. Its methods may be called concurrently.
type Gate struct {
	db      Database
	cloudID string      // of a tenant that has none in the database
	failed  func(error) // reports errors of background work
	now     func() time.Time
	writing sync.WaitGroup

	keys      *lru.Cache[string, known[store.Key]]   // by hash
	accounts  *lru.Cache[user, known[store.Account]] // including unknown ones
	verified  *lru.Cache[sum, known[string]]         // the password hash that matched, by the credentials
	failures  *lru.Cache[sum, failing]               // by key, user and address
	dummyHash string                                 // the password hash of unknown users
	secret    []byte                                 // keys the hashes of credentials
	checks    singleflight.Group                     // one for all requests with the same credentials
	turns     chan struct{}                          // a place for each running check
	waiting   chan struct{}                          // a place for each waiting check

	mu sync.Mutex
	// noted is when the use of a key was last recorded.
	noted map[int64]time.Time // +checklocks:mu
}

// sum is a hash of several texts.
type sum = [sha256.Size]byte

// user names an account.
type user struct {
	tenant store.TenantID
	name   string
}

// New makes a gate. A tenant that has no cloud id in the database has the given one, if that is
// not empty. Errors of background work are passed to failed.
func New(db Database, cloudID string, failed func(error)) *Gate {
	g := &Gate{
		db: db, cloudID: cloudID, failed: failed, dummyHash: dummyHash(), now: time.Now, noted: map[int64]time.Time{}, secret: make([]byte, sha256.Size),
		turns: make(chan struct{}, checksAtATime), waiting: make(chan struct{}, checksWaiting),
	}
	_, _ = rand.Read(g.secret) // never fails
	// lru.New fails only for a size below 1.
	g.keys, _ = lru.New[string, known[store.Key]](remembered)
	g.accounts, _ = lru.New[user, known[store.Account]](remembered)
	g.verified, _ = lru.New[sum, known[string]](remembered)
	g.failures, _ = lru.New[sum, failing](remembered)
	return g
}

// Close waits for background writes. All requests must have ended.
func (g *Gate) Close() { g.writing.Wait() }

// Shown is the credentials of a request.
type Shown struct {
	Key     string
	CloudID string // empty without one
	// Basic says that the request has a User and a Password.
	Basic          bool
	User, Password string
	// Address is the address of the client.
	Address string
}

// Granted is the key and the user of an admitted request.
type Granted struct {
	Key  store.Key
	User store.Account // the zero Account without a user
}

// Admit checks credentials. The error is a Refusal of KindUnauthorized if they are not accepted, and of
// KindBusy if the password was not checked and may be sent again later (see RetryAfter).
func (g *Gate) Admit(ctx context.Context, s Shown) (Granted, error) {
	if why := s.incomplete(); why != "" {
		return Granted{}, Refuse(why, store.Key{}, store.Account{})
	}
	key, err := g.key(ctx, s.Key)
	switch {
	case unknown(err):
		return Granted{}, Refuse(UnknownKey, store.Key{}, store.Account{})
	case err != nil:
		return Granted{}, fmt.Errorf("look for an API key: %w", err)
	}
	if why := g.ended(&key); why != "" {
		return Granted{}, Refuse(why, key, store.Account{})
	}
	if cloudID := cmp.Or(key.Tenant.CloudID, g.cloudID); s.CloudID != "" && (cloudID == "" || !same(cloudID, s.CloudID)) {
		return Granted{}, Refuse(WrongCloudID, key, store.Account{})
	}
	granted := Granted{Key: key}
	if s.Basic {
		if granted.User, err = g.user(ctx, key, s); err != nil {
			return Granted{}, err
		}
	}
	g.used(ctx, key)
	return granted, nil
}

// incomplete returns what is wrong with credentials regardless of the database, if anything.
func (s *Shown) incomplete() Reason {
	switch {
	case s.Key == "":
		return NoCredentials
	case s.CloudID != "" && s.Basic:
		return Mixed
	}
	return ""
}

// ended returns why a key is not valid, empty if it is.
func (g *Gate) ended(key *store.Key) Reason {
	switch {
	case key.Valid(g.now()):
		return ""
	case !key.Revoked.IsZero():
		return Revoked
	}
	return Expired
}

// same compares texts in a time that depends on neither.
func same(a, b string) bool {
	x, y := sha256.Sum256([]byte(a)), sha256.Sum256([]byte(b))
	return subtle.ConstantTimeCompare(x[:], y[:]) == 1
}

// Reason says in a word why credentials are refused.
type Reason string

// The reasons of this package. With TooManyTries (too many were wrong) and Busy (too many are being
// checked) the password was not checked.
const (
	NoCredentials Reason = "no-credentials" // no API key
	Mixed         Reason = "mixed"          // a Cloud-ID and a user
	UnknownKey    Reason = "unknown-key"
	Expired       Reason = "expired"
	Revoked       Reason = "revoked"
	WrongCloudID  Reason = "wrong-cloud-id"
	UnknownUser   Reason = "unknown-user"
	WrongPassword Reason = "wrong-password"
	TooManyTries  Reason = "too-many-tries"
	Busy          Reason = "busy"
)

// Refusal is the error of credentials that do not permit a request. Clients see Public only; the rest
// is for the operator.
type Refusal struct {
	Reason Reason
	Key    store.Key     // zero for an unknown key
	User   store.Account // without an ID unless the database has the user
	Public error
}

// Error implements error.
func (r *Refusal) Error() string { return r.Public.Error() }

// Unwrap returns the public error.
func (r *Refusal) Unwrap() error { return r.Public }

// OfUser reports whether the user or the password is wrong, and not the key.
func (r *Refusal) OfUser() bool { return r.Reason == UnknownUser || r.Reason == WrongPassword }

// Refuse returns the Refusal for a reason. Clients cannot tell from it what was wrong, unless the
// password was not checked.
func Refuse(why Reason, key store.Key, user store.Account) *Refusal {
	public := &archive.Error{Op: "credentials", Kind: archive.KindUnauthorized, Detail: "the credentials of one accepted set are needed"}
	switch why {
	case TooManyTries:
		public.Kind, public.Detail = archive.KindBusy, "too many wrong passwords; try again in a minute"
	case Busy:
		public.Kind, public.Detail = archive.KindBusy, "too many passwords are being checked; try again in a moment"
	}
	return &Refusal{Reason: why, Key: key, User: user, Public: public}
}

// NewKey makes an API key. Only its hash is kept.
func NewKey() string { return rand.Text() }

// HashKey is the hash of an API key that is stored: see the package comment.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// known is a cached answer of the database.
type known[T any] struct {
	what T
	at   time.Time
}

// key looks a key up by its hash, so that the time it takes reveals at most something about the hash.
func (g *Gate) key(ctx context.Context, shown string) (store.Key, error) {
	hash := HashKey(shown)
	now := g.now()
	if k, ok := g.keys.Get(hash); ok && now.Sub(k.at) < freshFor {
		return k.what, nil
	}
	key, err := g.db.FindKey(ctx, hash)
	if err != nil {
		g.keys.Remove(hash)
		return store.Key{}, err
	}
	g.keys.Add(hash, known[store.Key]{key, now})
	return key, nil
}

// used records the use of a key in the database, at most once in noteEvery. The request does not wait for it.
func (g *Gate) used(ctx context.Context, key store.Key) {
	now := g.now()
	if now.Sub(key.Used) < noteEvery || !g.note(key.ID, now) {
		return
	}
	g.writing.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
		defer cancel()
		if err := g.db.UseKey(ctx, key.ID, now, now.Add(-noteEvery)); err != nil {
			g.failed(fmt.Errorf("record the use of an API key: %w", err))
		}
	})
}

// note reports whether the use of a key is to be recorded now.
func (g *Gate) note(id int64, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.noted[id]) < noteEvery {
		return false
	}
	g.noted[id] = now
	return true
}

// unknown reports whether err says that there is no such key or user.
func unknown(err error) bool { return archive.KindOf(err) == archive.KindNotFound }

const (
	// rememberFor is how long a correct password is not checked again, unless it is changed.
	rememberFor = 5 * time.Minute
	// checksAtATime is how many passwords are checked at a time; each takes 19 MiB and a
	// processor. checksWaiting is how many may wait.
	checksAtATime = 2
	checksWaiting = 64
	// mayFail is how many wrong passwords are checked for one user, key and address within failsFor
	// of the first. Further passwords are refused unchecked.
	mayFail  = 5
	failsFor = time.Minute
)

// RetryAfter is the Retry-After, in seconds, for a password that was not checked.
const RetryAfter = "30"

// failing counts the failures of one user, key and address.
type failing struct {
	times int
	since time.Time
}

// user returns the user of a request, after checking the password.
func (g *Gate) user(ctx context.Context, key store.Key, s Shown) (store.Account, error) {
	account, err := g.account(ctx, user{key.Tenant.ID, s.User})
	if err != nil {
		return store.Account{}, fmt.Errorf("look for a user: %w", err)
	}
	shown := g.sum(key.Tenant.ID, s.User, s.Password)
	if was, ok := g.verified.Get(shown); ok && was.what == account.Password && g.now().Sub(was.at) < rememberFor {
		return account, nil
	}
	who := g.sum(store.TenantID(key.ID), s.User, s.Address)
	found, _, _ := g.checks.Do(string(shown[:])+string(who[:])+account.Password, func() (any, error) {
		return g.check(who, account.Password, s.Password), nil
	})
	why, _ := found.(Reason)
	if account.ID == 0 && (why == "" || why == WrongPassword) {
		why = UnknownUser
	}
	if why != "" {
		return store.Account{}, Refuse(why, key, account)
	}
	g.verified.Add(shown, known[string]{account.Password, g.now()})
	return account, nil
}

// account returns a user, from the database or the cache. An unknown one has no ID, and a password
// hash that matches nothing.
func (g *Gate) account(ctx context.Context, name user) (store.Account, error) {
	now := g.now()
	if a, ok := g.accounts.Get(name); ok && now.Sub(a.at) < freshFor {
		return a.what, nil
	}
	account, err := g.db.FindAccount(ctx, name.tenant, name.name)
	if unknown(err) {
		account, err = store.Account{Password: g.dummyHash}, nil
	}
	if err == nil {
		g.accounts.Add(name, known[store.Account]{account, now})
	}
	return account, err
}

// check compares a password with a stored hash, a few at a time, unless there were too many failures.
// It returns what is wrong, if anything.
func (g *Gate) check(who sum, kept, password string) Reason {
	if !g.mayTry(who) {
		return TooManyTries
	}
	select {
	case g.waiting <- struct{}{}:
	default:
		return Busy
	}
	g.turns <- struct{}{}
	<-g.waiting
	defer func() { <-g.turns }()
	if !matches(kept, password) {
		return WrongPassword
	}
	g.failures.Remove(who)
	return ""
}

// mayTry reports whether another password may be tried. Each try counts as a failure until it
// succeeds, so that concurrent tries cannot exceed the limit.
func (g *Gate) mayTry(who sum) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	f, ok := g.failures.Get(who)
	if now := g.now(); !ok || now.Sub(f.since) >= failsFor {
		f = failing{since: now}
	}
	if f.times >= mayFail {
		return false
	}
	f.times++
	g.failures.Add(who, f)
	return true
}

// sum is a keyed hash of texts, which only this process can compute.
func (g *Gate) sum(id store.TenantID, texts ...string) (s sum) {
	mac := hmac.New(sha256.New, g.secret)
	_ = binary.Write(mac, binary.BigEndian, int64(id)) // writing to a hash never fails
	for _, text := range texts {
		_ = binary.Write(mac, binary.BigEndian, int64(len(text)))
		_, _ = mac.Write([]byte(text))
	}
	return sum(mac.Sum(nil))
}

// cost is the parameters of an argon2id hash.
type cost struct {
	memory uint32 // in KiB
	passes uint32
	lanes  uint8
}

// The cost of new hashes, as OWASP recommends: 20 to 50 ms and 19 MiB.
const (
	memory = 19 << 10
	passes = 2
	lanes  = 1

	saltLength = 16
	hashLength = 32
	// maxMemory and maxPasses bound the cost of any stored hash.
	maxMemory = 1 << 20
	maxPasses = 16
)

// HashPassword is the hash of a password, in the PHC string format. It includes the salt and the
// cost, so that later hashes can cost more.
func HashPassword(password string) string {
	salt := make([]byte, saltLength)
	_, _ = rand.Read(salt) // never fails
	return format(salt, cost{memory, passes, lanes}.hash(password, salt, hashLength))
}

func format(salt, hash []byte) string {
	return fmt.Sprintf("$argon2id$v=%d$m=%d,t=%d,p=%d$%s$%s", argon2.Version, memory, passes, lanes,
		base64.RawStdEncoding.EncodeToString(salt), base64.RawStdEncoding.EncodeToString(hash))
}

// dummyHash is a hash that no password matches. Checking it for an unknown user takes as long as
// refusing a wrong password.
func dummyHash() string {
	random := make([]byte, saltLength+hashLength)
	_, _ = rand.Read(random) // never fails
	return format(random[:saltLength], random[saltLength:])
}

func (c cost) hash(password string, salt []byte, length uint32) []byte {
	return argon2.IDKey([]byte(password), salt, c.passes, c.memory, c.lanes, length)
}

func matches(kept, password string) bool {
	c, salt, want, ok := parseHash(kept)
	return ok && subtle.ConstantTimeCompare(want, c.hash(password, salt, uint32(len(want)))) == 1 //nolint:gosec // parseHash bounds it
}

func parseHash(kept string) (c cost, salt, hash []byte, ok bool) {
	parts := strings.Split(kept, "$")
	if len(parts) != 6 || parts[0] != "" || parts[1] != "argon2id" || parts[2] != fmt.Sprintf("v=%d", argon2.Version) {
		return cost{}, nil, nil, false
	}
	n, err := fmt.Sscanf(parts[3], "m=%d,t=%d,p=%d", &c.memory, &c.passes, &c.lanes)
	salt, err1 := base64.RawStdEncoding.DecodeString(parts[4])
	hash, err2 := base64.RawStdEncoding.DecodeString(parts[5])
	ok = err == nil && err1 == nil && err2 == nil && n == 3 && c.lanes > 0 && c.passes > 0 &&
		c.passes <= maxPasses && c.memory <= maxMemory && len(hash) >= 16 && len(hash) <= 64
	return c, salt, hash, ok
}
