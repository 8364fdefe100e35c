package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/params"
	"github.com/archivefs/archivefs/internal/server/refusal"
)

// request is the input of a handler: the request, its sender and the archive as the sender sees it.
// All of it is known before the body is read.
type request struct {
	*http.Request
	who identity
	// catalog is the archive of the sender's tenant, without the mandators that the credentials
	// exclude. A handler cannot see or change anything else. Changes are recorded as the user's.
	catalog catalog.Catalog
}

// detached is the request's context without its end: a change that has begun continues when the client leaves.
func (r *request) detached() context.Context { return context.WithoutCancel(r.Context()) }

// maxForm bounds a JSON or urlencoded body, and all fields of a multipart one together, in bytes.
const maxForm = 1 << 20

// query returns a request's query parameters. Err reports a malformed query, whose other parameters must not be used.
func query(r *request) *params.Params {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = badBody(err, "the query cannot be read")
	}
	return &params.Params{Values: values, Broken: err}
}

// form reads an application/x-www-form-urlencoded body. Query parameters are ignored.
func form(w *response, r *request) (*params.Params, error) {
	if _, err := wantBody(r, "application/x-www-form-urlencoded"); err != nil {
		return nil, err
	}
	if err := fits(r, maxForm); err != nil {
		return nil, err
	}
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if err := r.ParseForm(); err != nil {
		return nil, badBody(err, "the form cannot be read")
	}
	w.form = r.PostForm
	return &params.Params{Values: r.PostForm}, nil
}

// jsonBody decodes an application/json body. In errors, shape describes the expected type, and field is blamed for a
// duplicate key. Null is refused: it would pass for an empty object or array, and delete values.
func jsonBody(w *response, r *request, into any, field, shape string) error {
	if _, err := wantBody(r, "application/json"); err != nil {
		return err
	}
	if err := fits(r, maxForm); err != nil {
		return err
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxForm))
	if err != nil {
		return badBody(err, "the body cannot be read")
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		return badBody(io.EOF, "the body is no JSON")
	}
	err = json.Unmarshal(body, into)
	broken := new(jsontext.SyntacticError)
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		return refusal.Invalid(field, "a key is given more than once")
	case errors.As(err, &broken):
		return badBody(broken.Err, "the body is no JSON")
	case err != nil || string(body) == "null":
		return refusal.New(archive.KindInvalid, "the body must be %s", shape)
	}
	return nil
}

// wantBody refuses a body of another media type and returns the parameters of the type.
func wantBody(r *request, want string) (map[string]string, error) {
	got := r.Header.Get("Content-Type")
	if got == "" {
		return nil, refusal.New(archive.KindInvalid, "the body must be %s, and the request has no Content-Type", want)
	}
	media, params, err := mime.ParseMediaType(got)
	if err != nil || media != want {
		return nil, refusal.New(archive.KindInvalid, "the body must be %s, not %q", want, archive.Printable(got))
	}
	return params, nil
}

// fits refuses a body whose Content-Length is too long before any of it is sent (RFC 9110, section 10.1.1).
func fits(r *request, limit int64) error {
	if r.ContentLength > limit {
		return tooLong(limit)
	}
	return nil
}

func tooLong(limit int64) error {
	return refusal.New(archive.KindTooLarge, "the body is larger than %s", limits.Amount(limit))
}

// badBody returns the error for a body that cannot be read: too large, truncated, a sender that stopped, or another.
func badBody(err error, what string) error {
	if archive.KindOf(err) == archive.KindTimeout {
		return err
	}
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return tooLong(tooLarge.Limit)
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return refusal.New(archive.KindInvalid, "%s: it is cut off", what)
	case errors.Is(err, io.EOF):
		return refusal.New(archive.KindInvalid, "%s: it is empty", what)
	}
	return refusal.New(archive.KindInvalid, "%s: %s", what, archive.Printable(err.Error()))
}

// pathID returns the id in a request's path, whatever its route calls it.
func pathID(r *request) (archive.ID, error) {
	_, name, _ := strings.Cut(r.Pattern, "{")
	name, _, _ = strings.Cut(name, "}")
	id, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil {
		return 0, refusal.Invalid(name, "not an integer of 64 bits")
	}
	return archive.ID(id), nil
}
