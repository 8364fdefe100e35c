package server

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

// pagesPerDocument spaces the ids of pages: page n of a document has the id document * pagesPerDocument + n.
const pagesPerDocument = 1 << 16

// dataHandlers answer requests for metadata.
type dataHandlers struct{ location *time.Location }

func (h dataHandlers) routes() []route {
	return []route{
		{http.MethodGet, "/document/{id}/data", ofID(h.documentData), specified},
		{http.MethodGet, "/document/{id}/uploaded-with", ofID(uploadedWith), further},
		{http.MethodGet, "/document/{id}/metadata", ofID(metadataGet), further},
		{http.MethodPost, "/document/{id}/metadata", ofID(metadataSet), further},
		{http.MethodPost, "/document/{id}/keywords", ofID(keywordsSet), further},
		{http.MethodPost, "/document/{id}/rename", ofID(documentRename), further},
	}
}

// documentData answers GET /document/{id}/data (specification, endpoint 8).
func (h dataHandlers) documentData(w *response, r *request, id archive.ID) error {
	d, err := r.catalog.Document(r.Context(), id)
	if err != nil {
		return refusal.Blame("id", err)
	}
	data, err := h.extended(r.Context(), r.catalog, d, nowhere)
	if err != nil {
		return err
	}
	if data.History, err = h.history(r.Context(), r.catalog, id); err != nil {
		return err
	}
	data.Text = d.Text
	return w.json(data)
}

// maxHistory bounds the changes in the history of a document.
const maxHistory = 100

// history is the changes of a document, the last one first.
func (h dataHandlers) history(ctx context.Context, c catalog.Documents, id archive.ID) ([]wireChange, error) {
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

// extended is the extended document. hit finds the pages that match a search.
func (h dataHandlers) extended(ctx context.Context, c catalog.Catalog, d store.Document, hit hitting) (wireData, error) {
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

// described is the extended document without its pages.
func (h dataHandlers) described(ctx context.Context, c catalog.Folders, d store.Document) (wireData, error) {
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

// location returns the mandator and the path below it with slashes at both ends. In an inbox there
// is no mandator, and the path begins with INBOX, as in the public search.
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

// uploadedWith answers GET /document/{id}/uploaded-with: the ids of the other documents of the same upload.
func uploadedWith(w *response, r *request, id archive.ID) error {
	ids, err := r.catalog.UploadedWith(r.Context(), id)
	if err != nil {
		return refusal.Blame("id", err)
	}
	return w.json(ids)
}

// metadataGet answers GET /document/{id}/metadata.
func metadataGet(w *response, r *request, id archive.ID) error {
	d, err := r.catalog.Document(r.Context(), id)
	if err != nil {
		return refusal.Blame("id", err)
	}
	return w.json(metadataObject(d.Metadata))
}

// metadataSet answers POST /document/{id}/metadata: other keys stay unchanged, null removes a key.
func metadataSet(w *response, r *request, id archive.ID) error {
	var change map[string]*string // null: remove the key
	if err := jsonBody(w, r, &change, "metadata", "a JSON object of strings"); err != nil {
		return err
	}
	if err := checkChange(change); err != nil {
		return refusal.Fields{{Name: "metadata", Err: err}}
	}
	err := r.catalog.Alter(r.detached(), id, store.SetMetadata(change))
	if archive.KindOf(err) == archive.KindTooLarge {
		return refusal.Blame("metadata", err)
	}
	return w.done("id", err)
}

// checkChange refuses invalid metadata.
func checkChange(change map[string]*string) error {
	if len(change) > limits.MaxEntries {
		return refusal.New(archive.KindTooLarge, "there are more than %d", limits.MaxEntries)
	}
	for key, value := range change {
		if key == "" {
			return refusal.New(archive.KindInvalid, "a key is empty")
		}
		text := ""
		if value != nil {
			text = *value
		}
		if err := limits.CheckPair(key, text); err != nil {
			return err
		}
	}
	return nil
}

// keywordsSet answers POST /document/{id}/keywords: the array replaces the keywords.
func keywordsSet(w *response, r *request, id archive.ID) error {
	const shape = "a JSON array of strings"
	var given []*string
	if err := jsonBody(w, r, &given, "keywords", shape); err != nil {
		return err
	}
	var keywords limits.Entries
	for _, text := range given {
		if text == nil {
			return refusal.New(archive.KindInvalid, "the body must be %s", shape)
		}
		if err := keywords.Add(*text); err != nil {
			return refusal.Fields{{Name: "keywords", Err: err}}
		}
	}
	return w.done("id", r.catalog.Alter(r.detached(), id, store.SetKeywords(keywords.List)))
}

// documentRename answers POST /document/{id}/rename.
func documentRename(w *response, r *request, id archive.ID) error {
	p, err := form(w, r)
	if err != nil {
		return err
	}
	name := p.DocumentName("new-name", "")
	if err := p.Err(); err != nil {
		return err
	}
	return w.done("id", r.catalog.Alter(r.detached(), id, store.SetName(name)))
}

// dataTime is the format of dates in document data, in the time zone Options.Location.
const dataTime = "2006-01-02 15:04:05"

// wireCreated is the answer of POST /folder/create.
type wireCreated struct {
	ID   archive.ID `json:"id"`
	Name string     `json:"name"`
}

// wireKeyValue is an entry of external-metadata.
type wireKeyValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
}

// wireData is the extended document, the answer of GET /document/{id}/data.
type wireData struct {
	ID          archive.ID   `json:"id"`
	Name        string       `json:"name"`
	NumPages    int          `json:"numPages"`
	Mandator    string       `json:"mandator"`
	FolderID    archive.ID   `json:"folderId"`
	FolderPath  string       `json:"folderPath"`
	Created     string       `json:"creationDate"`
	CreatorID   int64        `json:"creatorId"`
	CreatorName string       `json:"creatorName"`
	Keywords    []string     `json:"keywords"`
	Types       []string     `json:"classification"`
	External    wireExternal `json:"external"`
	Workflows   []struct{}   `json:"workflows"`
	Pages       []wirePage   `json:"pages"`
	// Only in document data. Text is what came of reading the text, which the specification does not have.
	History []wireChange  `json:"history,omitempty"`
	Text    store.Reading `json:"textState,omitempty"`
}

// wireChange is a change in the history of a document, which the specification does not have.
type wireChange struct {
	Date     string `json:"date"`
	UserName string `json:"userName"`
	Action   string `json:"action"`
	Key      string `json:"key,omitempty"` // of metadata
	OldValue string `json:"oldValue"`
	NewValue string `json:"newValue"`
}

type wireExternal struct {
	ID       string            `json:"externalId"`
	Metadata map[string]string `json:"metadata"`
}

type wirePage struct {
	ID     int64       `json:"id"`
	Hit    bool        `json:"hit"`
	Notes  []wireNote  `json:"notes"`
	Stamps []wireStamp `json:"stamps"`
}

type wireNote struct {
	Text        string `json:"text"`
	Date        string `json:"date"`
	CreatorID   int64  `json:"creatorId"`
	CreatorName string `json:"creatorName"`
}

type wireStamp struct {
	Title string `json:"title"`
	wireNote
}
