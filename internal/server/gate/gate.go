// Package gate authenticates requests by the credentials in the database: API keys, and users with
// passwords.
//
// It guarantees that a revoked key or a removed or changed user is accepted for freshFor at most,
// whatever process made the change; that neither the answer nor its time reveals to the holder of a
// key which users exist; that only a few passwords are checked at a time; and that somebody who
// fails repeatedly does not lock others out.
//
// A key is a random text of 130 bits, so its SHA-256 is stored: a slower hash would only protect
// texts that can be guessed, and this one is computed for every request. Passwords are chosen by
// people, so their argon2id hashes are stored (RFC 9106).
package gate

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// freshFor is how long an answer of the database about a key or a user is used. For that long a
	// revoked key is still accepted, on any instance.
	freshFor = 2 * time.Second
	// noteEvery is how often at most the use of a key is recorded.
	noteEvery = time.Minute
	// noteWithin is how long that may take.
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
	failed  func(error) // is told what went wrong beside a request
	now     func() time.Time
	writing sync.WaitGroup

	keys     *lru.Cache[string, known[store.Key]]   // by hash
	accounts *lru.Cache[user, known[store.Account]] // those that are not there, too
	verified *lru.Cache[sum, known[string]]         // what is kept of a password, by what was shown
	failures *lru.Cache[sum, failing]               // by who failed
	nobodys  string                                 // is kept of the password of nobody
	secret   []byte                                 // keys the hashes of what was shown
	checks   singleflight.Group                     // one for all who show the same at a time
	turns    chan struct{}                          // a place for each check at work
	waiting  chan struct{}                          // and for each that waits for one

	mu sync.Mutex
	// noted is when it was noted last that a key was used.
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
// not empty. What fails beside a request is told to failed.
func New(db Database, cloudID string, failed func(error)) *Gate {
	g := &Gate{
		db: db, cloudID: cloudID, failed: failed, nobodys: nobodys(), now: time.Now, noted: map[int64]time.Time{}, secret: make([]byte, sha256.Size),
		turns: make(chan struct{}, checksAtATime), waiting: make(chan struct{}, checksWaiting),
	}
	_, _ = rand.Read(g.secret) // never fails
	// The size is a constant that is right.
	g.keys, _ = lru.New[string, known[store.Key]](remembered)
	g.accounts, _ = lru.New[user, known[store.Account]](remembered)
	g.verified, _ = lru.New[sum, known[string]](remembered)
	g.failures, _ = lru.New[sum, failing](remembered)
	return g
}

// Close waits for what is written beside requests. There must be none any more.
func (g *Gate) Close() { g.writing.Wait() }

// Shown is what a request shows.
type Shown struct {
	Key     string
	CloudID string // empty without one
	// Basic says that there are User and Password, too.
	Basic          bool
	User, Password string
	// Address is where the request comes from.
	Address string
}

// Granted is who may do what.
type Granted struct {
	Key  store.Key
	User store.Account // without an ID where no user was shown
}

// Admit finds out whose credentials are shown. A Refusal of KindUnauthorized says that they are
// not, or no longer, good for anything; one of KindBusy, that the password was not looked at, and
// may be sent again later: see RetryAfter.
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

// incomplete says what is wrong with what is shown whatever the database says, if anything.
func (s *Shown) incomplete() Reason {
	switch {
	case s.Key == "":
		return NoCredentials
	case s.CloudID != "" && s.Basic:
		return Mixed
	}
	return ""
}

// ended says why a key is not good any more, if it is not.
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

// Reason says in a word why somebody is not let in.
type Reason string

// The reasons of this package. That a password was not looked at is one, too: TooManyTries when
// too many were wrong, Busy when too many are being checked.
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

// Refusal is the error of credentials that are not good for what is asked. Who shows them is
// told what Told says and no more; all else is for the operator.
type Refusal struct {
	Reason Reason
	Key    store.Key     // the one that was shown, zero when there is none such
	User   store.Account // likewise
	Public error
}

// Error implements error.
func (r *Refusal) Error() string { return r.Public.Error() }

// Unwrap returns what is told.
func (r *Refusal) Unwrap() error { return r.Public }

// OfUser reports whether it is the user or the password that is wrong, and not the key.
func (r *Refusal) OfUser() bool { return r.Reason == UnknownUser || r.Reason == WrongPassword }

// Refuse refuses what is shown. Whatever is wrong with it, the same is told.
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

// HashKey is what is kept of an API key: see the package comment.
func HashKey(key string) string {
	sum := sha256.Sum256([]byte(key))
	return hex.EncodeToString(sum[:])
}

// known is what the database said.
type known[T any] struct {
	what T
	at   time.Time
}

// key returns the key that is shown. It is looked up by its hash: how long that takes tells
// of the hash at most, which leads nobody to a key.
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

// used notes in the database that a key was used, once in noteEvery. The request does not
// wait for it.
func (g *Gate) used(ctx context.Context, key store.Key) {
	now := g.now()
	if now.Sub(key.Used) < noteEvery || !g.note(key.ID, now) {
		return
	}
	g.writing.Go(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), noteWithin)
		defer cancel()
		if err := g.db.UseKey(ctx, key.ID, now, now.Add(-noteEvery)); err != nil {
			g.failed(fmt.Errorf("note when an API key was used: %w", err))
		}
	})
}

// note reports whether the use of a key is to be noted now.
func (g *Gate) note(id int64, now time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if now.Sub(g.noted[id]) < noteEvery {
		return false
	}
	g.noted[id] = now
	return true
}

// unknown reports whether err says that something is not there.
func unknown(err error) bool { return archive.KindOf(err) == archive.KindNotFound }

const (
	// rememberFor is how long a password that was right needs no check, unless it is changed
	// meanwhile.
	rememberFor = 5 * time.Minute
	// checksAtATime is how many passwords are checked at a time; each takes 19 MiB and a
	// processor. checksWaiting is how many may wait.
	checksAtATime = 2
	checksWaiting = 64
	// mayFail is how often a user can fail, from an address and with a key, before the password
	// is not looked at any more; failsFor how long after the first failure.
	mayFail  = 5
	failsFor = time.Minute
)

// RetryAfter is after how many seconds a password that was not looked at may be sent again.
const RetryAfter = "30"

// failing is how often somebody failed.
type failing struct {
	times int
	since time.Time
}

// user returns the user who is shown beside a key.
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

// account returns a user, as the database has it or had it a moment ago: without an ID, and
// with a password that nobody has, when it has none.
func (g *Gate) account(ctx context.Context, name user) (store.Account, error) {
	now := g.now()
	if a, ok := g.accounts.Get(name); ok && now.Sub(a.at) < freshFor {
		return a.what, nil
	}
	account, err := g.db.FindAccount(ctx, name.tenant, name.name)
	if unknown(err) {
		account, err = store.Account{Password: g.nobodys}, nil
	}
	if err == nil {
		g.accounts.Add(name, known[store.Account]{account, now})
	}
	return account, err
}

// check compares a password with what is kept of one, in turn, unless who shows it has failed
// too often. It returns what is wrong, if anything.
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

// mayTry reports whether somebody has not failed too often. Each try counts as a failure until
// it succeeds, so that many at a time are no way around it.
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

// sum is a hash of texts that nobody outside of this process can compute.
func (g *Gate) sum(id store.TenantID, texts ...string) (s sum) {
	mac := hmac.New(sha256.New, g.secret)
	_ = binary.Write(mac, binary.BigEndian, int64(id)) // a hash takes all that is written
	for _, text := range texts {
		_ = binary.Write(mac, binary.BigEndian, int64(len(text)))
		_, _ = mac.Write([]byte(text))
	}
	return sum(mac.Sum(nil))
}
