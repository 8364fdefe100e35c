package server

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/inspect"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
)

// maxBox is the longest side of a preview, in pixels.
const maxBox = 10_000

// pagePreview answers GET /page/{id}/preview: a JPEG that fits into the box. What is no
// picture is shown as its PDF looks.
func (h contentHandlers) pagePreview(w *response, r *request) error {
	d, page, err := pageOf(r)
	if err != nil {
		return err
	}
	p := query(r)
	width, height := p.number("bbox-width", maxBox, 1, maxBox), p.number("bbox-height", maxBox, 1, maxBox)
	if err := p.err(); err != nil {
		return err
	}
	picture, err := h.preview(r.Context(), r.who.party(), d, page, width, height)
	if err != nil {
		return h.unmade(lostOf(r.Context(), r.catalog, d, err))
	}
	if picture == nil {
		return blame("id", refuse(archive.KindNotFound, "page %d of document %d cannot be drawn", page+1, d.ID))
	}
	w.foreign("image/jpeg", picture)
	return nil
}

// pageOf returns the document of the page that a path names, and its number, counted from 0.
func pageOf(r *request) (store.Document, int, error) {
	id, err := pathID(r)
	if err != nil {
		return store.Document{}, 0, err
	}
	none := blame("id", refuse(archive.KindNotFound, "there is no page %d", id))
	page := int(id%pagesPerDocument) - 1
	if page < 0 {
		return store.Document{}, 0, none
	}
	d, err := r.catalog.Document(r.Context(), id/pagesPerDocument)
	if absent(err) {
		return store.Document{}, 0, blame("id", nothing(err, "there is no page %d", id))
	}
	if err != nil {
		return store.Document{}, 0, blame("id", err)
	}
	if page >= d.Pages {
		return store.Document{}, 0, none
	}
	return d, page, nil
}

// preview draws a page, of the content where it is a PDF or a picture that can be read, else
// of its PDF. It is nil when it cannot be drawn.
func (m *renderer) preview(ctx context.Context, who party, d store.Document, page, width, height int) (picture []byte, err error) {
	draw := func(digest string, source render.Source) error {
		this, side := attempt{digest, page}, max(width, height)
		if m.attempts.vain(this, side) {
			return nil
		}
		return m.rendered(ctx, who, digest, source, func(source render.Source) (err error) {
			if m.attempts.vain(this, side) { // while this one waited
				return nil
			}
			picture, err = render.Preview(ctx, source, page, width, height)
			if picture == nil && err == nil {
				m.attempts.fail(this, side)
			}
			return err
		})
	}
	source := sourceOf(d)
	if render.Pictured(source) {
		if err := draw(d.Digest, source); picture != nil || err != nil || d.ContentType == inspect.PDF {
			return picture, err
		}
	}
	err = m.withPDF(ctx, who, d, func(digest string) error { return draw(digest, render.Source{ContentType: inspect.PDF}) })
	return picture, err
}

// unmade is the answer to an error of a preview or a text. That a program is missing is told:
// the operator can install it.
func (m *renderer) unmade(err error) error {
	if !errors.Is(err, poppler.ErrMissing) {
		return err
	}
	m.warn.Do(func() { m.log.WithError(err).Warn("no previews of PDFs and no text of them: install poppler-utils") })
	return blame("id", refuse(archive.KindNotFound, "there are no previews of PDFs and no text of them here: poppler-utils is not installed"))
}
