package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

// originalType is the media type of every original, so that no browser shows an uploaded file as a
// page. Document lists have the real type.
const originalType = "application/octet-stream"

// contentHandlers send contents and renditions.
type contentHandlers struct {
	*renderer
	noRange bool
}

func (h contentHandlers) routes() []route {
	return []route{
		{http.MethodGet, "/document/{id}/pdf", ofID(h.documentPDF), further},
		{http.MethodHead, "/document/{id}/pdf", ofID(h.documentPDF), further}, // net/http leaves the body out
		{http.MethodGet, "/document/{id}/ocr-result", ofID(h.documentText), further},
		{http.MethodGet, "/page/{id}/ocr-result", h.pageText, further},
		{http.MethodGet, "/page/{id}/preview", h.pagePreview, further},
	}
}

// documentPDF answers GET /document/{id}/pdf: the PDF of a document, or with original the uploaded content. Ranges and
// conditions are supported (RFC 9110, sections 13 and 14); the ETag is the SHA-256 of the bytes.
func (h contentHandlers) documentPDF(w *response, r *request, id archive.ID) error {
	p := query(r)
	original := p.Flag("original")
	for _, kind := range p.List("annotations") { // to draw: renditions have none, so that their bytes never change
		if !slices.Contains([]string{"stamp", "text", "symbol", "note"}, kind) {
			p.Refuse("annotations", "none of stamp, text, symbol, note")
		}
	}
	if err := p.Err(); err != nil {
		return err
	}
	if unit, _, _ := strings.Cut(r.Header.Get("Range"), "="); !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		r.Header.Del("Range") // of another unit (RFC 9110, section 14.2), which net/http would refuse
	}
	if !h.noRange && strings.Count(r.Header.Get("Range"), ",") >= maxRanges {
		w.unsatisfiable("too many ranges")
		return nil
	}
	part := blob.Whole
	if !h.noRange {
		part = wanted(r)
	}
	content, contentType, digest, err := h.content(r, id, original, part)
	if errors.Is(err, errReplaced) { // read the new content
		content, contentType, digest, err = h.content(r, id, original, part)
	}
	if err != nil {
		return refusal.Blame("id", err)
	}
	defer func() { _ = content.Close() }()
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	from := &sending{ReadSeeker: content}
	var body io.ReadSeeker = from
	if file, ok := content.(*os.File); ok { // the kernel sends it
		body = file
	}
	if h.noRange {
		return errors.Join(sendWhole(w, body), from.err())
	}
	w.Header().Set("ETag", `"`+digest+`"`)
	http.ServeContent(&ranged{response: w}, r.Request, "", time.Time{}, body)
	return from.err()
}

// content opens a content or rendition for reading a part of it.
func (h contentHandlers) content(r *request, id archive.ID, original bool, part blob.Part) (content io.ReadSeekCloser, contentType, digest string, err error) {
	ctx := r.Context()
	d, err := r.catalog.Document(ctx, id)
	if err != nil {
		return nil, "", "", err
	}
	open := func(kept string) (err error) {
		digest = kept
		content, err = h.vault.OpenPart(ctx, digest, part)
		return err
	}
	if contentType = originalType; original {
		err = open(d.Digest)
	} else {
		contentType = inspect.PDF
		err = h.withPDF(ctx, r.who.party(), d, open)
	}
	if err != nil {
		return nil, "", "", lostOf(ctx, r.catalog, d, err)
	}
	if digest == d.Digest {
		if err := measure(content, d); err != nil {
			return nil, "", "", errors.Join(err, content.Close())
		}
	}
	return content, contentType, digest, nil
}

// sendWhole answers like a service without ranges.
func sendWhole(w *response, content io.ReadSeeker) error {
	size, err := content.Seek(0, io.SeekEnd)
	if err != nil {
		return err
	}
	if _, err := content.Seek(0, io.SeekStart); err != nil {
		return err
	}
	w.Header().Set("Content-Length", strconv.FormatInt(size, 10))
	_, _ = io.Copy(w, content) // a client that went away is no failure
	return nil
}

// maxBox is the longest side of a preview, in pixels.
const maxBox = 10_000

// pagePreview answers GET /page/{id}/preview: a JPEG that fits into the box. For a document that is
// no picture it shows a page of the PDF.
func (h contentHandlers) pagePreview(w *response, r *request) error {
	d, page, err := pageOf(r)
	if err != nil {
		return err
	}
	p := query(r)
	width, height := p.Number("bbox-width", maxBox, 1, maxBox), p.Number("bbox-height", maxBox, 1, maxBox)
	if err := p.Err(); err != nil {
		return err
	}
	picture, err := h.preview(r.Context(), r.who.party(), d, page, width, height)
	if err != nil {
		return h.unmade(lostOf(r.Context(), r.catalog, d, err))
	}
	if picture == nil {
		return refusal.Blame("id", refusal.New(archive.KindNotFound, "page %d of document %d cannot be drawn", page+1, d.ID))
	}
	w.foreign("image/jpeg", picture)
	return nil
}

// pageOf returns the document of the page in the path, and its number from 0 on.
func pageOf(r *request) (store.Document, int, error) {
	id, err := pathID(r)
	if err != nil {
		return store.Document{}, 0, err
	}
	none := refusal.Blame("id", refusal.New(archive.KindNotFound, "there is no page %d", id))
	page := int(id%pagesPerDocument) - 1
	if page < 0 {
		return store.Document{}, 0, none
	}
	d, err := r.catalog.Document(r.Context(), id/pagesPerDocument)
	if catalog.Absent(err) {
		return store.Document{}, 0, refusal.Blame("id", refusal.Nothing(err, "there is no page %d", id))
	}
	if err != nil {
		return store.Document{}, 0, refusal.Blame("id", err)
	}
	if page >= d.Pages {
		return store.Document{}, 0, none
	}
	return d, page, nil
}

// documentText answers GET /document/{id}/ocr-result: the text of a document, its pages separated by form feeds. PDFs
// with text, texts, e-mails and office documents have one; there is no OCR of pictures.
func (h contentHandlers) documentText(w *response, r *request, id archive.ID) error {
	d, err := r.catalog.Document(r.Context(), id)
	if err != nil {
		return refusal.Blame("id", err)
	}
	pages, err := h.textPages(r.Context(), r, d)
	if err != nil {
		return err
	}
	return h.sendText(r.Context(), w, bytes.Join(pages, []byte(pageEnd)))
}

// pageText answers GET /page/{id}/ocr-result: the text of one page.
func (h contentHandlers) pageText(w *response, r *request) error {
	d, page, err := pageOf(r)
	if err != nil {
		return err
	}
	pages, err := h.textPages(r.Context(), r, d)
	if err != nil {
		return err
	}
	return h.sendText(r.Context(), w, pages[page])
}

// atHand is the largest text that is sent from memory, in bytes.
const atHand = 1 << 20

// sendText sends a text. A large one is sent from a file, so that slow clients do not fill the
// memory, or from memory if no file can be written.
func (h contentHandlers) sendText(ctx context.Context, w *response, text []byte) error {
	if len(text) <= atHand {
		w.foreign(plainText, text)
		return nil
	}
	staged, err := h.vault.Stage(ctx, bytes.NewReader(text))
	if err != nil {
		w.foreign(plainText, text)
		return nil // the client has the whole text
	}
	defer func() { h.vault.leftover(staged.Discard()) }()
	w.Header().Set("Content-Type", plainText)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	return sendWhole(w, io.NewSectionReader(staged, 0, staged.Size()))
}

const (
	plainText = "text/plain; charset=utf-8"
	pageEnd   = "\f" // separates the pages of a text
)

// maxRanges is how many ranges of one request are answered; a viewer asks for a few.
const maxRanges = 16

// oneRange matches a Range field with one range.
var oneRange = regexp.MustCompile(`^bytes=([0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})$`)

// wanted is the part of a content that a request will probably read. A client that sends
// If-None-Match usually gets 304, and reads nothing.
func wanted(r *request) blob.Part {
	switch ranges := r.Header.Get("Range"); {
	case r.Method == http.MethodHead, r.Header.Get("If-None-Match") != "":
		return blob.Nothing
	case ranges == "":
		return blob.Whole
	case oneRange.MatchString(ranges):
		return blob.Part(ranges)
	}
	return blob.Nothing // several ranges are requested one by one
}

// ranged passes on the answers of net/http to a Range, and replaces the text of an error by a problem.
type ranged struct {
	*response
	refused bool
}

func (w *ranged) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.response.WriteHeader(status)
		return
	}
	w.refused = true
	w.Header().Del("Content-Length")
	w.unsatisfiable("the content has no such bytes")
}

// unsatisfiable answers 416.
func (w *response) unsatisfiable(why string) {
	const status = http.StatusRequestedRangeNotSatisfiable
	w.problem(status, describe(problemType("range"), status, refusal.New(archive.KindInvalid, "Range: %s", why)))
}

func (w *ranged) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.response.Write(p)
}

// measure returns an error unless a content has the size that it had when it was received.
func measure(content io.Seeker, d store.Document) error {
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("measure content %s: %w", d.Digest, err)
	}
	if size != d.Size {
		return &lostContent{document: d.ID, digest: d.Digest, err: fmt.Errorf("content %s has %d bytes instead of %d", d.Digest, size, d.Size)}
	}
	return nil
}

// sending is a content that is being sent. It keeps the error of reading it, which the copying code
// cannot tell from an error of the client.
type sending struct {
	io.ReadSeeker
	failed atomic.Pointer[error] // several ranges are read by a goroutine
}

func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed.Store(&err)
	}
	return n, err
}

// err is the error of reading.
func (s *sending) err() error {
	if failed := s.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}
