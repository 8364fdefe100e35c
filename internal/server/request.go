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

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/params"
	"github.com/archivefs/archivefs/internal/server/refusal"
)

// request is what a handler is given: what is asked, and by whom, both found out before anything of a
// body is read, and the archive as they see it.
type request struct {
	*http.Request
	who identity
	// catalog is the archive of their tenant: of no other, and of no mandator that the credentials
	// leave out, a handler can see or change anything. Changes are recorded as the user's.
	catalog catalog.Catalog
}

// detached is the request's context without its end: a change that has begun goes on when the client
// goes away.
func (r *request) detached() context.Context { return context.WithoutCancel(r.Context()) }

// maxForm bounds a JSON or urlencoded body, and the fields of a multipart one together,
// in bytes.
const maxForm = 1 << 20

// query returns a request's query parameters. One that cannot be read is told by their
// err, lest what is left of it be taken for what was asked.
func query(r *request) *params.Params {
	values, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		err = badBody(err, "the query cannot be read")
	}
	return &params.Params{Values: values, Broken: err}
}

// form reads an application/x-www-form-urlencoded body. Query parameters do not count.
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

// jsonBody decodes an application/json body of the shape that the words say; the field is to blame for a key
// that is there twice. Null is of no shape: it would pass for an empty object or array, and take away what is
// there.
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

// wantBody refuses a body of another type and returns the parameters of the wanted one.
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

// fits refuses a body that says itself that it is too long, before any of it is sent
// (RFC 9110, 10.1.1).
func fits(r *request, limit int64) error {
	if r.ContentLength <= limit {
		return nil
	}
	return tooLong(limit)
}

func tooLong(limit int64) error {
	return refusal.New(archive.KindTooLarge, "the body is larger than %s", limits.Amount(limit))
}

// badBody says what is wrong with a body; one that is too large, whose sender has stopped, or that
// is cut off, is told apart.
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

// pathID returns the id in a request's path.
func pathID(r *request) (archive.ID, error) {
	id, err := strconv.ParseInt(r.PathValue("id"), 10, 64)
	if err != nil {
		return 0, refusal.Invalid("id", "not an integer of 64 bits")
	}
	return archive.ID(id), nil
}
