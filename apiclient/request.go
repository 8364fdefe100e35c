package apiclient

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/archivefs/archivefs/archive"
)

// Media types.
const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
	mediaAny  = "*/*"
)

// repetition says when a request may be sent again.
type repetition uint8

const (
	// onlyUnsent: only when the service provably did not act on it.
	onlyUnsent repetition = iota
	// harmless: always, because it changes nothing or sets what is set already.
	harmless
)

// request is what an operation sends. It can be sent any number of times.
type request struct {
	op     Operation
	method string
	path   string // below the base URL, escaped
	query  url.Values
	header http.Header // beside those that every request has
	body   *payload    // nil: none
	repeat repetition
	// document is the one an optional operation is about: whether it exists tells a
	// missing operation from a missing document.
	document archive.ID
}

// payload is the body of a request.
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
func postJSON(op Operation, path string, value any) (*request, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return nil, &archive.Error{Op: string(op), Kind: archive.KindInvalid, Err: err}
	}
	return &request{
		op: op, method: http.MethodPost, path: path, repeat: harmless,
		body: &payload{mediaJSON, int64(len(text)), func() io.Reader { return bytes.NewReader(text) }},
	}, nil
}

func textPayload(contentType, text string) *payload {
	return &payload{contentType, int64(len(text)), func() io.Reader { return strings.NewReader(text) }}
}

// about marks r as an operation on the document doc.
func (r *request) about(doc archive.ID) *request {
	r.document = doc
	return r
}

// documentPath returns the path of one document's route, as "/document/17/data".
func documentPath(doc archive.ID, route string) string {
	return "/document/" + decimal(doc) + "/" + route
}

func decimal(id archive.ID) string { return strconv.FormatInt(int64(id), 10) }

var errNoID = errors.New("the id is missing")

// requireID refuses to address a folder or document without an id.
func requireID(op Operation, id archive.ID) error {
	if id == 0 {
		return &archive.Error{Op: string(op), Kind: archive.KindInvalid, Err: errNoID}
	}
	return nil
}

// requireText refuses what JSON and forms could only send altered.
func requireText(op Operation, texts ...string) error {
	for _, text := range texts {
		if !utf8.ValidString(text) {
			return &archive.Error{
				Op: string(op), Kind: archive.KindInvalid,
				Err: fmt.Errorf("%q is not UTF-8", text),
			}
		}
	}
	return nil
}

// texts returns the keys and values of entries.
func texts(entries []archive.KeyValue) []string {
	all := make([]string, 0, 2*len(entries))
	for _, e := range entries {
		all = append(all, e.Key, e.Value)
	}
	return all
}
