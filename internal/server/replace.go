package server

import (
	"context"

	"github.com/archivefs/archivefs/internal/server/store"
)

// documentReplace answers POST /document/{id}/replace: an inbox document gets new
// content, and the keywords of the query when there are some.
func (h *uploadHandlers) documentReplace(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	p := query(r)
	keywords := p.list("keywords")
	if err := p.err(); err != nil {
		return err
	}
	u, err := h.submission(w, r)
	if err != nil {
		return err
	}
	defer h.discard(u.file)
	ctx := r.detached()
	content := store.Content{
		Digest: u.file.Digest(), Size: u.file.Size(), ContentType: u.file.ContentType, Pages: u.file.Pages,
		Keywords: keywords,
	}
	var old string
	err = h.vault.keep(ctx, u.file.staged(), func(ctx context.Context) error {
		old, err = r.catalog.ReplaceContent(ctx, id, content)
		return err
	})
	if err != nil {
		return blame("id", err)
	}
	h.vault.forget(ctx, old)
	w.empty()
	return nil
}

// documentDelete answers POST /document/{id}/delete: inbox documents only.
func (h *uploadHandlers) documentDelete(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ctx := r.detached()
	digest, err := r.catalog.DeleteDocument(ctx, id)
	if err != nil {
		return blame("id", err)
	}
	h.vault.forget(ctx, digest)
	w.empty()
	return nil
}
