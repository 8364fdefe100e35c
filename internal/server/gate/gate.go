package gate

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"fmt"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"golang.org/x/sync/singleflight"

	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// freshFor is how long what the database said of a key or a user is believed. So long
	// after it was revoked, on whatever instance, a key is still let in.
	freshFor = 2 * time.Second
	// noteEvery is how often it is noted that a key was used, at most.
	noteEvery = time.Minute
	// noteWithin is how long that may take.
	noteWithin = 10 * time.Second
	// remembered is how many keys, users and passwords are remembered, each.
	remembered = 4096
)

// Database is where keys and users are kept. What is not there is KindNotFound.
type Database interface {
	FindKey(ctx context.Context, hash string) (store.Key, error)
	FindAccount(ctx context.Context, tenant store.TenantID, name string) (store.Account, error)
	UseKey(ctx context.Context, id int64, at, before time.Time) error
}

// Gate lets in who shows credentials that the database has. Its methods may be called
// concurrently.
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
