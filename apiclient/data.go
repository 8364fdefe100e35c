package apiclient

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
)

var errNoData = errors.New("the answer is no document")

// Data returns the extended document (specification, endpoint 8), at most 64 MiB of it.
func (c *Client) Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error) {
	if err := requireID(OpDocumentData, doc); err != nil {
		return archive.DocumentData{}, err
	}
	text, err := c.whole(ctx, get(OpDocumentData, documentPath(doc, "data"), nil), dataLimit)
	if err != nil {
		return archive.DocumentData{}, err
	}
	var wire list[dataWire]
	if err := decodeWhole(OpDocumentData, text, &wire); err != nil {
		return archive.DocumentData{}, err
	}
	if len(wire) != 1 || !wire[0].ID.set && !wire[0].Name.set {
		return archive.DocumentData{}, &archive.Error{Op: string(OpDocumentData), Kind: archive.KindProtocol, Err: errNoData}
	}
	data := wire[0].data(c.location)
	data.Raw = text
	if data.ID == 0 {
		data.ID = doc
	}
	return data, nil
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
