package apiclient

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// Media types.
const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// The media types that requests accept (RFC 9110, section 12.5.1).
const (
	// acceptJSON asks for JSON (specification, What the service does), but takes the answers without
	// any: a service that negotiates refuses an upload whose answer, a text, is not accepted.
	acceptJSON = "application/json, text/plain;q=0.9, */*;q=0.1"
	// acceptAny is for contents: of several types that a service has, none is preferred to the document's own.
	acceptAny = "*/*"
)

// repetition says when a request may be sent again.
type repetition uint8

const (
	// onlyUnsent: only if the service provably did not act on it.
	onlyUnsent repetition = iota
	// harmless: always, because it is idempotent.
	harmless
)

// request is what an operation sends. It can be sent any number of times.
type request struct {
	op     Operation
	method string
	path   string // below the base URL, escaped
	query  url.Values
	header http.Header // besides the fields of every request
	body   *payload    // nil: none
	repeat repetition
	// document is the document that the operation is about, 0 for none: whether it exists tells
	// a missing operation from a missing document.
	document archive.ID
	// top: it asks for the top of the archive, which every service has.
	top bool
	// page: the answer may be a web page, because the service itself sends one as the content.
	page bool
	// invalid is why the request cannot be sent, nil if it can.
	invalid error
}

type payload struct {
	contentType string
	size        int64
	open        func() io.Reader // the same bytes each time
}

// get returns a request that reads JSON.
func get(op Operation, path string, query url.Values) *request {
	return &request{op: op, method: http.MethodGet, path: path, query: query, repeat: harmless}
}

// post returns a request that changes something, with its parameters as a form
// (specification, Endpoints). No form: no body.
func post(op Operation, path string, form url.Values) *request {
	r := &request{op: op, method: http.MethodPost, path: path}
	if len(form) > 0 {
		r.body = textPayload(mediaForm, form.Encode())
	}
	return r
}

// postJSON returns a request that sets something to value.
func postJSON(op Operation, path string, value any) *request {
	text, err := json.Marshal(value)
	r := &request{op: op, method: http.MethodPost, path: path, repeat: harmless, body: textPayload(mediaJSON, string(text))}
	return r.refuse(err)
}

func textPayload(contentType, text string) *payload {
	return &payload{contentType, int64(len(text)), func() io.Reader { return strings.NewReader(text) }}
}

// refuse makes r a request that is not sent but fails with err, unless err is nil. The first error counts.
func (r *request) refuse(err error) *request {
	if r.invalid == nil {
		r.invalid = err
	}
	return r
}

// about makes doc the document of r, which must have an id.
func (r *request) about(doc archive.ID) *request {
	r.document = doc
	return r.requireID(doc)
}

var errNoID = errors.New("the id is missing")

// requireID refuses a folder or document without an id.
func (r *request) requireID(id archive.ID) *request {
	if id == 0 {
		r.refuse(errNoID)
	}
	return r
}

// requireText refuses texts that JSON and forms would alter.
func (r *request) requireText(texts ...string) *request {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			r.refuse(fmt.Errorf("%q is not UTF-8", text))
		}
	}
	return r
}

// documentPath returns the path of one document's route, as "/document/17/data".
func documentPath(doc archive.ID, route string) string {
	return "/document/" + doc.String() + "/" + route
}

// Operation is an operation of the service, and all that the client knows of it beside the method
// that sends it, above which it is declared.
type Operation struct {
	name   string // as logs and statistics call it
	doing  string // in plain words, as errors say it
	traits traits
}

// String is the name.
func (op Operation) String() string { return op.name }

func (op Operation) is(any traits) bool { return op.traits&any != 0 }

type traits uint8

const (
	// optional: a deployment may lack the operation. A 404 is about the document, unless that is
	// there; where the request is about none, it is about the operation.
	optional traits = 1 << iota
	// rare: a 404 never says that the deployment lacks the operation: what is asked for may be gone,
	// or is lacking for so many documents that nothing follows from it.
	rare
	// perDocument: a single document may lack the content that is returned: it can be lost, or was never rendered.
	perDocument
	// stored: the service needs its content storage to answer.
	stored
	// returnsContent: the answer is a content, which may have any length.
	returnsContent
	// listing: what the answer leaves out is gone, so an answer of another form is no answer of the service.
	listing
	// bulky: a content or its length is transferred, for which not all connections are used.
	bulky

	// rendition: the original or the PDF of a document.
	rendition = optional | perDocument | stored | returnsContent | bulky
)
