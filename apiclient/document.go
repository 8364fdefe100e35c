package apiclient

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// The operations on a document.
var (
	OpDocumentData  = Operation{"document/data", "read the data of the document", bulky}
	OpArchive       = Operation{"document/archive", "archive the document", 0}
	OpAutoExportSet = Operation{"document/auto_export_status/set", "set the auto-export status", 0}
	OpRename        = Operation{"document/rename", "rename the document", optional}
	OpDelete        = Operation{"document/delete", "delete the document", optional}
	OpMetadata      = Operation{"document/metadata", "read the metadata", optional}
	OpMetadataSet   = Operation{"document/metadata/set", "change the metadata", optional}
	OpKeywordsSet   = Operation{"document/keywords/set", "change the keywords", optional}
	OpUploadedWith  = Operation{"document/uploaded-with", "ask what else came of the upload", rare}
)

var errNoData = errors.New("the answer is no document")

// Data returns the extended document (specification, endpoint 8), of at most 64 MiB.
func (c *Client) Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error) {
	wire, text, err := c.service.data(ctx, doc)
	if err != nil {
		return archive.DocumentData{}, err
	}
	data := wire.data(c.location)
	data.ID, data.Raw = cmp.Or(data.ID, doc), text
	return data, nil
}

// data returns the extended document, decoded and as JSON.
func (s *service) data(ctx context.Context, doc archive.ID) (*dataWire, []byte, error) {
	var wire list[dataWire]
	text, err := s.decode(ctx, get(OpDocumentData, documentPath(doc, "data"), nil).about(doc), dataLimit, &wire)
	if err != nil {
		return nil, nil, err
	}
	if len(wire) != 1 || !wire[0].ID.set && !wire[0].Name.set {
		return nil, nil, &archive.Error{Op: OpDocumentData.doing, Kind: archive.KindProtocol, Err: errNoData}
	}
	return &wire[0], text, nil
}

type dataWire struct {
	ID             scalar             `json:"id"`
	Name           scalar             `json:"name"`
	NumPages       scalar             `json:"numPages"`
	Mandator       scalar             `json:"mandator"`
	FolderID       scalar             `json:"folderId"`
	FolderPath     scalar             `json:"folderPath"`
	CreationDate   scalar             `json:"creationDate"`
	CreatorID      scalar             `json:"creatorId"`
	CreatorName    scalar             `json:"creatorName"`
	Keywords       words              `json:"keywords"`
	Classification words              `json:"classification"`
	External       list[externalWire] `json:"external"`
	Workflows      list[workflowWire] `json:"workflows"`
	Pages          list[pageWire]     `json:"pages"`
	Text           scalar             `json:"textState"`
}

type externalWire struct {
	ExternalID scalar `json:"externalId"`
	Metadata   pairs  `json:"metadata"`
}

type workflowWire struct {
	Name         scalar `json:"name"`
	CurrentState scalar `json:"currentState"`
	StartDate    scalar `json:"startDate"`
	FinishDate   scalar `json:"finishDate"`
}

type pageWire struct {
	ID     scalar               `json:"id"`
	Notes  list[annotationWire] `json:"notes"`
	Stamps list[annotationWire] `json:"stamps"`
}

// annotationWire is a note or a stamp; a note has no title.
type annotationWire struct {
	Title       scalar `json:"title"`
	Text        scalar `json:"text"`
	Date        scalar `json:"date"`
	CreatorName scalar `json:"creatorName"`
}

// data returns the document without Raw.
func (w *dataWire) data(loc *time.Location) archive.DocumentData {
	d := archive.DocumentData{
		ID:         w.ID.id(),
		Name:       w.Name.text,
		NumPages:   w.NumPages.count(),
		Mandator:   w.Mandator.text,
		Folder:     w.FolderID.id(),
		FolderPath: w.FolderPath.text,
		Created:    parseDate(w.CreationDate.text, loc),
		Creator:    w.CreatorName.text,
		Keywords:   w.Keywords,
		Types:      w.Classification,
		Text:       w.Text.text,
	}
	d.CreatorID, _ = w.CreatorID.int64()
	if len(w.External) > 0 {
		d.ExternalID = w.External[0].ExternalID.text
		d.Metadata = w.External[0].Metadata
		slices.SortStableFunc(d.Metadata, func(a, b archive.KeyValue) int { return cmp.Compare(a.Key, b.Key) })
	}
	for _, flow := range w.Workflows {
		d.Workflows = append(d.Workflows, archive.Workflow{
			Name: flow.Name.text, State: flow.CurrentState.text, Started: flow.StartDate.text, Finished: flow.FinishDate.text,
		})
	}
	for i := range w.Pages {
		d.Pages = append(d.Pages, w.Pages[i].page())
	}
	d.NumPages = cmp.Or(d.NumPages, len(d.Pages))
	return d
}

func (w *pageWire) page() archive.Page {
	p := archive.Page{ID: w.ID.id()}
	for _, n := range w.Notes {
		p.Notes = append(p.Notes, archive.Note{Text: n.Text.text, Date: n.Date.text, Creator: n.CreatorName.text})
	}
	for _, s := range w.Stamps {
		p.Stamps = append(p.Stamps, archive.Stamp{
			Title: s.Title.text, Text: s.Text.text, Date: s.Date.text, Creator: s.CreatorName.text,
		})
	}
	return p
}

// Archive archives an inbox document in the target folder (specification, endpoint 6).
// The archived document may have another ID.
func (c *Client) Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error {
	form := url.Values{"target-folder-id": {target.Folder.String()}}
	if target.Name != "" {
		form.Set("target-document-name", target.Name)
	}
	if keywords := EscapeList(target.Keywords); keywords != "" {
		form.Set("keywords", keywords)
	}
	r := post(OpArchive, documentPath(doc, "archive"), form).about(doc).requireID(target.Folder)
	return c.service.acknowledge(ctx, r.requireText(target.Name).requireText(target.Keywords...))
}

// SetAutoExport sets the auto-export status of a document (specification, endpoint 7).
func (c *Client) SetAutoExport(ctx context.Context, doc archive.ID, on bool) error {
	r := post(OpAutoExportSet, "/document/auto_export_status/set", url.Values{
		"document-id":       {doc.String()},
		"autoexport-status": {strconv.FormatBool(on)},
	}).about(doc)
	r.repeat = harmless
	return c.service.acknowledge(ctx, r)
}

// Rename renames a document.
func (c *Client) Rename(ctx context.Context, doc archive.ID, name string) error {
	r := post(OpRename, documentPath(doc, "rename"), url.Values{"new-name": {name}}).about(doc).requireText(name)
	return c.service.acknowledge(ctx, r)
}

// Delete deletes an inbox document.
func (c *Client) Delete(ctx context.Context, doc archive.ID) error {
	return c.service.acknowledge(ctx, post(OpDelete, documentPath(doc, "delete"), nil).about(doc))
}

// Metadata returns a document's external metadata, in the service's order.
func (c *Client) Metadata(ctx context.Context, doc archive.ID) ([]archive.KeyValue, error) {
	var entries pairs
	_, err := c.service.decode(ctx, get(OpMetadata, documentPath(doc, "metadata"), nil).about(doc), smallLimit, &entries)
	return entries, err
}

// SetMetadata sets entries of a document's external metadata. Other entries keep their values.
func (c *Client) SetMetadata(ctx context.Context, doc archive.ID, entries []archive.KeyValue) error {
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	r := postJSON(OpMetadataSet, documentPath(doc, "metadata"), values).about(doc)
	for _, e := range entries {
		r.requireText(e.Key, e.Value)
	}
	return c.service.acknowledge(ctx, r)
}

// SetKeywords replaces the keywords of a document.
func (c *Client) SetKeywords(ctx context.Context, doc archive.ID, keywords []string) error {
	if keywords == nil {
		keywords = []string{} // its JSON is an array, that of nil is null
	}
	r := postJSON(OpKeywordsSet, documentPath(doc, "keywords"), keywords).about(doc).requireText(keywords...)
	return c.service.acknowledge(ctx, r)
}

// UploadedWith returns the other documents that the upload of a document made: of an e-mail, its attachments.
// A service answers archive.KindNotFound also while it processes the upload.
func (c *Client) UploadedWith(ctx context.Context, doc archive.ID) ([]archive.ID, error) {
	var numbers list[scalar]
	_, err := c.service.decode(ctx, get(OpUploadedWith, documentPath(doc, "uploaded-with"), nil).about(doc), smallLimit, &numbers)
	var ids []archive.ID
	for _, n := range numbers {
		ids = append(ids, n.id())
	}
	return ids, err
}
