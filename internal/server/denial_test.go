package server_test

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/internal/server"
)

// The log says why a request was refused and which key it had; the answer does not.
func TestTheLogSaysWhyARequestIsDenied(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	h := start(t, func(o *server.Options) {
		o.Log, o.Credentials = log, server.Credentials{APIKey: testKey, User: "adam", Password: "adams-secret", CloudID: "static"}
	})
	o := furnish(t, h)
	own := h.manage("")
	if _, err := own.AddUser(t.Context(), "eve", "eves-secret"); err != nil {
		t.Fatal(err)
	}
	keys := map[string]string{}
	for i, n := range []server.NewKey{
		{Name: "good"},
		{Name: "expired", Expires: time.Now()},
		{Name: "revoked"},
		{Name: "read", Scopes: []server.Scope{server.ScopeRead}},
		{Name: "other", Mandators: []string{"Other AG"}},
	} {
		keys[n.Name] = h.key(own, n)
		if n.Name == "revoked" {
			if err := own.RevokeKeys(t.Context(), int64(i+1)); err != nil {
				t.Fatal(err)
			}
		}
	}
	list := "/document/list?folder-id=" + text(o.year)
	bodies, denied := map[string]bool{}, map[string]int64{}
	for _, test := range []struct {
		name   string
		path   string
		header []string
		want   string // status, reason, key, user
	}{
		{"a key", "/inboxes", []string{"API-Key", keys["good"]}, "200 1 "},
		{"a key and a user", "/inboxes", []string{"API-Key", keys["good"], "Authorization", basic("eve", "eves-secret")}, "200 1 eve"},
		{"the key of the options", "/inboxes", []string{"API-Key", testKey, "Cloud-ID", "static"}, "200 0 "},
		{"no key", "/inboxes", []string{"API-Key", ""}, "401 no-credentials 0 "},
		{"an unknown key", "/inboxes", []string{"API-Key", "never-heard-of"}, "401 unknown-key 0 "},
		{"an expired key", "/inboxes", []string{"API-Key", keys["expired"]}, "401 expired 2 "},
		{"a revoked key", "/inboxes", []string{"API-Key", keys["revoked"]}, "401 revoked 3 "},
		{"a wrong Cloud-ID", "/inboxes", []string{"API-Key", keys["good"], "Cloud-ID", "never-heard-of"}, "401 wrong-cloud-id 1 "},
		{"a user and a Cloud-ID", "/inboxes", []string{"API-Key", keys["good"], "Cloud-ID", "static", "Authorization", basic("eve", "eves-secret")}, "401 mixed 0 "},
		{"an unknown user", "/inboxes", []string{"API-Key", keys["good"], "Authorization", basic("never-heard-of", "eves-secret")}, "401 unknown-user 1 "},
		{"a wrong password", "/inboxes", []string{"API-Key", keys["good"], "Authorization", basic("eve", "never-heard-of")}, "401 wrong-password 1 eve"},
		{"a bearer", "/inboxes", []string{"API-Key", keys["good"], "Authorization", "Bearer never-heard-of"}, "401 other-scheme 0 "},
		{"the options' key alone", "/inboxes", []string{"API-Key", testKey}, "401 incomplete 0 "},
		{"the options' key, an unknown user", "/inboxes", []string{"API-Key", testKey, "Authorization", basic("never-heard-of", "adams-secret")}, "401 unknown-user 0 "},
		{"the options' key, a wrong password", "/inboxes", []string{"API-Key", testKey, "Authorization", basic("adam", "never-heard-of")}, "401 wrong-password 0 adam"},
		{"the options' key, a wrong Cloud-ID", "/inboxes", []string{"API-Key", testKey, "Cloud-ID", "never-heard-of"}, "401 wrong-cloud-id 0 "},
		{"another scope", "/document/auto_export_status/set", []string{"API-Key", keys["read"]}, "403 scope 4 "},
		{"another mandator's folder", list, []string{"API-Key", keys["other"]}, "404 mandator 5 "},
		{"another mandator's document", "/document/" + text(o.a) + "/data", []string{"API-Key", keys["other"]}, "404 mandator 5 "},
		{"no such document", "/document/9999/data", []string{"API-Key", keys["other"]}, "404 not-found 5 "},
		{"a wrong folder", "/document/list?folder-id=x", []string{"API-Key", keys["good"]}, "400 invalid 1 "},
	} {
		t.Run(test.name, func(t *testing.T) {
			out.Reset()
			method := http.MethodGet
			if strings.HasSuffix(test.path, "/set") {
				method = http.MethodPost
			}
			a := h.send(method, test.path, "", nil, test.header...)
			h.mu.Lock()
			r := h.requests[len(h.requests)-1]
			h.mu.Unlock()
			got := strings.ReplaceAll(fmt.Sprintf("%d %s %d %s", r.Status, r.Reason, r.Key, r.User), "  ", " ")
			if strings.TrimSpace(got) != strings.TrimSpace(test.want) {
				t.Errorf("got %q, want %q", got, test.want)
			}
			line := out.String()
			if strings.Contains(line, "reason="+r.Reason+" ") != (r.Reason != "") || strings.Contains(line, fmt.Sprintf("key=%d ", r.Key)) != (r.Key != 0) {
				t.Errorf("logged %s", line)
			}
			for _, secret := range append([]string{testKey, "-secret", "never-heard-of"}, keys["good"], keys["expired"], keys["revoked"], keys["read"], keys["other"]) {
				if strings.Contains(line, secret) {
					t.Errorf("the log tells what was shown: %s", line)
				}
			}
			if a.status == http.StatusUnauthorized {
				bodies[strings.ReplaceAll(a.body, a.header.Get("X-Request-Id"), "")] = true
			}
			if r.Reason != "" && r.Reason != "not-found" && r.Reason != "invalid" {
				denied[r.Reason]++
			}
		})
	}
	if len(bodies) != 1 {
		t.Errorf("answers tell what is wrong with credentials: %v", slices.Collect(maps.Keys(bodies)))
	}
	if got := h.Stats(t.Context()).Denied; !maps.Equal(got, denied) {
		t.Errorf("counted %v, want %v", got, denied)
	}
}
