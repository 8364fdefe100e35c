package gate

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/internal/server/store"
)

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
