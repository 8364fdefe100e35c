package apiclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

func TestCredentialsValidate(t *testing.T) {
	for _, tc := range []struct {
		name string
		c    Credentials
		want string // part of the error, empty: valid
	}{
		{"key alone", Credentials{APIKey: "k"}, ""},
		{"set A", Credentials{APIKey: "k", User: "u", Password: "p:q"}, ""},
		{"set B", Credentials{APIKey: "k", CloudID: "c"}, ""},
		{"nothing", Credentials{}, "API key is required"},
		{"no key", Credentials{User: "u", Password: "p"}, "API key is required"},
		{"both sets", Credentials{APIKey: "k", CloudID: "c", User: "u", Password: "p"}, "exclude each other"},
		{"Cloud-ID and password", Credentials{APIKey: "k", CloudID: "c", Password: "p"}, "exclude each other"},
		{"no password", Credentials{APIKey: "k", User: "u"}, "needs a password"},
		{"no user", Credentials{APIKey: "k", Password: "p"}, "needs a user"},
		{"colon in user", Credentials{APIKey: "k", User: "u:v", Password: "p"}, "colon"},
		{"line break in key", Credentials{APIKey: "k\r\nHost: x"}, "API key holds"},
		{"NUL in Cloud-ID", Credentials{APIKey: "k", CloudID: "c\x00"}, "Cloud-ID holds"},
		{"DEL in password", Credentials{APIKey: "k", User: "u", Password: "p\x7f"}, "password holds"},
	} {
		err := tc.c.Validate()
		if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

func TestIdentity(t *testing.T) {
	for _, tc := range []struct {
		c    Credentials
		want string
	}{
		{Credentials{APIKey: "k", User: "anna", Password: "p"}, "basic:anna"},
		{Credentials{APIKey: "k", CloudID: "c-1"}, "cloud:c-1"},
		// printf 'archivefs-key-fingerprint\0secret' | sha256sum
		{Credentials{APIKey: "secret"}, "key:4810b1955a16cb7c"},
	} {
		if got := tc.c.Identity(); got != tc.want {
			t.Errorf("Identity is %q, want %q", got, tc.want)
		}
	}
}

func TestCredentialHeadersAreSpelledAsSpecified(t *testing.T) {
	for want, c := range map[string]Credentials{
		"API-Key: k\r\nAuthorization: Basic dTpw\r\n": {APIKey: "k", User: "u", Password: "p"},
		"API-Key: k\r\nCloud-ID: c\r\n":               {APIKey: "k", CloudID: "c"},
		"API-Key: k\r\n":                              {APIKey: "k"},
	} {
		sent := http.Header{}
		c.authorizer()(sent)
		var onTheWire strings.Builder
		if err := sent.Write(&onTheWire); err != nil || onTheWire.String() != want {
			t.Errorf("%v: sent %q (%v), want %q", c, onTheWire.String(), err, want)
		}
	}
}

func TestPrintingShowsNoSecret(t *testing.T) {
	c := Credentials{APIKey: "API-SECRET", User: "anna", Password: "PASS-SECRET"}
	cfg := Config{BaseURL: "https://localhost", Credentials: c}
	client := newClient(t, cfg)
	for _, value := range []any{c, &c, cfg, &cfg, []Credentials{c}, client, struct{ C Credentials }{c}} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d"} {
			text := fmt.Sprintf(verb, value)
			for _, secret := range []string{"SECRET", "5345435245", c.basic()} {
				if strings.Contains(text, secret) {
					t.Errorf("%s of %T shows %s", verb, value, secret)
				}
			}
		}
	}
	if c.String() != "basic:anna" || c.GoString() != "basic:anna" {
		t.Errorf("String is %q, GoString %q", c.String(), c.GoString())
	}
	text, err := json.Marshal(map[string]any{"credentials": c})
	if want := `{"credentials":"basic:anna"}`; err != nil || string(text) != want {
		t.Errorf("JSON is %s (%v), want %s", text, err, want)
	}
}

// A password that was changed is sent at once, also after the old one was refused too often.
func TestSetCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		old := Credentials{APIKey: "k-geheim", User: "erika", Password: "p-alt"}
		want := old
		want.Password = "p-neu"
		c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
			if _, password, _ := r.BasicAuth(); password != want.Password {
				reply(w, http.StatusUnauthorized, mediaJSON, `{"message":"not with p-alt"}`)
				return
			}
			reply(w, http.StatusBadRequest, mediaJSON, `{"message":"p-neu is right"}`)
		}, func(cfg *Config) { cfg.RetryFor, cfg.Credentials = -1, old })
		ask := func() string {
			_, err := c.Inboxes(t.Context())
			return err.Error()
		}
		for range refusalsAllowed {
			ask()
		}
		if err := ask(); !strings.Contains(err, "requests pause") {
			t.Fatalf("the old password: %s", err)
		}
		for _, wrong := range []Credentials{
			{CloudID: "c", APIKey: "k-geheim", User: "erika", Password: "p-neu"}, {APIKey: "k-geheim", User: "erika"}, {},
		} {
			if err := c.SetCredentials(wrong); err == nil || strings.Contains(err.Error(), "p-neu") {
				t.Errorf("credentials of %s: got error %v", wrong, err)
			}
		}
		if err := c.SetCredentials(want); err != nil {
			t.Fatal(err)
		}
		if err := ask(); !strings.Contains(err, "*** is right") {
			t.Errorf("the new password: %s", err)
		}
	})
}
