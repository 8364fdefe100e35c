package server

import (
	"errors"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/inspect"
)

// originalType is the media type of a content as it was uploaded, whatever it holds: what it
// holds is in document lists, and no browser shows what somebody else uploaded as a page.
const originalType = "application/octet-stream"

// contentHandlers send what documents hold, and what is made of it.
type contentHandlers struct {
	*renderer
	noRange bool
}

// documentPDF answers GET /document/{id}/pdf: the PDF of a document, or with original
// its content as it was uploaded. Ranges and conditions are honoured (RFC 9110, 13 and
// 14); the entity tag is the SHA-256 of what is sent.
func (h contentHandlers) documentPDF(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	p := query(r)
	original := p.flag("original")
	p.annotations()
	if err := p.err(); err != nil {
		return err
	}
	bytesOnly(r)
	if !h.noRange && tooManyRanges(r) {
		w.unsatisfiable("more ranges than anybody needs")
		return nil
	}
	part := blob.Whole
	if !h.noRange {
		part = wanted(r)
	}
	content, contentType, digest, err := h.content(r, id, original, part)
	if errors.Is(err, errReplaced) { // its new content
		content, contentType, digest, err = h.content(r, id, original, part)
	}
	if err != nil {
		return blame("id", err)
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

// annotations checks the list of annotations to be drawn. The renditions of this service
// show documents without any, so that their bytes never change.
func (p *params) annotations() {
	for _, kind := range p.list("annotations") {
		if !slices.Contains([]string{"stamp", "text", "symbol", "note"}, kind) {
			p.refuse("annotations", "none of stamp, text, symbol, note")
		}
	}
}

// content opens what is sent for a document, of which a part is read.
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

// sendWhole answers as a service without ranges does.
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
