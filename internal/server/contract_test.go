package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
)

// contract checks requests and answers against the OpenAPI document.
type contract struct {
	document *openapi3.T
	table    *http.ServeMux // with a *described for each operation
}

// theContract reads the document once. Answers are checked more strictly than clients should do it:
// they must have no undescribed member.
var theContract = sync.OnceValues(func() (*contract, error) {
	openapi3.DefineStringFormatValidator("date-time", openapi3.NewRegexpFormatValidator(`^[0-9-]{10}[T ][0-9:]{8}$`)) // without a zone
	openapi3filter.RegisterBodyDecoder("text/plain", plain)
	for _, media := range []string{"application/pdf", "image/jpeg"} {
		openapi3filter.RegisterBodyDecoder(media, openapi3filter.FileBodyDecoder)
	}
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		return nil, err
	}
	document, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		return nil, err
	}
	if err := document.Validate(context.Background()); err != nil {
		return nil, err
	}
	none := false
	for _, schema := range document.Components.Schemas {
		if len(schema.Value.Properties) > 0 {
			schema.Value.AdditionalProperties = openapi3.BoolSchema{Has: &none}
		}
	}
	c := &contract{document: document, table: http.NewServeMux()}
	for path, item := range document.Paths.Map() {
		below := document.Servers[0].URL
		if len(item.Servers) > 0 {
			below = ""
		}
		for method, operation := range item.Operations() {
			c.table.Handle(method+" "+below+path, &described{routers.Route{
				Spec: document, Path: path, PathItem: item, Method: method, Operation: operation,
			}})
		}
	}
	return c, nil
})

// plain decodes a text, or the number that an answer is; those of forms are read elsewhere.
func plain(body io.Reader, header http.Header, schema *openapi3.SchemaRef, _ openapi3filter.EncodingFn) (any, error) {
	text, err := io.ReadAll(body)
	if err != nil || !schema.Value.Type.Is(openapi3.TypeInteger) || header.Get("Content-Disposition") != "" {
		return string(text), err
	}
	return strconv.ParseInt(string(text), 10, 64)
}

// pathName matches the place of an id in a path.
var pathName = regexp.MustCompile(`{\w+}`)

// described is an operation of the document.
type described struct{ routers.Route }

// ServeHTTP passes the route and the path values to the finder.
func (d *described) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found := w.(*finder) // find alone calls
	found.route, found.params = &d.Route, map[string]string{}
	for _, name := range pathName.FindAllString(d.Path, -1) {
		name = strings.Trim(name, "{}")
		found.params[name] = r.PathValue(name)
	}
}

// finder is the ResponseWriter with which find queries the table.
type finder struct {
	http.ResponseWriter
	route  *routers.Route
	params map[string]string
}

// find returns the operation that a request below /api/v2 names, nil without one.
func (c *contract) find(r *http.Request) (*routers.Route, map[string]string) {
	handler, _ := c.table.Handler(r)
	if _, is := handler.(*described); !is {
		return nil, nil
	}
	var found finder
	c.table.ServeHTTP(&found, r)
	return found.route, found.params
}

// checked is a request under way.
type checked struct {
	t       testing.TB
	request *http.Request // as the service sees it
	body    *copied
}

// check begins to check a request and its answer against the contract: the document must describe the
// answer and, if the service accepts it, the request.
func check(t testing.TB, request *http.Request) *checked {
	t.Helper()
	const below = "/front" // as start serves
	c := &checked{t: t, request: request.Clone(t.Context())}
	c.request.URL.Path = strings.TrimPrefix(c.request.URL.Path, below)
	c.request.URL.RawPath = strings.TrimPrefix(c.request.URL.RawPath, below)
	c.request.Body = http.NoBody
	if request.Body != nil && request.Body != http.NoBody {
		c.body = &copied{ReadCloser: request.Body}
		request.Body, request.GetBody = c.body, nil
	}
	return c
}

// answered ends it.
func (c *checked) answered(a answer) {
	c.t.Helper()
	contract, err := theContract()
	if err != nil {
		c.t.Fatal(err)
	}
	if c.body != nil {
		body, whole := c.body.bytes()
		contract.hold(c.request, body, whole, a, c.t.Errorf)
		return
	}
	contract.hold(c.request, nil, true, a, c.t.Errorf)
}

// hold reports how a request and its answer differ from the document.
func (c *contract) hold(r *http.Request, body []byte, whole bool, a answer, tell func(format string, args ...any)) {
	what := fmt.Sprintf("%s %s: %d", r.Method, r.URL, a.status)
	route, params := c.find(r)
	if route == nil {
		if a.status != http.StatusUnauthorized && a.status != http.StatusNotFound && a.status != http.StatusMethodNotAllowed {
			tell("%s to what is no operation", what)
		}
		if err := c.problem(a); err != nil {
			tell("%s is no problem as described: %v", what, err)
		}
		return
	}
	input := &openapi3filter.RequestValidationInput{
		Request: r, PathParams: params, Route: route, QueryParams: given(r.URL.Query()),
		Options: &openapi3filter.Options{
			AuthenticationFunc: openapi3filter.NoopAuthenticationFunc, IncludeResponseStatus: true, SkipSettingDefaults: true,
		},
	}
	if a.status < http.StatusBadRequest && whole {
		r.Body = io.NopCloser(bytes.NewReader(body))
		if err := openapi3filter.ValidateRequest(r.Context(), input); err != nil {
			tell("%s to a request that is not as described: %v", what, err)
		}
	}
	if route.Operation.Responses.Status(a.status) == nil { // nothing else checks a HEAD
		tell("%s: a status that is not described: %s", what, a.body)
	}
	if err := openapi3filter.ValidateResponse(r.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: input, Status: a.status, Header: a.header,
		Body: io.NopCloser(strings.NewReader(a.body)), Options: input.Options,
	}); err != nil {
		tell("%s is no answer as described: %v", what, err)
	}
}

// given are the parameters that are not empty: an empty one counts as absent.
func given(all url.Values) url.Values {
	some := url.Values{}
	for name, values := range all {
		if values[0] != "" {
			some[name] = values
		}
	}
	return some
}

// problem returns how an answer differs from a described problem.
func (c *contract) problem(a answer) error {
	if a.body == "" {
		return nil // of a HEAD
	}
	if got := a.header.Get("Content-Type"); got != "application/problem+json" {
		return fmt.Errorf("the content type is %q", got)
	}
	var value any
	if err := json.Unmarshal([]byte(a.body), &value); err != nil {
		return fmt.Errorf("%w in %s", err, a.body)
	}
	return c.document.Components.Schemas["Problem"].Value.VisitJSON(value, openapi3.EnableJSONSchema2020())
}

// maxCopied is how much of a body is kept for checking, in bytes.
const maxCopied = 4 << 20

// copied keeps what is read of a body.
type copied struct {
	io.ReadCloser
	mu    sync.Mutex
	kept  bytes.Buffer // guarded by mu
	ended bool         // guarded by mu
}

// Read implements io.Reader.
func (c *copied) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.kept.Len() <= maxCopied {
		c.kept.Write(p[:n])
	}
	c.ended = c.ended || errors.Is(err, io.EOF)
	return n, err
}

// bytes returns the body, if all of it was read and it is not too long.
func (c *copied) bytes() (body []byte, whole bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return bytes.Clone(c.kept.Bytes()), c.ended && c.kept.Len() <= maxCopied
}

// Each difference from the document is reported.
func TestTheContractNotices(t *testing.T) {
	t.Parallel()
	contract, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	const problem = `{"type":"urn:archivefs:problem:not-found","title":"Not Found","status":404,"detail":"no","instance":"urn:archivefs:request:x"}`
	for _, test := range []struct {
		name, method, path, body, contentType string
		status                                int
		answer                                string
		want                                  string
	}{
		{"well", "GET", "/inboxes", "", "application/json", 200, `{"free-inbox-structure":true,"inboxes":[],"folders":[]}`, ""},
		{"a member is missing", "GET", "/inboxes", "", "application/json", 200, `{"inboxes":[],"folders":[]}`, "free-inbox-structure"},
		{"a member is new", "POST", "/folder/create", "parent-folder-id=1&folder-name=x", "application/json", 200, `{"id":1,"name":"x","path":"/x"}`, "path"},
		{"a member has another type", "POST", "/folder/create", "parent-folder-id=1&folder-name=x", "application/json", 200, `{"id":"1","name":"x"}`, "no answer as described"},
		{"another content type", "GET", "/inboxes", "", "text/html", 200, `<p>`, "Content-Type"},
		{"another status", "GET", "/inboxes", "", "application/problem+json", 404, problem, "status"},
		{"another status of a HEAD", "HEAD", "/document/1/pdf", "", "", 418, "", "status"},
		{"a field is missing", "POST", "/folder/create", "folder-name=x", "application/json", 200, `{"id":1,"name":"x"}`, "request that is not as described"},
		{"a parameter has another type", "GET", "/inboxes?lazy=perhaps", "", "application/json", 200, `{"free-inbox-structure":true,"inboxes":[],"folders":[]}`, "lazy"},
		{"no operation", "GET", "/nothing", "", "application/problem+json", 404, problem, ""},
		{"no operation is answered", "GET", "/nothing", "", "text/plain", 200, "", "no operation"},
		{"no problem", "GET", "/nothing", "", "application/problem+json", 404, `{"title":"Not Found"}`, "no problem as described"},
	} {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequestWithContext(t.Context(), test.method, "/api/v2"+test.path, nil)
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			var got strings.Builder
			contract.hold(r, []byte(test.body), true, answer{status: test.status, header: http.Header{"Content-Type": {test.contentType}}, body: test.answer},
				func(format string, args ...any) { fmt.Fprintf(&got, format, args...) })
			if !strings.Contains(got.String(), test.want) || (got.Len() > 0) != (test.want != "") {
				t.Errorf("reported %q, want %q", got.String(), test.want)
			}
		})
	}
}

// Anybody may read the document, whole or not at all.
func TestTheDocumentIsPublic(t *testing.T) {
	t.Parallel()
	h := start(t)
	a := h.get("/openapi.json", "API-Key", "")
	want, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if a.status != http.StatusOK || a.body != string(want) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := h.send(http.MethodHead, "/openapi.json", "", nil, "API-Key", ""); a.status != http.StatusOK || a.header.Get("Content-Length") != strconv.Itoa(len(want)) {
		t.Errorf("HEAD: %d %v", a.status, a.header)
	}
	for _, r := range [][2]string{{"POST", "/openapi.json"}, {"GET", "/openapi.json/"}, {"GET", "/../v2/openapi.json"}, {"GET", "/x/../openapi.json"}} {
		wantProblem(t, h.send(r[0], r[1], "", nil, "API-Key", ""), http.StatusUnauthorized, "")
	}
	wantProblem(t, h.send("POST", "/openapi.json", "", nil), http.StatusMethodNotAllowed, "")
}
