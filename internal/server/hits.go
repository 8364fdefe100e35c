package server

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/server/store"
)

// minimal is the preference (RFC 7240) of who does without the pages of what is found: to find out which
// of them are hit, contents have to be read.
const minimal = "return=minimal"

func prefersMinimal(r *request) bool {
	for _, line := range r.Header.Values("Prefer") {
		for preference := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(strings.TrimSpace(preference), minimal) {
				return true
			}
		}
	}
	return false
}

// pagesWithin is how long a search looks for the pages that are hit, of all documents that it answers
// together. Texts that were found out by then are kept, so that the next time there are more.
const pagesWithin = 3 * time.Second

// hitting tells which pages of a document are hit.
type hitting func(d store.Document, notes []store.Note, stamps []store.Stamp) []bool

// nowhere is where nothing is looked for.
func nowhere(store.Document, []store.Note, []store.Stamp) []bool { return nil }

// hitting looks for texts until ctx ends. Notes and stamps lie on the first page.
func (h *searchHandlers) hitting(ctx context.Context, r *request, texts *store.Texts) hitting {
	return func(d store.Document, notes []store.Note, stamps []store.Stamp) []bool {
		if d.Pages == 0 {
			return nil
		}
		hit := make([]bool, d.Pages)
		if this := (attempt{d.Digest, searchedText}); texts.OfContents() && ctx.Err() == nil && !h.attempts.vain(this, 0) {
			began := time.Now()
			pages, _ := h.textPages(ctx, r, d) // where there is no text, or it cannot be read, nothing is hit
			for i, text := range pages {
				hit[i] = ctx.Err() == nil && texts.InContent(string(text))
			}
			if errors.Is(ctx.Err(), context.DeadlineExceeded) && time.Since(began) > pagesWithin/2 {
				h.attempts.fail(this, 0)
			}
		}
		if texts.InRemarks(notes, stamps) {
			hit[0] = true
		}
		return hit
	}
}
