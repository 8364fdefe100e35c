package apiclient

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
)

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
			{APIKey: "k-geheim", User: "otto", Password: "p-neu"}, {APIKey: "k-geheim", User: "erika"}, {},
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
