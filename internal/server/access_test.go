package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"

	"github.com/archivefs/archivefs/internal/server"
)

func TestCredentials(t *testing.T) {
	t.Parallel()
	const key, cloud = testKey, "cloud-1"
	basic := func(user, password string) string {
		r := http.Request{Header: http.Header{}}
		r.SetBasicAuth(user, password)
		return r.Header.Get("Authorization")
	}
	right, wrong := basic("eve", "secret"), basic("eve", "other")
	keyOnly := server.Credentials{APIKey: key}
	setA := server.Credentials{APIKey: key, User: "eve", Password: "secret"}
	setB := server.Credentials{APIKey: key, CloudID: cloud}
	both := server.Credentials{APIKey: key, User: "eve", Password: "secret", CloudID: cloud}
	services := map[server.Credentials]*service{}
	for _, test := range []struct {
		name     string
		accepted server.Credentials
		header   []string
		want     int
	}{
		{"key", keyOnly, []string{"API-Key", key}, 200},
		// Clients of the specification always send set A or set B, whatever this service requires.
		{"key, whatever user", keyOnly, []string{"API-Key", key, "Authorization", wrong}, 200},
		{"key, whatever Cloud-ID", keyOnly, []string{"API-Key", key, "Cloud-ID", "x"}, 200},
		{"key, mixed", keyOnly, []string{"API-Key", key, "Cloud-ID", cloud, "Authorization", right}, 401},
		{"wrong key, whatever user", keyOnly, []string{"API-Key", key + "x", "Authorization", right}, 401},
		{"none", keyOnly, []string{"API-Key", ""}, 401},
		{"wrong key", keyOnly, []string{"API-Key", key + "x"}, 401},
		{"no key configured", server.Credentials{}, []string{"API-Key", ""}, 401},
		{"key configured for nobody", server.Credentials{CloudID: cloud}, []string{"API-Key", "", "Cloud-ID", cloud}, 401},
		{"A", setA, []string{"API-Key", key, "Authorization", right}, 200},
		{"A, wrong password", setA, []string{"API-Key", key, "Authorization", wrong}, 401},
		{"A, wrong user", setA, []string{"API-Key", key, "Authorization", basic("adam", "secret")}, 401},
		{"A, wrong key", setA, []string{"API-Key", "x", "Authorization", right}, 401},
		{"A, key alone", setA, []string{"API-Key", key}, 401},
		{"A, Cloud-ID", setA, []string{"API-Key", key, "Cloud-ID", cloud}, 401},
		{"A, another scheme", setA, []string{"API-Key", key, "Authorization", "Bearer secret"}, 401},
		{"B", setB, []string{"API-Key", key, "Cloud-ID", cloud}, 200},
		{"B, wrong Cloud-ID", setB, []string{"API-Key", key, "Cloud-ID", "x"}, 401},
		{"B, key alone", setB, []string{"API-Key", key}, 401},
		{"B, Basic", setB, []string{"API-Key", key, "Authorization", right}, 401},
		{"both, A", both, []string{"API-Key", key, "Authorization", right}, 200},
		{"both, B", both, []string{"API-Key", key, "Cloud-ID", cloud}, 200},
		{"both, key alone", both, []string{"API-Key", key}, 401},
		{"both, mixed", both, []string{"API-Key", key, "Cloud-ID", cloud, "Authorization", right}, 401},
		{"both, mixed with a wrong one", both, []string{"API-Key", key, "Cloud-ID", cloud, "Authorization", wrong}, 401},
	} {
		h, started := services[test.accepted]
		if !started {
			h = start(t, func(o *server.Options) { o.Credentials = test.accepted })
			services[test.accepted] = h
		}
		t.Run(test.name, func(t *testing.T) {
			for _, path := range []string{"/archivestructure", "/inboxes"} {
				a := h.get(path, test.header...)
				if a.status != test.want {
					t.Errorf("%s: %d %s", path, a.status, a.body)
				}
				if challenge := a.header.Get("WWW-Authenticate"); (challenge != "") != (test.want == 401 && test.accepted.User != "") {
					t.Errorf("%s: challenge %q", path, challenge)
				}
			}
			if test.want == 401 {
				wantProblem(t, h.get("/no/such/operation", test.header...), 401, "")
			}
		})
	}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	doc := "/document/" + text(o.a)
	for _, path := range []string{
		"/nothing", "/page/1/ocr-result", "/", doc,
		"//inboxes", "/./inboxes", "/document/../inboxes", "/document//data", doc + "/data/",
	} {
		wantProblem(t, h.get(path), http.StatusNotFound, "")
	}
	wantProblem(t, h.post("/document//archive", "target-folder-id", text(o.year)), http.StatusNotFound, "")
	for _, test := range []struct{ method, path, allow string }{
		{"POST", "/archivestructure", "GET, HEAD"},
		{"GET", "/file-upload", "POST"},
		{"DELETE", doc + "/data", "GET, HEAD"},
		{"PUT", doc + "/metadata", "GET, HEAD, POST"},
		{"POST", doc + "/pdf", "GET, HEAD"},
	} {
		a := h.send(test.method, test.path, "", nil)
		wantProblem(t, a, http.StatusMethodNotAllowed, "")
		if got := a.header.Get("Allow"); got != test.allow {
			t.Errorf("%s %s: Allow %q, want %q", test.method, test.path, got, test.allow)
		}
		if a := h.send(http.MethodHead, test.path, "", nil); (a.status != http.StatusMethodNotAllowed) != strings.Contains(test.allow, "HEAD") {
			t.Errorf("HEAD %s: %d, where %q are allowed", test.path, a.status, test.allow)
		}
	}
}

func TestOnlyEight(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.OnlyEight = true })
	o := furnish(t, h)
	doc := "/document/" + text(o.scan)
	for _, path := range []string{"/pdf", "/pdf?original=true", "/ocr-result", "/metadata", "/uploaded-with"} {
		wantProblem(t, h.get(doc+path), http.StatusNotFound, "")
	}
	for _, path := range []string{"/keywords", "/rename", "/replace", "/delete", "/metadata"} {
		wantProblem(t, h.post(doc+path, "new-name", "x"), http.StatusNotFound, "")
	}
	wantProblem(t, h.post("/search"), http.StatusNotFound, "")
	for _, path := range []string{"/archivestructure", "/inboxes", "/document/list?folder-id=" + text(o.year), doc + "/data"} {
		if a := h.get(path); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	h.uploaded("f", "x", "target-folder-id", text(o.year))
	for path, fields := range map[string][]string{
		"/folder/create":                   {"parent-folder-id", text(o.year), "folder-name", "x"},
		doc + "/archive":                   {"target-folder-id", text(o.year)},
		"/document/auto_export_status/set": {"document-id", text(o.a), "autoexport-status", "true"},
	} {
		if a := h.post(path, fields...); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", path, a.status, a.body)
		}
	}
}

// What is served is described, and nothing else.
func TestOnlyEightAreDescribed(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.OnlyEight = true })
	a := h.get("/openapi.json", "API-Key", "")
	if a.status != http.StatusOK || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	document, err := openapi3.NewLoader().LoadFromData([]byte(a.body))
	if err != nil {
		t.Fatal(err)
	}
	if err := document.Validate(t.Context()); err != nil {
		t.Error(err)
	}
	var described []string
	for path, item := range document.Paths.Map() {
		for method := range item.Operations() {
			described = append(described, method+" "+path)
		}
	}
	slices.Sort(described)
	if want := []string{
		"GET /archivestructure", "GET /document/list", "GET /document/{id}/data", "GET /healthz", "GET /inboxes", "GET /openapi.json", "GET /readyz",
		"POST /document/auto_export_status/set", "POST /document/{id}/archive", "POST /file-upload", "POST /folder/create",
	}; !slices.Equal(described, want) {
		t.Errorf("described are %q\nwant %q", described, want)
	}
}

func TestRequestsAreLogged(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	h := start(t, func(o *server.Options) {
		o.Log = log
		o.Credentials = server.Credentials{APIKey: testKey, User: "eve", Password: "secret"}
	})
	o := furnish(t, h)
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth("eve", "secret")
	auth := []string{"Authorization", r.Header.Get("Authorization")}
	h.send(http.MethodPost, "/document/"+text(o.scan)+"/archive", "application/x-www-form-urlencoded",
		strings.NewReader("target-folder-id=3&target-document-name=y%0a.pdf"), auth...)
	body, contentType := multipartBody(t, "f.txt", "x", "target-folder-id", text(o.year), "keywords", "a,b")
	h.send(http.MethodPost, "/file-upload?q=1", contentType, body, auth...)
	h.get("/document/list?folder-id=" + text(o.year))

	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.requests) != 3 {
		t.Fatalf("%d requests", len(h.requests))
	}
	archived, uploaded, refused := h.requests[0], h.requests[1], h.requests[2]
	if archived.Method != "POST" || archived.Path != "/api/v2/document/4/archive" || archived.Status != 200 ||
		archived.Form.Encode() != "target-document-name=y%0A.pdf&target-folder-id=3" {
		t.Errorf("%+v", archived)
	}
	if uploaded.Form.Encode() != "keywords=a%2Cb&target-folder-id=3" || uploaded.Query.Get("q") != "1" || uploaded.Bytes != 1 {
		t.Errorf("%+v", uploaded)
	}
	if refused.Status != 401 {
		t.Errorf("%+v", refused)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.Contains(line, "/archive") })
	if at < 0 || !strings.Contains(lines[at], "level=info") || !strings.Contains(lines[at], "target-folder-id=3") {
		t.Errorf("log %q", lines)
	}
	for _, line := range lines {
		if strings.Contains(line, "/document/list") && strings.Contains(line, "form=") {
			t.Errorf("the line of a request without a form names one: %s", line)
		}
	}
	for _, secret := range []string{testKey, "secret", auth[1]} {
		if strings.Contains(out.String(), secret) {
			t.Errorf("the log tells a secret: %s", out.String())
		}
	}
}

// The answer, a problem and the log have the id that a client gave a request, if it is valid.
func TestRequestsHaveNames(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := logrus.New()
	log.SetOutput(&out)
	log.SetFormatter(&logrus.JSONFormatter{})
	h := start(t, func(o *server.Options) { o.Log = log })
	for given, taken := range map[string]bool{
		"a-1_B.c~": true, strings.Repeat("x", 128): true,
		"": false, strings.Repeat("x", 129): false, "a b": false, "a\"b": false, "a/b": false, "\u00e4": false,
	} {
		out.Reset()
		a := h.get("/nothing?folder-id=1", "X-Request-Id", given)
		id := a.header.Get("X-Request-Id")
		if (id == given) != taken || id == "" {
			t.Errorf("%q is called %q", given, id)
		}
		if !strings.Contains(a.body, `"instance":"urn:archivefs:request:`+id+`"`) {
			t.Errorf("%q: %s", given, a.body)
		}
		var line struct {
			ID, Method, Path, Remote string
			Status, Sent, Received   int
			Seconds                  float64
		}
		if err := json.Unmarshal(out.Bytes(), &line); err != nil {
			t.Fatalf("%v in %s", err, out.String())
		}
		if line.ID != id || line.Method != "GET" || line.Path != "/api/v2/nothing?folder-id=1" || line.Status != 404 || line.Sent != len(a.body) ||
			line.Received != 0 || line.Seconds <= 0 || !strings.HasPrefix(line.Remote, "127.0.0.1:") {
			t.Errorf("logged %s", out.String())
		}
	}
	out.Reset()
	wantProblem(t, h.get("/inboxes?API-Key="+testKey, "API-Key", ""), http.StatusUnauthorized, "")
	if strings.Contains(out.String(), testKey) {
		t.Errorf("a key in the wrong place is logged: %s", out.String())
	}
}

func TestAClientThatHasGoneIsNoFailure(t *testing.T) {
	t.Parallel()
	log, hook := test.NewNullLogger()
	h := start(t, func(o *server.Options) { o.Log = log })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	request := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v2/document/1/data", nil)
	request.Header.Set("API-Key", testKey)
	defer func() {
		if cause := recover(); cause != http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
			t.Errorf("got %v, want the connection to be cut", cause)
		}
		for _, entry := range hook.AllEntries() {
			if entry.Level <= logrus.WarnLevel {
				t.Errorf("logged: %s", entry.Message)
			}
		}
	}()
	h.Handler().ServeHTTP(httptest.NewRecorder(), request)
}
