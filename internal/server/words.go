package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/poppler"
	"github.com/archivefs/archivefs/internal/server/render"
	"github.com/archivefs/archivefs/internal/server/store"
)

// documentText answers GET /document/{id}/ocr-result: the text of a document, its pages
// separated by form feeds. There is one of PDFs that hold text, texts, e-mails and office documents;
// nothing is recognised in pictures.
func (h contentHandlers) documentText(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	d, err := r.catalog.Document(r.Context(), id)
	if err != nil {
		return blame("id", err)
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

// atHand is how much of a text is held in memory while its client takes it, in bytes.
const atHand = 1 << 20

// sendText answers a text. A large one waits in a file: clients that take their time would fill the
// memory with theirs. Where nothing can be put into a file it is sent all the same.
func (h contentHandlers) sendText(ctx context.Context, w *response, text []byte) error {
	if len(text) <= atHand {
		w.foreign(plainText, text)
		return nil
	}
	staged, err := h.vault.Stage(ctx, bytes.NewReader(text))
	if err != nil {
		w.foreign(plainText, text)
		return nil //nolint:nilerr // the client has its text
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

// textPages returns the text of each page of a document.
func (m *renderer) textPages(ctx context.Context, r *request, d store.Document) ([][]byte, error) {
	text, err := m.text(ctx, r.who.party(), d)
	if err != nil {
		return nil, m.unmade(lostOf(ctx, r.catalog, d, err))
	}
	if text == nil {
		return nil, blame("id", refuse(archive.KindNotFound, "no text is known of document %d", d.ID))
	}
	pages := bytes.SplitN(text, []byte(pageEnd), max(1, d.Pages))
	last := len(pages) - 1
	pages[last] = bytes.ReplaceAll(pages[last], []byte(pageEnd), []byte("\n"))
	for len(pages) < d.Pages {
		pages = append(pages, nil)
	}
	return pages, nil
}

// text returns the text of a document, nil when none is known. What takes long to find out is
// kept beside the content.
func (m *renderer) text(ctx context.Context, who party, d store.Document) (text []byte, err error) {
	source := sourceOf(d)
	variant := render.TextVariant(source)
	if variant != "" {
		digest, err := m.known.Rendition(ctx, d.Digest, variant)
		if err != nil {
			return nil, err
		}
		if digest != "" {
			if text, err := m.keptText(ctx, digest); !m.gone(d, digest, err) {
				return text, err
			}
		}
	}
	this := attempt{d.Digest, allText}
	if m.attempts.vain(this, 0) {
		return nil, nil
	}
	err = m.rendered(ctx, who, d.Digest, source, func(source render.Source) error {
		text, err = render.Text(ctx, source)
		return err
	})
	if errors.Is(err, poppler.ErrTooSlow) {
		m.attempts.fail(this, 0)
		return nil, nil
	}
	if err != nil || variant == "" {
		return text, err
	}
	_, err = m.keepMade(context.WithoutCancel(ctx), d.Digest, variant, bytes.NewReader(text))
	if err != nil && archive.KindOf(err) != archive.KindForbidden { // an archive that is generated keeps nothing
		m.log.WithError(err).WithField("document", int64(d.ID)).Warn("the text of a document is not kept, and is found out again")
	}
	return text, nil
}

// keptText reads a text; that nothing is known is kept as an empty one.
func (m *renderer) keptText(ctx context.Context, digest string) ([]byte, error) {
	content, err := m.vault.Open(ctx, digest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = content.Close() }()
	text, err := io.ReadAll(content)
	if err != nil {
		return nil, fmt.Errorf("read text: %w", err)
	}
	if len(text) == 0 {
		return nil, nil
	}
	return text, nil
}
