package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/params"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

// inboxLocation begins the location of an inbox: INBOX/Administrator.
const inboxLocation = "INBOX"

// searchHandlers look for documents.
type searchHandlers struct {
	dataHandlers
	*renderer // of the texts that are searched for matching pages
	last      lastSearch
}

func (h *searchHandlers) routes() []route {
	return []route{{http.MethodPost, "/search", h.search, further | inquiry | looks}}
}

// search answers POST /search, the youngest documents first. It searches metadata and contents.
// There is no trash to include.
func (h *searchHandlers) search(w *response, r *request) error {
	p := query(r)
	q := store.Search{
		All: p.Phrases("fulltext-all"), One: p.Phrases("fulltext-one"), None: p.Phrases("fulltext-none"),
		Name: p.Phrases("document-name-terms"), FolderName: p.Phrases("folder-name-terms"), Notes: p.Phrases("note-terms"),
		Keywords: p.List("keyword-terms"), Stamps: p.List("stamps-inclusive"), NoStamps: p.List("stamps-exclusive"),
		Type: p.Text("document-type"), ExternalID: p.Text("external-id"), Metadata: p.Pairs("external-metadata"),
		From: p.From("from-date", h.location), Before: p.After("to-date", h.location),
		Archiver: int64(p.ID("archiver-id")), Folder: p.ID("location-folder-id"), Recursive: !p.Has("recursive") || p.Flag("recursive"),
	}
	place := p.Text("location")
	if place != "" && q.Folder != 0 {
		p.Refuse("location", "given together with location-folder-id")
	}
	unheard := unheard(p)
	size := p.Number("pagination-size", 10, 1, 100)
	page := p.Number("pagination-page", 0, 0, 1<<30)
	p.Flag("include-trash")
	if n := terms(&q); n > maxTerms {
		p.Broken = refusal.New(archive.KindInvalid, "the search has %d texts; at most %d are allowed", n, maxTerms)
	}
	if err := p.Err(); err != nil {
		return err
	}
	if err := locate(r.Context(), r.catalog, &q, place); err != nil {
		return err
	}
	var ids []archive.ID
	if !unheard {
		var err error
		if ids, err = h.hits(r, q, page); err != nil {
			return err
		}
	}
	total := len(ids)
	ids = ids[min(page*size, len(ids)):]
	return h.sendHits(w, r, &q, total, ids[:min(size, len(ids))])
}

// unheard reports whether a search is for something that no document has: a workflow or a follow-up.
func unheard(p *params.Params) bool {
	name, state, terms := p.Text("workflow-name"), p.Text("workflow-state"), p.Phrases("followup-terms")
	return name != "" || state != "" || len(terms) > 0
}

// maxTerms bounds the texts of a search, excluded ones included. Each may have to be compared with the
// metadata of every document.
const maxTerms = 200

// terms counts the texts of a search.
func terms(q *store.Search) int {
	n := len(q.Metadata)
	for _, texts := range [][]string{q.All, q.One, q.None, q.Name, q.FolderName, q.Notes, q.Keywords, q.Stamps, q.NoStamps} {
		n += len(texts)
	}
	return n
}

// sendHits answers {"totalHitDocuments": 1, "documents": [...]}. Each document is sent as soon as
// it is read, because one with many pages takes megabytes. The answer begins with the first full
// buffer, so an early failure can still be answered by a problem.
func (h *searchHandlers) sendHits(w *response, r *request, q *store.Search, total int, ids []archive.ID) error {
	found := func(ctx context.Context, d store.Document) (wireData, error) { return h.described(ctx, r.catalog, d) }
	if prefersMinimal(r) {
		w.Header().Set("Preference-Applied", minimal)
	} else {
		within, cancel := context.WithTimeout(r.Context(), pagesWithin)
		defer cancel()
		hit := h.hitting(within, r, q.Texts())
		found = func(ctx context.Context, d store.Document) (wireData, error) {
			return h.extended(ctx, r.catalog, d, hit)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	out := bufio.NewWriterSize(w, streamBuffer)
	_, _ = fmt.Fprintf(out, `{"totalHitDocuments":%d,"documents":[`, total) // Flush returns the error
	encoder, before := json.NewEncoder(out), ""
	for _, id := range ids {
		d, err := r.catalog.Document(r.Context(), id)
		var data wireData
		if err == nil {
			data, err = found(r.Context(), d)
		}
		if archive.KindOf(err) == archive.KindNotFound {
			continue // removed meanwhile
		}
		if err != nil {
			return err
		}
		_, _ = out.WriteString(before)
		if err := encoder.Encode(data); err != nil {
			return fmt.Errorf("send search result: %w", err)
		}
		before = ","
	}
	_, _ = out.WriteString("]}")
	if err := out.Flush(); err != nil {
		return fmt.Errorf("send search result: %w", err)
	}
	return nil
}

// lastSearch is the result of the last search of any tenant, from which its further pages are cut.
// Another instance of the service that gets a request for a further page searches again.
type lastSearch struct {
	mu   sync.Mutex
	what string       // +checklocks:mu
	ids  []archive.ID // +checklocks:mu
	at   time.Time    // +checklocks:mu
}

// pagesFor is how long further pages are cut from the same result.
const pagesFor = time.Minute

// hits returns the result of a search; the first page searches again.
func (h *searchHandlers) hits(r *request, q store.Search, page int) ([]archive.ID, error) {
	what := fmt.Sprintf("%s %#v", r.who.view(), q)
	h.last.mu.Lock()
	known, ids := h.last.what == what && time.Since(h.last.at) < pagesFor, h.last.ids
	h.last.mu.Unlock()
	if known && page > 0 {
		return ids, nil
	}
	ids, err := r.catalog.Search(r.Context(), q)
	if err != nil {
		return nil, err
	}
	h.last.mu.Lock()
	defer h.last.mu.Unlock()
	h.last.what, h.last.ids, h.last.at = what, ids, time.Now()
	return ids, nil
}

// locate checks the folder of a search, or finds the one in the location.
func locate(ctx context.Context, c catalog.Folders, q *store.Search, place string) error {
	if q.Folder != 0 {
		_, err := c.Folder(ctx, q.Folder)
		return refusal.Blame("location-folder-id", err)
	}
	names := components(place)
	if len(names) == 0 {
		return nil
	}
	from := store.Folder{}
	if names[0] == inboxLocation && !strings.HasPrefix(place, "/") && len(names) > 1 {
		inboxes, err := c.Roots(ctx, true)
		if err != nil {
			return err
		}
		at := slices.IndexFunc(inboxes, func(f store.Folder) bool { return f.Name == names[1] })
		if at < 0 {
			return refusal.Blame("location", refusal.New(archive.KindNotFound, "there is no inbox %q", names[1]))
		}
		from, names = inboxes[at], names[2:]
	}
	folder, err := walk(ctx, c, from, names)
	q.Folder = folder.ID
	return refusal.Blame("location", err)
}

// minimal is the preference (RFC 7240) for hits without their pages, for which contents would be read.
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

// pagesWithin is how long one answer may search for the pages of its hits. Texts that were
// extracted are kept, so the next answer has more.
const pagesWithin = 3 * time.Second

// hitting finds the pages of a document that match.
type hitting func(d store.Document, notes []store.Note, stamps []store.Stamp) []bool

// nowhere matches no page.
func nowhere(store.Document, []store.Note, []store.Stamp) []bool { return nil }

// hitting searches texts until ctx ends. Notes and stamps are on the first page.
func (h *searchHandlers) hitting(ctx context.Context, r *request, texts *store.Texts) hitting {
	return func(d store.Document, notes []store.Note, stamps []store.Stamp) []bool {
		if d.Pages == 0 {
			return nil
		}
		hit := make([]bool, d.Pages)
		if this := (attempt{d.Digest, searchedText}); texts.OfContents() && ctx.Err() == nil && !h.attempts.vain(this, 0) {
			began := time.Now()
			pages, _ := h.textPages(ctx, r, d) // without a readable text, no page
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
