package apiclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// OpSearch searches the archive.
var OpSearch = Operation{"search", "search the archive", optional}

// pageSize is how many hits are requested at a time, the most that the specification allows.
const pageSize = 100

// withoutPages requests hits without their pages (RFC 7240): a service may have to read contents to find the pages.
const withoutPages = "return=minimal"

var errNoHits = errors.New("the answer is no result of a search")

// Search returns the documents that match s, at most limit of them, from as many pages as
// it takes. Hits that the service lists twice, because documents come and go between two
// pages, count once. The error is archive.KindUnsupported if the service has no search.
func (c *Client) Search(ctx context.Context, s archive.Search, limit int) (archive.Hits, error) {
	var hits archive.Hits
	seen := map[archive.ID]bool{}
	r := &request{
		op: OpSearch, method: http.MethodPost, path: "/search", query: searchQuery(s), repeat: harmless,
		header: http.Header{"Prefer": {withoutPages}},
	}
	r.requireText(s.Text...).requireText(s.Name...).requireText(s.Keywords...).requireText(s.Type)
	for page := 0; ; page++ {
		r.query.Set("pagination-page", strconv.Itoa(page))
		answer, err := c.searchPage(ctx, r)
		if err != nil {
			return archive.Hits{}, err
		}
		before := len(hits.List)
		for _, hit := range answer.hits {
			if !seen[hit.Document] {
				seen[hit.Document] = true
				hits.List = append(hits.List, hit)
			}
		}
		hits.Total = max(answer.total, len(hits.List))
		switch {
		case len(hits.List) >= limit:
			hits.List = hits.List[:limit]
			return hits, nil
		case len(hits.List) == before, // the end, or a service without pages
			answer.counted && len(hits.List) >= answer.total, !answer.counted && len(answer.hits) < pageSize:
			return hits, nil
		}
	}
}

// searchQuery returns the parameters of a search but for the page.
func searchQuery(s archive.Search) url.Values {
	query := url.Values{"pagination-size": {strconv.Itoa(pageSize)}}
	set := func(name, value string) {
		if value != "" {
			query.Set(name, value)
		}
	}
	day := func(name string, t time.Time) {
		if !t.IsZero() {
			query.Set(name, t.Format(time.DateOnly))
		}
	}
	set("fulltext-all", strings.Join(s.Text, " "))
	set("document-name-terms", strings.Join(s.Name, " "))
	set("keyword-terms", EscapeList(s.Keywords))
	set("note-terms", strings.Join(s.Notes, " "))
	set("stamps-inclusive", EscapeList(s.Stamps))
	set("document-type", s.Type)
	day("from-date", s.From)
	day("to-date", s.To)
	if s.Folder != 0 {
		query.Set("location-folder-id", s.Folder.String())
	}
	return query
}

func (c *Client) searchPage(ctx context.Context, r *request) (answer hitReader, err error) {
	err = c.service.stream(ctx, r, func(r *jsonReader) error {
		answer = hitReader{location: c.location}
		return answer.read(r)
	})
	if err == nil {
		warnSkipped(c.log, OpSearch, "documents", answer.skipped)
	}
	return answer, err
}

type hitReader struct {
	location *time.Location
	hits     []archive.Hit
	total    int
	counted  bool // the answer had the total
	skipped  int  // hits without an id
}

// hitWire is an extended document, as far as a hit needs it.
type hitWire struct{ id, name, numPages, mandator, folderID, creationDate scalar }

func (w *hitWire) member(r *jsonReader, name []byte) error {
	switch string(name) {
	case "id":
		return r.scalar(&w.id)
	case "name":
		return r.scalar(&w.name)
	case "numpages":
		return r.scalar(&w.numPages)
	case "mandator":
		return r.scalar(&w.mandator)
	case "folderid":
		return r.scalar(&w.folderID)
	case "creationdate":
		return r.scalar(&w.creationDate)
	}
	return r.skip()
}

// read reads an object with documents, or null. Any other answer, or one without a single usable
// document, is an error, because it must not look as if nothing was found.
func (h *hitReader) read(r *jsonReader) error {
	switch r.kind() {
	case '{':
	case 'n':
		return r.skip()
	default:
		if err := r.skip(); err != nil {
			return err
		}
		return errNoHits
	}
	known := false
	err := r.members(func(name []byte) error {
		switch string(name) {
		case "totalhitdocuments":
			known = true
			return h.count(r)
		case "documents":
			known = true
			return r.oneOrMore(func() error { return h.document(r) })
		}
		return r.skip()
	})
	switch {
	case err != nil:
		return err
	case !known:
		return errNoHits
	case len(h.hits) == 0 && h.skipped > 0:
		return errNoDocuments
	}
	return nil
}

func (h *hitReader) count(r *jsonReader) error {
	var total scalar
	err := r.scalar(&total)
	n, ok := total.int64()
	h.total, h.counted = total.count(), ok && n >= 0
	return err
}

// document reads one document, or null, which some services send.
func (h *hitReader) document(r *jsonReader) error {
	switch r.kind() {
	case '{':
	case 'n':
		return r.skip()
	default:
		h.skipped++
		return r.skip()
	}
	var w hitWire
	if err := r.members(func(name []byte) error { return w.member(r, name) }); err != nil {
		return err
	}
	if w.id.id() == 0 {
		h.skipped++
		return nil
	}
	h.hits = append(h.hits, archive.Hit{
		Document: w.id.id(), Name: w.name.text, Pages: w.numPages.count(), Created: parseDate(w.creationDate.text, h.location),
		Folder: w.folderID.id(), Mandator: w.mandator.text,
	})
	return nil
}
