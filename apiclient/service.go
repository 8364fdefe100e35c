package apiclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// errRemembered is the error of an operation that an earlier answer showed to be missing.
var errRemembered = errors.New("as an earlier answer showed")

// service sends the requests of operations, decodes the answers, and remembers which operations the deployment lacks.
type service struct {
	sender  *sender
	support supportTable
	log     logrus.FieldLogger
}

// exchange sends r, repeats it if allowed, hands the answer to read, and learns from it
// whether the deployment has the operation.
func (s *service) exchange(ctx context.Context, r *request, read func(*http.Response) error) error {
	if r.invalid != nil {
		return &archive.Error{Op: r.op.doing, Kind: archive.KindInvalid, Err: r.invalid}
	}
	if r.op.is(optional) && s.support.lacks(r.op, r.document) {
		return &archive.Error{Op: r.op.doing, Kind: archive.KindUnsupported, Err: errRemembered}
	}
	err := s.sender.repeat(ctx, r, read)
	if errors.Is(err, errWebPage) && r.op.is(returnsContent) {
		if r.page = s.sender.probe(ctx) == nil; r.page {
			err = s.sender.repeat(ctx, r, read)
		}
	}
	var e *archive.Error
	switch {
	case !r.op.is(optional):
	case err == nil:
		s.support.learn(r.op, SupportYes)
	case errors.As(err, &e) && e.Status != 0:
		s.judge(ctx, r, e)
	}
	s.confirm(ctx, r, err)
	return err
}

// confirm asks whether the service is there at all, if err says that it lacks something.
func (s *service) confirm(ctx context.Context, r *request, err error) {
	var e *archive.Error
	if archive.KindOf(err) != archive.KindNotFound || r.op.is(rare) || !errors.As(err, &e) {
		return
	}
	if gone := s.sender.probe(ctx); archive.Away(gone) {
		e.Kind, e.Err = archive.KindForeign, gone
	}
}

// judge tells a missing operation from a missing document. 405 and 501 are about the operation;
// for 404 see the traits. A document is there if its data can be read (specification, endpoint 8).
// An operation that has succeeded is not missing. Where a single document may lack the result, it
// takes two of them; the first one only lacks the content itself.
func (s *service) judge(ctx context.Context, r *request, e *archive.Error) {
	switch e.Kind {
	case archive.KindUnsupported:
		s.support.learn(r.op, SupportNo)
	case archive.KindNotFound:
		if r.op.is(rare) || s.support.of(r.op) == SupportYes {
			return
		}
		if r.document != 0 && !s.there(ctx, r) {
			return
		}
		e.Kind = archive.KindUnsupported
		if r.op.is(perDocument) && !s.support.suspect(r.op, r.document) {
			return
		}
		s.support.learn(r.op, SupportNo)
		s.log.WithField("operation", r.op.name).Info("the service lacks the operation")
	}
}

// there reports whether the document of r exists. For a content, the result of a few seconds ago
// is used again: a service without contents would be asked after each request.
func (s *service) there(ctx context.Context, r *request) bool {
	if last := s.support.seen.Load(); r.op.is(perDocument) && last != nil && last.recent(r.document, seenFor) {
		return true
	}
	if _, _, err := s.data(ctx, r.document); err != nil {
		return false
	}
	s.support.seen.Store(&sighting{r.document, time.Now()})
	return true
}

// Limits, in bytes, of answers that are read as a whole. Lists and structures have none.
const (
	dataLimit  = 64 << 20 // document data
	smallLimit = 1 << 20  // ids, metadata
)

// stream sends r and has decode read the JSON value of its answer; decode runs anew for each
// repetition. Anything after the value is an error.
func (s *service) stream(ctx context.Context, r *request, decode func(*jsonReader) error) error {
	return s.exchange(ctx, r, decoding(r, decode)) //nolint:bodyclose // exchange closes it
}

// decoding returns a reader of answers to r that has decode read their JSON value.
func decoding(r *request, decode func(*jsonReader) error) func(*http.Response) error {
	return func(resp *http.Response) error {
		defer discard(resp.Body)
		reader, err := newJSONReader(resp.Body)
		if err == nil {
			err = decode(reader)
		}
		if err == nil {
			err = reader.end()
		}
		return unexpected(r.op, resp, err)
	}
}

// whole sends r and returns the body of its answer, of at most limit bytes.
func (s *service) whole(ctx context.Context, r *request, limit int64) ([]byte, error) {
	var text []byte
	err := s.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		var err error
		if text, err = io.ReadAll(io.LimitReader(resp.Body, limit+1)); err == nil && int64(len(text)) > limit {
			err = fmt.Errorf("the answer is longer than %d bytes", limit)
		}
		text = trimBOM(text)
		return unexpected(r.op, resp, err)
	})
	return text, err
}

// acknowledge sends r, of whose answer only the status counts, and that it is the service's.
func (s *service) acknowledge(ctx context.Context, r *request) error {
	var text []byte
	err := s.exchange(ctx, r, func(resp *http.Response) error {
		defer discard(resp.Body)
		text, _ = io.ReadAll(io.LimitReader(resp.Body, drainLimit)) // a broken body is no failure
		return nil
	})
	switch text = bytes.TrimSpace(trimBOM(text)); {
	case err != nil || bytes.IndexAny(text, "{[n") != 0:
		return err
	case r.op.is(bulky) && slices.Contains([]string{"{}", "[]", "null"}, string(text)): // the content tells
		return &archive.Error{Op: r.op.doing, Kind: archive.KindForeign, Err: errEmpty}
	}
	return s.vouched(ctx, r.op)
}

// vouched returns an error unless the service is there: something in between can answer a change with
// JSON that says nothing.
func (s *service) vouched(ctx context.Context, op Operation) error {
	if gone := s.sender.probe(ctx); archive.Away(gone) {
		return &archive.Error{Op: op.doing, Kind: archive.KindForeign, Err: gone}
	}
	return nil
}

// decode sends r and decodes the JSON of its answer, of at most limit bytes, into v. It returns the JSON, too.
func (s *service) decode(ctx context.Context, r *request, limit int64, v any) ([]byte, error) {
	text, err := s.whole(ctx, r, limit)
	if err != nil {
		return nil, err
	}
	return text, decodeWhole(r.op, text, v)
}

// decodeWhole decodes a whole JSON answer into v.
func decodeWhole(op Operation, text []byte, v any) error {
	if len(bytes.TrimSpace(text)) == 0 {
		return malformed(op, errEmpty)
	}
	return malformed(op, lenient(json.Unmarshal(text, v)))
}

// create sends r, which creates something, and returns its answer.
func (s *service) create(ctx context.Context, r *request) (idAnswer, error) {
	text, err := s.whole(ctx, r, smallLimit)
	if err != nil {
		return idAnswer{}, err
	}
	answer, err := parseIDAnswer(text)
	if err != nil {
		return idAnswer{}, malformed(r.op, err)
	}
	return answer, nil
}

// malformed returns the operation's error for an answer that encoding/json cannot decode.
func malformed(op Operation, err error) error {
	if err == nil {
		return nil
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		err = &offsetError{syntax.Offset, err}
	}
	return &archive.Error{Op: op.doing, Kind: archive.KindProtocol, Err: err}
}

// unexpected returns the operation's error for an answer that cannot be decoded. Errors of the
// transport are of the operation already.
func unexpected(op Operation, resp *http.Response, err error) error {
	var e *archive.Error
	if err == nil || errors.As(err, &e) {
		return err
	}
	kind := archive.KindProtocol
	if op.is(listing) {
		kind = archive.KindForeign
	}
	return &archive.Error{Op: op.doing, Kind: kind, Status: resp.StatusCode, Err: err}
}

type idAnswer struct {
	ID         scalar `json:"id"`
	DocumentID scalar `json:"document-id"`
	CamelID    scalar `json:"documentId"`
	FolderID   scalar `json:"folder-id"`
	Name       scalar `json:"name"`
}

// parseIDAnswer reads the id from an answer: a decimal number as text or JSON, an object that
// has it, or an array that begins with one of these. The specification describes no body for an
// upload, so an answer without an id is no error; broken JSON is.
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

// id returns the id in the answer, 0 for none. It takes decimal digits only, because the text of
// an answer may be anything: 0 and negative numbers are more often errors than ids, and a listing tells.
func (a idAnswer) id() archive.ID {
	for _, s := range []scalar{a.ID, a.DocumentID, a.CamelID, a.FolderID} {
		if id, err := strconv.ParseInt(strings.TrimSpace(s.text), 10, 64); err == nil && id > 0 {
			return archive.ID(id)
		}
	}
	return 0
}

// Support says whether the deployment has an operation.
type Support uint8

// What is known of an operation.
const (
	SupportUnknown Support = iota
	SupportYes
	SupportNo
)

// String names the state.
func (s Support) String() string {
	switch s {
	case SupportYes:
		return "yes"
	case SupportNo:
		return "no"
	}
	return "unknown"
}

// missingFor is how long an operation counts as missing before it is requested again: a service
// may be updated during a long mount.
const missingFor = 10 * time.Minute

// seenFor is how long service.there relies on having seen a document.
const seenFor = 5 * time.Second

// supportTable remembers which operations the deployment has.
type supportTable struct {
	mu sync.Mutex
	// operations is what is known of each.
	operations map[Operation]supportRow // +checklocks:mu
	// seen is the document that was seen last.
	seen atomic.Pointer[sighting]
}

type supportRow struct {
	state   Support
	learned time.Time
	// lacking is a document that lacks the content which the operation returns.
	lacking sighting
}

// sighting is a document, and when something was found out about it.
type sighting struct {
	document archive.ID
	at       time.Time
}

// recent reports whether the sighting is of doc and not older than the limit.
func (s sighting) recent(doc archive.ID, limit time.Duration) bool {
	return s.document == doc && time.Since(s.at) < limit
}

func (t *supportTable) learn(op Operation, s Support) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.operations[op] = supportRow{state: s, learned: time.Now()}
}

// +checklocks:t.mu
func (t *supportTable) rowLocked(op Operation) supportRow {
	row := t.operations[op]
	if row.state == SupportNo && time.Since(row.learned) >= missingFor {
		row.state = SupportUnknown
	}
	return row
}

func (t *supportTable) of(op Operation) Support {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.rowLocked(op).state
}

// lacks reports whether the deployment, or the document, is known to lack the result of op.
func (t *supportTable) lacks(op Operation, doc archive.ID) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.rowLocked(op)
	return row.state == SupportNo || row.lacking.recent(doc, missingFor)
}

// suspect records that doc lacks the result of op, and reports whether another document does,
// too. A single document may be broken.
func (t *supportTable) suspect(op Operation, doc archive.ID) (others bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	row := t.rowLocked(op)
	if first := row.lacking; first.document != doc && first.recent(first.document, missingFor) {
		return true
	}
	row.lacking = sighting{doc, time.Now()}
	t.operations[op] = row
	return false
}
