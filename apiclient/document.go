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

var errNoData = errors.New("the answer is no document")

// Data returns the extended document (specification, endpoint 8), at most 64 MiB of it.
func (c *Client) Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error) {
	if err := requireID(OpDocumentData, doc); err != nil {
		return archive.DocumentData{}, err
	}
	wire, text, err := c.service.data(ctx, doc)
	if err != nil {
		return archive.DocumentData{}, err
	}
	data := wire.data(c.location)
	data.Raw = text
	if data.ID == 0 {
		data.ID = doc
	}
	return data, nil
}

// data returns the extended document, decoded and as it came.
func (s *service) data(ctx context.Context, doc archive.ID) (*dataWire, []byte, error) {
	text, err := s.whole(ctx, get(OpDocumentData, documentPath(doc, "data"), nil), dataLimit)
	if err != nil {
		return nil, nil, err
	}
	var wire list[dataWire]
	if err := decodeWhole(OpDocumentData, text, &wire); err != nil {
		return nil, nil, err
	}
	if len(wire) != 1 || !wire[0].ID.set && !wire[0].Name.set {
		return nil, nil, &archive.Error{Op: string(OpDocumentData), Kind: archive.KindProtocol, Err: errNoData}
	}
	return &wire[0], text, nil
}

// dataWire is an extended document.
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

// data returns the wire's document in the words of the domain, without Raw.
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
	if d.NumPages == 0 {
		d.NumPages = len(d.Pages)
	}
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
	for _, id := range []archive.ID{doc, target.Folder} {
		if err := requireID(OpArchive, id); err != nil {
			return err
		}
	}
	if err := requireText(OpArchive, append([]string{target.Name}, target.Keywords...)...); err != nil {
		return err
	}
	form := url.Values{"target-folder-id": {decimal(target.Folder)}}
	if target.Name != "" {
		form.Set("target-document-name", target.Name)
	}
	if keywords := EscapeList(target.Keywords); keywords != "" {
		form.Set("keywords", keywords)
	}
	return c.service.acknowledge(ctx, post(OpArchive, documentPath(doc, "archive"), form))
}

// SetAutoExport sets the auto-export status of a document (specification, endpoint 7).
func (c *Client) SetAutoExport(ctx context.Context, doc archive.ID, on bool) error {
	if err := requireID(OpAutoExportSet, doc); err != nil {
		return err
	}
	r := post(OpAutoExportSet, "/document/auto_export_status/set", url.Values{
		"document-id":       {decimal(doc)},
		"autoexport-status": {strconv.FormatBool(on)},
	})
	r.repeat = harmless
	return c.service.acknowledge(ctx, r)
}

// Rename gives a document another name.
func (c *Client) Rename(ctx context.Context, doc archive.ID, name string) error {
	if err := requireID(OpRename, doc); err != nil {
		return err
	}
	if err := requireText(OpRename, name); err != nil {
		return err
	}
	form := url.Values{"new-name": {name}}
	return c.service.acknowledge(ctx, post(OpRename, documentPath(doc, "rename"), form).about(doc))
}

// Delete deletes an inbox document.
func (c *Client) Delete(ctx context.Context, doc archive.ID) error {
	if err := requireID(OpDelete, doc); err != nil {
		return err
	}
	return c.service.acknowledge(ctx, post(OpDelete, documentPath(doc, "delete"), nil).about(doc))
}

// Metadata returns a document's external metadata, in the service's order.
func (c *Client) Metadata(ctx context.Context, doc archive.ID) ([]archive.KeyValue, error) {
	if err := requireID(OpMetadata, doc); err != nil {
		return nil, err
	}
	text, err := c.service.whole(ctx, get(OpMetadata, documentPath(doc, "metadata"), nil).about(doc), smallLimit)
	if err != nil {
		return nil, err
	}
	var entries pairs
	if err := decodeWhole(OpMetadata, text, &entries); err != nil {
		return nil, err
	}
	return entries, nil
}

// SetMetadata sets the given entries of a document's external metadata; the others stay
// as they are.
func (c *Client) SetMetadata(ctx context.Context, doc archive.ID, entries []archive.KeyValue) error {
	if err := requireID(OpMetadataSet, doc); err != nil {
		return err
	}
	if err := requireText(OpMetadataSet, texts(entries)...); err != nil {
		return err
	}
	values := make(map[string]string, len(entries))
	for _, e := range entries {
		values[e.Key] = e.Value
	}
	r, err := postJSON(OpMetadataSet, documentPath(doc, "metadata"), values)
	if err != nil {
		return err
	}
	return c.service.acknowledge(ctx, r.about(doc))
}

// SetKeywords makes keywords the keywords of a document, in place of those it has.
func (c *Client) SetKeywords(ctx context.Context, doc archive.ID, keywords []string) error {
	if err := requireID(OpKeywordsSet, doc); err != nil {
		return err
	}
	if err := requireText(OpKeywordsSet, keywords...); err != nil {
		return err
	}
	if keywords == nil {
		keywords = []string{} // null would be no array
	}
	r, err := postJSON(OpKeywordsSet, documentPath(doc, "keywords"), keywords)
	if err != nil {
		return err
	}
	return c.service.acknowledge(ctx, r.about(doc))
}
