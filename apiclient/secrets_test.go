package apiclient

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/archivefs/archivefs/archive"
)

func TestSecretsReachNoLogAndNoError(t *testing.T) { synctest.Test(t, secretsReachNoLogAndNoError) }

func secretsReachNoLogAndNoError(t *testing.T) {
	secrets := []string{testKey, "geheim-1", "YW5uYTpnZWhlaW0tMQ=="}
	echo := func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/inboxes") {
			panic(http.ErrAbortHandler)
		}
		var said strings.Builder
		if err := r.Header.Write(&said); err != nil {
			t.Error(err)
		}
		reply(w, http.StatusBadRequest, "text/plain", said.String())
	}
	log, out := newLog()
	c := newBubbleService(t, echo, func(cfg *Config) {
		cfg.Log = log
		cfg.Credentials.User, cfg.Credentials.Password = "anna", secrets[1]
	})
	_, failed := c.Documents(t.Context(), 7, archive.ListOptions{})
	wantKind(t, failed, OpDocumentList, archive.KindInvalid)
	_, broken := c.Inboxes(t.Context())
	wantKind(t, broken, OpInboxes, archive.KindInterrupted)
	for _, text := range []string{failed.Error(), broken.Error(), out.String()} {
		for _, secret := range secrets {
			if strings.Contains(text, secret) {
				t.Errorf("%q is told in %q", secret, text)
			}
		}
	}
	for _, want := range []string{"level=debug", "operation=document/list", "status=400", "duration=", "trying again"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the log lacks %q:\n%s", want, out)
		}
	}
}

func TestErrorsQuoteNoQuery(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close() // nobody listens there now
	c := newClient(t, Config{BaseURL: server.URL, Credentials: Credentials{APIKey: testKey}, RetryFor: -1})
	err := c.Replace(t.Context(), 4, "a", []string{"vertraulich"}, newBlob("x"))
	wantKind(t, err, OpReplace, archive.KindUnreachable)
	if strings.Contains(err.Error(), "vertraulich") || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("error is %q", err)
	}
}

func TestUserAgent(t *testing.T) {
	var got []string
	handler := func(w http.ResponseWriter, r *http.Request) {
		got = append(got, r.UserAgent())
		_, _ = io.WriteString(w, `{"inboxes":[]}`) // the client reads it
	}
	for _, agent := range []string{"", "archivefs/1.2"} {
		c := newService(t, handler, func(cfg *Config) { cfg.UserAgent = agent })
		if _, err := c.Inboxes(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if strings.Join(got, " ") != "archivefs archivefs/1.2" {
		t.Errorf("sent %q", got)
	}
}
