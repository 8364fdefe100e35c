package apiclient

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// by is the key of the user on whose behalf a context is.
type by struct{}

func behalf(ctx context.Context) (uint32, bool) {
	uid, ok := ctx.Value(by{}).(uint32)
	return uid, ok
}

// crowd is a client with people, at a service that knows passwords.
type crowd struct {
	t      *testing.T
	client *Client
	right  map[string]string // the password of each user
	sent   []string          // who sent a request
}

func newCrowd(t *testing.T) *crowd {
	c := &crowd{t: t, right: map[string]string{"own": "p-own", "erika": "p-erika", "max": "p-max"}}
	c.client = newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		c.sent = append(c.sent, user)
		if c.right[user] != password {
			reply(w, http.StatusUnauthorized, mediaJSON, `{"detail": "the password `+password+` is wrong"}`)
			return
		}
		reply(w, http.StatusOK, mediaJSON, `{"inboxes":[]}`)
	}, func(cfg *Config) {
		cfg.RetryFor, cfg.Person = -1, behalf
		cfg.Credentials.User, cfg.Credentials.Password = "own", "p-own"
	})
	return c
}

func credentialsOf(user, password string) Credentials {
	return Credentials{APIKey: testKey, User: user, Password: password}
}

// set sets people: 1 is erika, 2 is max with that password, 3 has the client's own credentials.
func (c *crowd) set(password string, others *Person) {
	c.t.Helper()
	err := c.client.SetPeople(&People{Of: map[uint32]Person{
		1: {Name: "anna", Credentials: credentialsOf("erika", "p-erika")},
		2: {Name: "b\u202eob", Credentials: credentialsOf("max", password)},
		3: {Name: "root", Own: true},
		4: {Name: "bob's twin", Credentials: credentialsOf("max", password)},
	}, Others: others})
	if err != nil {
		c.t.Fatal(err)
	}
}

// ask sends a request on behalf of a user, -1 for nobody.
func (c *crowd) ask(uid int) error {
	ctx := c.t.Context()
	if uid >= 0 {
		ctx = context.WithValue(ctx, by{}, uint32(uid))
	}
	_, err := c.client.Inboxes(ctx)
	return err
}

func TestPeopleHaveTheirCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		for _, uid := range []int{1, -1} { // without People all requests are the client's own
			if err := c.ask(uid); err != nil {
				t.Error(err)
			}
		}
		c.set("p-max", nil)
		for _, uid := range []int{1, 2, 3, 4, -1} {
			if err := c.ask(uid); err != nil {
				t.Error(err)
			}
		}
		if want := []string{"own", "own", "erika", "max", "own", "max", "own"}; !slices.Equal(c.sent, want) {
			t.Errorf("requests of %q; want %q", c.sent, want)
		}
		err := c.ask(5)
		if archive.KindOf(err) != archive.KindUnauthorized || archive.Whose(err) != "5" || archive.Doubtful(err) || len(c.sent) != 7 {
			t.Errorf("of a stranger: %v; requests of %q", err, c.sent)
		}
		if _, err := c.client.Whose(5); err == nil {
			t.Error("a stranger has credentials")
		}
		c.set("p-max", &Person{Name: "*", Credentials: credentialsOf("erika", "p-erika")})
		if err := c.ask(5); err != nil || c.sent[7] != "erika" {
			t.Errorf("of somebody else: %v; requests of %q", err, c.sent)
		}
		c.set("p-max", &Person{Name: "*", Own: true})
		if err := c.ask(5); err != nil || c.sent[8] != "own" {
			t.Errorf("of somebody else: %v; requests of %q", err, c.sent)
		}
		if err := c.client.SetPeople(nil); err != nil {
			t.Error(err)
		}
		if err := c.ask(1); err != nil || c.sent[9] != "own" {
			t.Errorf("without people: %v; requests of %q", err, c.sent)
		}
	})
}

func TestARefusedPersonStopsNobodyElse(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		c.set("p-wrong", nil)
		for range refusalsAllowed {
			err := c.ask(2)
			wantKind(t, err, OpInboxes, archive.KindUnauthorized)
			if text := err.Error(); archive.Whose(err) != `b\u202eob` || !strings.Contains(text, `for the user b\u202eob of this machine`) || strings.Contains(text, "p-wrong") {
				t.Error(text)
			}
		}
		sent := len(c.sent)
		for _, uid := range []int{2, 4} { // who have the same credentials
			if err := c.ask(uid); archive.Whose(err) == "" || !strings.Contains(err.Error(), "requests pause") {
				t.Errorf("of %d: %v", uid, err)
			}
		}
		if len(c.sent) != sent {
			t.Errorf("refused credentials are sent: %q", c.sent)
		}
		for _, uid := range []int{1, 3, -1} {
			if err := c.ask(uid); err != nil {
				t.Errorf("of %d: %v", uid, err)
			}
		}
		if people, refused := c.client.Mapped(); people != 3 || !slices.Equal(refused, []string{`b\u202eob`, "bob's twin"}) {
			t.Errorf("%d people, refused %q", people, refused)
		}
		c.set("p-max", nil)
		if err := c.ask(2); err != nil {
			t.Error(err)
		}
		if _, refused := c.client.Mapped(); len(refused) != 0 {
			t.Errorf("refused %q", refused)
		}
		c.right["own"] = "another"
		err := c.ask(3)
		if archive.KindOf(err) != archive.KindUnauthorized || archive.Whose(err) != "" {
			t.Errorf("of the client's own: %v", err)
		}
		time.Sleep(time.Hour)
	})
}

func TestWhose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCrowd(t)
		names := func() (all []string) {
			for uid := range uint32(5) {
				name, _ := c.client.Whose(uid)
				all = append(all, name)
			}
			return all
		}
		if got := names(); !slices.Equal(got, make([]string, 5)) {
			t.Errorf("without people: %q", got)
		}
		c.set("p-max", nil)
		first := names()
		if first[1] == "" || first[1] == first[2] || first[2] == "" || first[2] != first[4] || first[3] != "" {
			t.Errorf("%q", first)
		}
		c.set("p-max", nil)
		for i, name := range names() {
			if name != "" && slices.Contains(first, name) {
				t.Errorf("%d has the name %q again", i, name)
			}
		}
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, c.client); strings.Contains(text, "p-max") {
				t.Errorf("%s shows a secret: %s", verb, text)
			}
		}
		err := c.client.SetPeople(&People{Of: map[uint32]Person{7: {Name: "eva", Credentials: Credentials{User: "eva", Password: "p-eva"}}}})
		if err == nil || !strings.Contains(err.Error(), "the user eva: ") || strings.Contains(err.Error(), "p-eva") {
			t.Error(err)
		}
		if after := names(); after[1] == "" {
			t.Error("a refused map has taken the place of the one before")
		}
	})
}
