package apiclient

import (
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

const loginPage = "<!DOCTYPE html><html><body>Log in</body></html>"

// elsewhere redirects to another origin.
func elsewhere(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Location", "http://portal.example/")
	reply(w, http.StatusFound, "text/html", loginPage)
}

// What answers in place of the service closes no circuit breaker and opens it: later calls wait for a
// probe at most, until the service itself answers.
func TestWhileSomethingInBetweenAnswers(t *testing.T) {
	for name, tc := range map[string]struct {
		answer http.HandlerFunc
		after  time.Duration // how long the first call is repeated
	}{
		"a login page":            {answer(http.StatusOK, "text/html; charset=utf-8", loginPage), 0},
		"a page called JSON":      {answer(http.StatusOK, mediaJSON, "\n "+loginPage), 0},
		"a redirect":              {elsewhere, 0},
		"a portal":                {answer(http.StatusNetworkAuthenticationRequired, "text/html", loginPage), DefaultRetryFor},
		"a gateway":               {answer(http.StatusBadGateway, "text/html", loginPage), DefaultRetryFor},
		"a gateway that waited":   {answer(http.StatusGatewayTimeout, "", ""), DefaultRetryFor},
		"a proxy of many":         {answer(523, "", ""), DefaultRetryFor},
		"a proxy that wants more": {answer(http.StatusProxyAuthRequired, "", ""), 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var away atomic.Bool
				var asked atomic.Int32
				c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
					if asked.Add(1); away.Load() {
						tc.answer(w, r)
						return
					}
					reply(w, http.StatusOK, mediaJSON, "[]")
				})
				wantBack(t, c)
				away.Store(true)
				took, err := timedList(t, c)
				wantKind(t, err, OpDocumentList, archive.KindForeign)
				if !archive.Away(err) || !archive.Doubtful(err) || took > tc.after || took < tc.after/2 {
					t.Errorf("the first call fails after %s: %v", took, err)
				}
				before := asked.Load()
				for range 100 {
					wantAway(t, c, 0)
				}
				if n := asked.Load() - before; n != 1 {
					t.Errorf("%d requests for 100 calls, want a probe's", n)
				}
				if _, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x")); archive.Doubtful(err) {
					t.Errorf("an upload fails with %v", err)
				}
				away.Store(false)
				time.Sleep(probeEvery)
				wantBack(t, c)
			})
		})
	}
}

// A change that something in between answered may have been carried out. It is sent once, and other
// calls go on.
func TestAChangeThatSomethingInBetweenAnswers(t *testing.T) {
	for name, handler := range map[string]http.HandlerFunc{
		"a login page": answer(http.StatusOK, "text/html", loginPage), "a redirect": elsewhere, "a portal": answer(511, "", ""),
		"a gateway": answer(502, "", ""), "an answer to everything": answer(http.StatusOK, mediaJSON, "{}"), "nothing": answer(http.StatusNoContent, "", ""),
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				posts := 0
				c := newBubbleService(t, func(w http.ResponseWriter, r *http.Request) {
					if r.Method == http.MethodPost {
						posts++
					}
					handler(w, r)
				})
				_, err := c.Upload(t.Context(), archive.Upload{Folder: 1, Name: "a"}, newBlob("x"))
				wantKind(t, err, OpFileUpload, archive.KindForeign)
				if !archive.Doubtful(err) || posts != 1 {
					t.Errorf("sent %d times: %v", posts, err)
				}
				if _, err := timedList(t, c); archive.KindOf(err) != archive.KindForeign {
					t.Errorf("a list after it: %v", err)
				}
			})
		})
	}
}

// A 404 is believed where the top of the archive is there.
func TestA404ToEverythingIsNoAnswer(t *testing.T) {
	for name, tc := range map[string]struct {
		top  http.HandlerFunc
		want archive.Kind
	}{
		"the service":           {answer(http.StatusOK, mediaJSON, `{"folders":[]}`), archive.KindNotFound},
		"a refusal":             {answer(http.StatusForbidden, "", ""), archive.KindNotFound},
		"nothing":               {answer(http.StatusNotFound, "", ""), archive.KindForeign},
		"another interface":     {answer(http.StatusMethodNotAllowed, "", ""), archive.KindForeign},
		"a login page":          {answer(http.StatusOK, "text/html", loginPage), archive.KindForeign},
		"a list of nothing":     {answer(http.StatusOK, mediaJSON, `{}`), archive.KindForeign},
		"a gateway":             {answer(http.StatusBadGateway, "", ""), archive.KindForeign},
		"a connection that end": {cut, archive.KindForeign},
	} {
		t.Run(name, func(t *testing.T) {
			c := newService(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/archivestructure") {
					tc.top(w, r)
					return
				}
				reply(w, http.StatusNotFound, "", "")
			})
			_, err := c.Documents(t.Context(), 7, archive.ListOptions{})
			wantKind(t, err, OpDocumentList, tc.want)
			_, err = c.Data(t.Context(), 7)
			wantKind(t, err, OpDocumentData, tc.want)
			wantKind(t, readAll(archive.Original)(t.Context(), c), OpOriginal, tc.want)
		})
	}
}

// A document can be a web page, or JSON. The service that sends one answers for the top of its archive;
// our own says so by the ETag.
func TestADocumentThatIsAPage(t *testing.T) {
	const ours = `"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"`
	for name, tc := range map[string]struct {
		media, body, etag string
		away              bool
		as                archive.Representation
		requests          int // without those for the top
		kind              archive.Kind
	}{
		"a page":                     {media: "text/html", body: loginPage, as: archive.Original, requests: 2},
		"JSON":                       {media: mediaJSON, body: "{}", as: archive.Original, requests: 2},
		"a page of our service":      {media: "text/html", body: loginPage, etag: ours, as: archive.Original, requests: 1},
		"a page in between":          {media: "text/html", body: loginPage, etag: `"5f3"`, away: true, as: archive.Original, requests: 1, kind: archive.KindForeign},
		"JSON in between":            {media: mediaJSON, body: "{}", away: true, as: archive.Original, requests: 1, kind: archive.KindForeign},
		"a page for a PDF":           {media: "text/html", body: loginPage, as: archive.PDF, requests: 2, kind: archive.KindProtocol},
		"a page in between for it":   {media: "text/html", body: loginPage, away: true, as: archive.PDF, requests: 1, kind: archive.KindForeign},
		"a picture, a page in place": {media: "text/html", body: loginPage, away: true, as: archive.Preview, requests: 1, kind: archive.KindForeign},
	} {
		t.Run(name, func(t *testing.T) {
			requests := 0
			handler := func(w http.ResponseWriter, _ *http.Request) {
				requests++
				if tc.etag != "" {
					w.Header().Set("ETag", tc.etag)
				}
				reply(w, http.StatusOK, tc.media, tc.body)
			}
			c := newService(t, func(w http.ResponseWriter, r *http.Request) {
				if strings.HasSuffix(r.URL.Path, "/archivestructure") {
					reply(w, http.StatusOK, mediaJSON, map[bool]string{true: loginPage, false: `{"folders":[]}`}[tc.away])
					return
				}
				handler(w, r)
			})
			content, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: tc.as})
			if tc.kind != archive.KindOther {
				wantKind(t, err, contentRequest(http.MethodGet, archive.ContentRequest{Document: 4, Representation: tc.as}).op, tc.kind)
			} else if err != nil {
				t.Fatal(err)
			} else if got, err := io.ReadAll(content.Body); string(got) != tc.body || err != nil || content.Body.Close() != nil {
				t.Errorf("read %q, %v", got, err)
			}
			if requests != tc.requests {
				t.Errorf("%d requests, want %d", requests, tc.requests)
			}
			requests = 0
			if _, err := c.ContentInfo(t.Context(), 4, archive.Original); tc.as == archive.Original && archive.KindOf(err) != tc.kind {
				t.Errorf("the length: %v", err)
			}
		})
	}
}

// An archive that lists nothing, where it listed something, is no answer. Below the top an absent array
// counts as empty.
func TestAbsenceIsNotEmptiness(t *testing.T) {
	for name, tc := range map[string]struct {
		below, top string
		known      bool
		want       archive.Kind // of the folders below; KindOther: there are none
		wantTop    archive.Kind
	}{
		"a leaf":                    {`{"folders":[]}`, `{"folders":[{"id":1}]}`, true, archive.KindOther, archive.KindOther},
		"a leaf without an array":   {`{"free-archive-structure":true}`, `{"folders":[{"id":1}]}`, true, archive.KindOther, archive.KindOther},
		"a leaf that is null":       {`{"folders":null}`, `{"folders":[{"id":1}]}`, true, archive.KindOther, archive.KindOther},
		"a leaf of a new archive":   {`{"folders":null}`, `{"folders":[]}`, false, archive.KindOther, archive.KindOther},
		"null everywhere":           {`{"folders":null}`, `{"folders":null}`, false, archive.KindOther, archive.KindForeign},
		"nothing all of a sudden":   {`{"folders":[]}`, `{"folders":[]}`, true, archive.KindOther, archive.KindForeign},
		"an object without members": {`{}`, `{"folders":[{"id":1}]}`, true, archive.KindForeign, archive.KindOther},
		"null":                      {`null`, `{"folders":[{"id":1}]}`, true, archive.KindForeign, archive.KindOther},
	} {
		t.Run(name, func(t *testing.T) {
			c := newService(t, func(w http.ResponseWriter, r *http.Request) {
				body := tc.top
				if r.URL.Query().Has("parent-folder-id") {
					body = tc.below
				}
				reply(w, http.StatusOK, mediaJSON, body)
			})
			c.Expect(func() bool { return tc.known })
			if _, err := c.Structure(t.Context(), 7, false); archive.KindOf(err) != tc.want {
				t.Errorf("below: %v", err)
			}
			if _, err := c.Structure(t.Context(), 0, true); archive.KindOf(err) != tc.wantTop {
				t.Errorf("the top: %v", err)
			}
		})
	}
}

// Where something else answers at an address without a port, the port of the API is named.
func TestThePortOfTheAPIIsNamed(t *testing.T) {
	for name, tc := range map[string]struct {
		handler http.HandlerFunc
		want    bool
	}{
		"a page":      {answer(http.StatusOK, "text/html", loginPage), true},
		"not found":   {answer(http.StatusNotFound, "text/html", loginPage), true},
		"a gateway":   {answer(http.StatusBadGateway, "", ""), false},
		"credentials": {answer(http.StatusUnauthorized, "", ""), false},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, err := newBubbleService(t, tc.handler).Structure(t.Context(), 0, true)
				if got := strings.Contains(err.Error(), "try http://localhost:8081"+basePath+apiPath); got != tc.want {
					t.Error(err)
				}
			})
			_, err := newService(t, tc.handler).Structure(t.Context(), 0, true)
			if strings.Contains(err.Error(), "8081") {
				t.Errorf("at an address with a port: %v", err)
			}
		})
	}
}
