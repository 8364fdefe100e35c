package server

import (
	"context"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// pagesPerDocument spaces the ids of pages: page n of a document has the id
// document * pagesPerDocument + n.
const pagesPerDocument = 1 << 16

// dataHandlers say what is known of documents.
type dataHandlers struct{ location *time.Location }

// documentData answers GET /document/{id}/data (specification, endpoint 8).
func (h dataHandlers) documentData(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	d, err := r.catalog.Document(r.Context(), id)
	if err != nil {
		return blame("id", err)
	}
	data, err := h.extended(r.Context(), r.catalog, d, nowhere)
	if err != nil {
		return err
	}
	if data.History, err = h.history(r.Context(), r.catalog, id); err != nil {
		return err
	}
	return w.json(data)
}

// maxHistory is how many changes of a document are told.
const maxHistory = 100

// history is what was changed about a document, the last first.
func (h dataHandlers) history(ctx context.Context, c documents, id archive.ID) ([]wireChange, error) {
	entries, err := c.History(ctx, id, maxHistory)
	if err != nil {
		return nil, err
	}
	changes := make([]wireChange, 0, len(entries))
	for _, e := range entries {
		changes = append(changes, wireChange{
			Date: e.At.In(h.location).Format(dataTime), UserName: e.User, Action: string(e.Action),
			Key: e.Key, OldValue: e.Was, NewValue: e.Became,
		})
	}
	return changes, nil
}

// extended is all that is said about a document. Hit are the pages that a search has found.
func (h dataHandlers) extended(ctx context.Context, c catalog, d store.Document, hit hitting) (wireData, error) {
	data, err := h.described(ctx, c, d)
	if err != nil {
		return wireData{}, err
	}
	notes, stamps, err := c.Annotations(ctx, d.ID)
	if err != nil {
		return wireData{}, err
	}
	data.Pages = pages(d, notes, stamps)
	for i, is := range hit(d, notes, stamps) {
		data.Pages[i].Hit = is
	}
	return data, nil
}

// described is what is said about a document as a whole.
func (h dataHandlers) described(ctx context.Context, c folders, d store.Document) (wireData, error) {
	lineage, err := c.Lineage(ctx, d.Folder)
	if err != nil {
		return wireData{}, err
	}
	data := wireData{
		ID: d.ID, Name: d.Name, NumPages: d.Pages, FolderID: d.Folder, CreatorID: d.CreatorID, CreatorName: d.Creator,
		Created:   d.Created.In(h.location).Format(dataTime),
		Keywords:  append([]string{}, d.Keywords...),
		Types:     append([]string{}, d.Types...),
		External:  wireExternal{ID: d.ExternalID, Metadata: metadataObject(d.Metadata)},
		Workflows: []struct{}{}, Pages: []wirePage{},
	}
	data.Mandator, data.FolderPath = location(lineage)
	return data, nil
}

func metadataObject(metadata []archive.KeyValue) map[string]string {
	object := make(map[string]string, len(metadata))
	for _, pair := range metadata {
		object[pair.Key] = pair.Value
	}
	return object
}

// location returns the mandator and the path below it with slashes at both ends. In an
// inbox there is no mandator and the path begins with INBOX, as in the public search.
func location(lineage []store.Folder) (mandator, path string) {
	var b strings.Builder
	for i, f := range lineage {
		switch {
		case i == 0 && f.Inbox:
			b.WriteString("INBOX/" + f.Name + "/")
		case i == 0:
			mandator = f.Name
			b.WriteString("/")
		default:
			b.WriteString(f.Name + "/")
		}
	}
	return mandator, b.String()
}

func pages(d store.Document, notes []store.Note, stamps []store.Stamp) []wirePage {
	pages := make([]wirePage, 0, d.Pages)
	for n := range d.Pages {
		pages = append(pages, wirePage{
			ID:    int64(d.ID)*pagesPerDocument + int64(n) + 1,
			Notes: []wireNote{}, Stamps: []wireStamp{},
		})
	}
	for _, n := range notes {
		pages[0].Notes = append(pages[0].Notes, wireNote{Text: n.Text, Date: n.Date, CreatorID: n.CreatorID, CreatorName: n.Creator})
	}
	for _, n := range stamps {
		pages[0].Stamps = append(pages[0].Stamps, wireStamp{
			Title: n.Title, wireNote: wireNote{Text: n.Text, Date: n.Date, CreatorID: n.CreatorID, CreatorName: n.Creator},
		})
	}
	return pages
}

// uploadedWith answers GET /document/{id}/uploaded-with: the ids of the other documents
// that the same upload made.
func uploadedWith(w *response, r *request) error {
	id, err := pathID(r)
	if err != nil {
		return err
	}
	ids, err := r.catalog.UploadedWith(r.Context(), id)
	if err != nil {
		return blame("id", err)
	}
	return w.json(ids)
}
