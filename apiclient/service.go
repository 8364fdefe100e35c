package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// errRemembered explains an answer that no request was made for.
var errRemembered = errors.New("as an earlier answer showed")

// service is the archive service as the operations see it: it answers a request, or lacks the
// operation, which is remembered.
type service struct {
	sender  *sender
	support supportTable
	log     logrus.FieldLogger
}

// exchange sends r, repeated as it may be, hands the answer to read, and learns from it
// whether the deployment has the operation.
func (s *service) exchange(ctx context.Context, r *request, read func(*http.Response) error) error {
	if !r.op.optional() {
		return s.sender.repeat(ctx, r, read)
	}
	if s.support.lacks(r.op, r.document) {
		return &archive.Error{Op: string(r.op), Kind: archive.KindUnsupported, Err: errRemembered}
	}
	err := s.sender.repeat(ctx, r, read)
	var e *archive.Error
	switch {
	case err == nil:
		s.support.learn(r.op, SupportYes)
	case errors.As(err, &e) && e.Status != 0:
		s.judge(ctx, r, e)
	}
	return err
}

// judge tells a missing operation from a missing document. 405 and 501 are about the
// route. 404 is about the document, unless its data can be read (specification,
// endpoint 8) and the operation has never answered: then the deployment lacks it. Of a
// content that takes two documents: with one alone it is unsupported for that document. Of
// a text or a preview 404 is always about the document. An operation about no document
// (search) is what is missing.
func (s *service) judge(ctx context.Context, r *request, e *archive.Error) {
	switch e.Kind {
	case archive.KindUnsupported:
		s.support.learn(r.op, SupportNo)
	case archive.KindNotFound:
		if r.op.rare() || s.support.of(r.op) == SupportYes {
			return
		}
		if r.document != 0 && !s.there(ctx, r) {
			return
		}
		e.Kind = archive.KindUnsupported
		if r.op.perDocument() && !s.support.suspect(r.op, r.document) {
			return
		}
		s.support.learn(r.op, SupportNo)
		s.log.WithField("operation", string(r.op)).Info("the service lacks the operation")
	}
}

// there reports whether the document of r is there. For a content that was a moment ago
// too, so that a service which has none is not asked after each request.
func (s *service) there(ctx context.Context, r *request) bool {
	if r.op.perDocument() && s.support.sawLately(r.document) {
		return true
	}
	if _, _, err := s.data(ctx, r.document); err != nil {
		return false
	}
	s.support.saw(r.document)
	return true
}

// Limits of answers that are read as a whole, in bytes. Lists and structures have none.
const (
	dataLimit  = 64 << 20 // document data
	smallLimit = 1 << 20  // ids, metadata
)

// errWebPage is what a login page of a proxy or a wrong base URL gives.
var errWebPage = errors.New("the answer is a web page: is the base URL right, or does a proxy ask for a login?")

// stream sends r and has decode read its JSON answer value by value; decode runs anew
// for each repetition. What follows the value is refused.
func (s *service) stream(ctx context.Context, r *request, decode func(*jsonReader) error) error {
	return s.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		if isWebPage(resp) {
			return unexpected(r.op, resp, errWebPage)
		}
		reader, err := newJSONReader(resp.Body)
		if err == nil {
			err = decode(reader)
		}
		if err == nil {
			err = reader.end()
		}
		return unexpected(r.op, resp, err)
	})
}

// whole sends r and returns its answer's body, at most limit bytes of it and perhaps
// none.
func (s *service) whole(ctx context.Context, r *request, limit int64) ([]byte, error) {
	var text []byte
	err := s.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		if isWebPage(resp) {
			return unexpected(r.op, resp, errWebPage)
		}
		var err error
		if text, err = io.ReadAll(io.LimitReader(resp.Body, limit+1)); err == nil && int64(len(text)) > limit {
			err = fmt.Errorf("the answer is longer than %d bytes", limit)
		}
		if text = trimBOM(text); err == nil && startsMarkup(text) {
			err = errWebPage
		}
		return unexpected(r.op, resp, err)
	})
	return text, err
}

// acknowledge sends r, whose answer has no body that is described.
func (s *service) acknowledge(ctx context.Context, r *request) error {
	return s.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		// The status has told the success; a body that breaks off changes nothing.
		text, _ := io.ReadAll(io.LimitReader(resp.Body, drainLimit))
		if isWebPage(resp) || startsMarkup(trimBOM(text)) {
			return unexpected(r.op, resp, errWebPage)
		}
		return nil
	})
}

// decodeWhole decodes a whole JSON answer into v.
func decodeWhole(op Operation, text []byte, v any) error {
	err := errEmpty
	if len(bytes.TrimSpace(text)) > 0 {
		err = lenient(json.Unmarshal(text, v))
	}
	if err == nil {
		return nil
	}
	return &archive.Error{Op: string(op), Kind: archive.KindProtocol, Err: atOffset(err)}
}

// atOffset says of an error in JSON where it is.
func atOffset(err error) error {
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return &offsetError{syntax.Offset, err}
	}
	return err
}

// unexpected makes an error of decoding one of the operation; errors of the transport
// are so already.
func unexpected(op Operation, resp *http.Response, err error) error {
	var e *archive.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	return &archive.Error{Op: string(op), Kind: archive.KindProtocol, Status: resp.StatusCode, Err: err}
}

// isWebPage reports whether resp says that it is HTML.
func isWebPage(resp *http.Response) bool {
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	return err == nil && (media == "text/html" || media == "application/xhtml+xml")
}

// idAnswer is what an operation answers that creates something.
type idAnswer struct {
	ID         scalar `json:"id"`
	DocumentID scalar `json:"document-id"`
	CamelID    scalar `json:"documentId"`
	FolderID   scalar `json:"folder-id"`
	Name       scalar `json:"name"`
}

// parseID reads the id from an answer: a decimal number as text or JSON, an object that
// has it, or an array that begins with one of these. The specification describes no
// body for an upload, so an answer without an id is none (0) and no error; one that
// begins as JSON and breaks is an error.
func parseID(text []byte) (archive.ID, error) {
	answer, err := parseIDAnswer(text)
	return answer.id(), err
}

func parseIDAnswer(text []byte) (idAnswer, error) {
	text = bytes.TrimSpace(trimBOM(text))
	if len(text) == 0 {
		return idAnswer{}, nil
	}
	switch text[0] {
	case '{', '"':
	case '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(text, &elements); err != nil || len(elements) == 0 {
			return idAnswer{}, err
		}
		if text = elements[0]; text[0] == '[' {
			return idAnswer{}, nil
		}
	default: // a number, or a word such as OK
		return idAnswer{ID: scalar{text: string(text), set: true}}, nil
	}
	var answer idAnswer
	if text[0] == '{' {
		return answer, lenient(json.Unmarshal(text, &answer))
	}
	return answer, json.Unmarshal(text, &answer.ID)
}

// id returns the id that a tells, 0 without one. Only decimal digits count: the text
// of an answer may be anything.
func (a idAnswer) id() archive.ID {
	for _, s := range []scalar{a.ID, a.DocumentID, a.CamelID, a.FolderID} {
		if id, err := strconv.ParseInt(strings.TrimSpace(s.text), 10, 64); err == nil && id > 0 {
			return archive.ID(id)
		}
	}
	return 0
}
