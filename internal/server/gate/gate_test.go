package gate

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// records is a database with a key of each tenant, and a user.
type records struct {
	mu       sync.Mutex
	keys     map[string]store.Key     // guarded by mu; by hash
	accounts map[string]store.Account // guarded by mu; by name
	asked    int                      // guarded by mu
	used     []time.Time              // guarded by mu
}

var errMissing = &archive.Error{Op: "test", Kind: archive.KindNotFound}

func (r *records) FindKey(_ context.Context, hash string) (store.Key, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if k, ok := r.keys[hash]; ok {
		return k, nil
	}
	return store.Key{}, errMissing
}

func (r *records) FindAccount(_ context.Context, tenant store.TenantID, name string) (store.Account, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.asked++
	if a, ok := r.accounts[fmt.Sprint(tenant, name)]; ok {
		return a, nil
	}
	return store.Account{}, errMissing
}

func (r *records) UseKey(_ context.Context, _ int64, at, _ time.Time) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.used = append(r.used, at)
	return nil
}

// set changes the database.
func (r *records) set(change func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	change()
}

// clock is a clock that the test moves.
type clock struct{ now time.Time }

func (c *clock) pass(d time.Duration) { c.now = c.now.Add(d) }

func newGate(t *testing.T) (*Gate, *records, *clock) {
	t.Helper()
	c := &clock{time.Unix(1_000_000, 0)}
	r := &records{keys: map[string]store.Key{}, accounts: map[string]store.Account{}}
	for id, name := range map[int64]string{1: "own", 2: "theirs"} {
		r.keys[HashKey(name)] = store.Key{ID: id, Tenant: store.Tenant{ID: store.TenantID(id), CloudID: []string{"", "", "cloud"}[id]}}
	}
	r.keys[HashKey("ended")] = store.Key{ID: 3, Tenant: store.Tenant{ID: 1}, Expires: c.now}
	r.keys[HashKey("revoked")] = store.Key{ID: 4, Tenant: store.Tenant{ID: 1}, Revoked: c.now.Add(-time.Hour)}
	r.accounts["1eve"] = store.Account{ID: 5, Name: "eve", Password: HashPassword("secret")}
	g := New(r, "default-cloud", func(err error) { t.Error(err) })
	g.now = func() time.Time { return c.now }
	t.Cleanup(g.Close)
	return g, r, c
}

// because returns the reason of a Refusal and what is known of the client. The public error must not
// depend on them.
func because(err error) string {
	refusal := new(Refusal)
	if !errors.As(err, &refusal) || err.Error() != Refuse(UnknownKey, store.Key{}, store.Account{}).Error() {
		return err.Error()
	}
	text := string(refusal.Reason)
	if refusal.Key.ID != 0 {
		text += fmt.Sprintf(", key %d", refusal.Key.ID)
	}
	if refusal.User.Name != "" {
		text += " with " + refusal.User.Name
	}
	return text
}

func TestAdmit(t *testing.T) {
	g, _, _ := newGate(t)
	basic := func(key, user, password string) Shown {
		return Shown{Key: key, Basic: true, User: user, Password: password}
	}
	for name, test := range map[string]struct {
		shown Shown
		want  string
	}{
		"key":                       {Shown{Key: "own"}, "1 of 1 0"},
		"no key":                    {Shown{}, "no-credentials"},
		"unknown key":               {Shown{Key: "x"}, "unknown-key"},
		"expired":                   {Shown{Key: "ended"}, "expired, key 3"},
		"revoked":                   {Shown{Key: "revoked"}, "revoked, key 4"},
		"Cloud-ID":                  {Shown{Key: "theirs", CloudID: "cloud"}, "2 of 2 0"},
		"another tenant's Cloud-ID": {Shown{Key: "own", CloudID: "cloud"}, "wrong-cloud-id, key 1"},
		"wrong Cloud-ID":            {Shown{Key: "theirs", CloudID: "x"}, "wrong-cloud-id, key 2"},
		"the default Cloud-ID":      {Shown{Key: "own", CloudID: "default-cloud"}, "1 of 1 0"},
		"the default one of others": {Shown{Key: "theirs", CloudID: "default-cloud"}, "wrong-cloud-id, key 2"},
		"user":                      {basic("own", "eve", "secret"), "1 of 1 5"},
		"wrong password":            {basic("own", "eve", "Secret"), "wrong-password, key 1 with eve"},
		"no password":               {basic("own", "eve", ""), "wrong-password, key 1 with eve"},
		"unknown user":              {basic("own", "adam", "secret"), "unknown-user, key 1"},
		"another tenant's user":     {basic("theirs", "eve", "secret"), "unknown-user, key 2"},
		"user without a key":        {basic("", "eve", "secret"), "no-credentials"},
		"user with a wrong key":     {basic("x", "eve", "secret"), "unknown-key"},
		"mixed":                     {Shown{Key: "theirs", CloudID: "cloud", Basic: true, User: "eve", Password: "secret"}, "mixed"},
	} {
		t.Run(name, func(t *testing.T) {
			granted, err := g.Admit(t.Context(), test.shown)
			got := fmt.Sprintf("%d of %d %d", granted.Key.ID, granted.Key.Tenant.ID, granted.User.ID)
			if err != nil {
				if archive.KindOf(err) != archive.KindUnauthorized || granted.Key.ID != 0 || granted.User.ID != 0 {
					t.Errorf("%+v, %v", granted, err)
				}
				got = because(err)
			}
			if got != test.want {
				t.Errorf("got %s, want %s", got, test.want)
			}
		})
	}
}

// Answers of the database are cached for a moment, and no longer.
func TestChangesAreNoticed(t *testing.T) {
	g, r, c := newGate(t)
	shown := Shown{Key: "own", Basic: true, User: "eve", Password: "secret"}
	admits := func(want bool) {
		t.Helper()
		if _, err := g.Admit(t.Context(), shown); (err == nil) != want {
			t.Errorf("at %v: %v", c.now, err)
		}
	}
	admits(true)
	asked := r.asked
	admits(true)
	if r.asked != asked {
		t.Errorf("asked %d times more", r.asked-asked)
	}
	was := r.keys[HashKey("own")]
	for name, change := range map[string][2]func(){
		"revoked": {
			func() { k := was; k.Revoked = c.now; r.keys[HashKey("own")] = k },
			func() { r.keys[HashKey("own")] = was },
		},
		"another password": {
			func() { r.accounts["1eve"] = store.Account{ID: 5, Name: "eve", Password: HashPassword("other")} },
			func() { r.accounts["1eve"] = store.Account{ID: 5, Name: "eve", Password: HashPassword("secret")} },
		},
		"removed": {
			func() { delete(r.accounts, "1eve") },
			func() { r.accounts["1eve"] = store.Account{ID: 5, Name: "eve", Password: HashPassword("secret")} },
		},
	} {
		t.Run(name, func(*testing.T) {
			r.set(change[0])
			admits(true)
			c.pass(freshFor)
			admits(false)
			r.set(change[1])
			c.pass(freshFor)
			admits(true)
		})
	}
}

// A client that fails repeatedly has to wait; others do not.
func TestFailuresOfOneKeepNobodyElseOut(t *testing.T) {
	g, r, c := newGate(t)
	r.accounts["1adam"] = store.Account{ID: 6, Name: "adam", Password: HashPassword("secret")}
	try := func(user, password, address string) archive.Kind {
		_, err := g.Admit(t.Context(), Shown{Key: "own", Basic: true, User: user, Password: password, Address: address})
		if err == nil {
			return 0
		}
		return archive.KindOf(err)
	}
	if got := try("eve", "secret", "a"); got != 0 { // cached
		t.Fatal(got)
	}
	for n := range mayFail {
		if got := try("eve", fmt.Sprint("guess ", n), "a"); got != archive.KindUnauthorized {
			t.Errorf("guess %d: %v", n, got)
		}
	}
	for name, test := range map[string]struct {
		user, password, address string
		want                    archive.Kind
	}{
		"who failed":                 {"eve", "another guess", "a", archive.KindBusy},
		"who is in already":          {"eve", "secret", "a", 0},
		"the user from elsewhere":    {"eve", "secret", "b", 0},
		"another one from there":     {"adam", "secret", "a", 0},
		"a wrong one from elsewhere": {"eve", "another guess", "c", archive.KindUnauthorized},
	} {
		if got := try(test.user, test.password, test.address); got != test.want {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	if _, err := g.Admit(t.Context(), Shown{Key: "own", Address: "a"}); err != nil {
		t.Errorf("the key alone: %v", err)
	}
	c.pass(failsFor)
	if got := try("eve", "another guess", "a"); got != archive.KindUnauthorized {
		t.Errorf("after a while: %v", got)
	}
}

// Concurrent guesses do not exceed the limit.
func TestGuessesAtATime(t *testing.T) {
	g, _, _ := newGate(t)
	var wg sync.WaitGroup
	var mu sync.Mutex
	reasons := map[Reason]int{}
	for n := range 20 {
		wg.Go(func() {
			_, err := g.Admit(t.Context(), Shown{Key: "own", Basic: true, User: "eve", Password: fmt.Sprint("guess ", n)})
			refusal := new(Refusal)
			if !errors.As(err, &refusal) || refusal.Key.ID != 1 {
				t.Errorf("%v", err)
			}
			mu.Lock()
			defer mu.Unlock()
			reasons[refusal.Reason]++
		})
	}
	wg.Wait()
	if reasons[WrongPassword] != mayFail || reasons[TooManyTries] != 20-mayFail {
		t.Errorf("%v", reasons)
	}
}

// A mount begins with several requests at a time: one check is enough for them.
func TestARightPasswordIsCheckedOnce(t *testing.T) {
	g, _, _ := newGate(t)
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if _, err := g.Admit(t.Context(), Shown{Key: "own", Basic: true, User: "eve", Password: "secret"}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

func TestTheUseOfAKeyIsNotedOnceAMinute(t *testing.T) {
	g, r, c := newGate(t)
	began := c.now
	for range 5 {
		for range 3 {
			if _, err := g.Admit(t.Context(), Shown{Key: "own"}); err != nil {
				t.Fatal(err)
			}
		}
		g.Close()
		c.pass(noteEvery / 2)
	}
	want := []time.Time{began, began.Add(noteEvery), began.Add(2 * noteEvery)}
	if fmt.Sprint(r.used) != fmt.Sprint(want) {
		t.Errorf("noted %v, want %v", r.used, want)
	}
}

func TestPasswords(t *testing.T) {
	kept := HashPassword("secret")
	if again := HashPassword("secret"); again == kept {
		t.Error("two hashes of a password are the same")
	}
	for password, want := range map[string]bool{"secret": true, "Secret": false, "": false, "secret\x00": false} {
		if matches(kept, password) != want {
			t.Errorf("%q: %v", password, !want)
		}
	}
	// RFC 9106 leaves the format to others; this hash is from the reference implementation.
	const foreign = "$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc"
	if !matches(foreign, "password") || matches(foreign, "differentpassword") {
		t.Error("a hash of the reference implementation is not understood")
	}
	for _, bad := range []string{
		"", "secret", "$argon2id$", "$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=8,t=0,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=99999999,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
		"$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$", "$argon2id$v=19$m=8,t=1,p=1$%$%",
	} {
		if matches(bad, "") || matches(bad, "password") {
			t.Errorf("%q matches", bad)
		}
	}
	if k := NewKey(); len(k) < 26 || k == NewKey() {
		t.Errorf("key %q", k)
	}
}

// The cost of a request with a cached key and a cached password.
func BenchmarkAdmit(b *testing.B) {
	r := &records{keys: map[string]store.Key{HashKey("own"): {ID: 1, Tenant: store.Tenant{ID: 1}}}, accounts: map[string]store.Account{"1eve": {ID: 5, Password: HashPassword("secret")}}}
	g := New(r, "", func(error) {})
	b.Cleanup(g.Close)
	for name, shown := range map[string]Shown{"key": {Key: "own"}, "user": {Key: "own", Basic: true, User: "eve", Password: "secret"}} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := g.Admit(b.Context(), shown); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
