package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// Archive is the operations of a service that can be tried without changing anything.
type Archive interface {
	Children(ctx context.Context, parent archive.ID) (archive.Structure, error)
	Inboxes(ctx context.Context) (archive.Inboxes, error)
	Documents(ctx context.Context, folder archive.ID, options archive.ListOptions) ([]archive.Document, error)
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	Metadata(ctx context.Context, doc archive.ID) ([]archive.KeyValue, error)
	Content(ctx context.Context, want archive.ContentRequest) (*archive.Content, error)
	ContentInfo(ctx context.Context, doc archive.ID, as archive.Representation) (*archive.Content, error)
}

// mostLooks bounds how many folders are listed in search of a document.
const mostLooks = 20

// onlySeen is the finding about operations that cannot be tried without changing something.
const onlySeen = "; whether it can rename, replace, delete and set keywords shows when that is tried"

// Operations checks which operations the service has. It uses one document, if there is any.
func Operations(ctx context.Context, a Archive) []Finding {
	const check = "operations"
	inboxes, err := a.Inboxes(ctx)
	if err != nil {
		return []Finding{missing(check, "inboxes", err)}
	}
	doc, found, err := someDocument(ctx, a, inboxes)
	if err != nil {
		return []Finding{missing(check, "documents", err)}
	}
	if !found {
		return []Finding{Fine(check, "folders, inboxes and documents are listed; no document was found to ask about further ones")}
	}
	if _, err = a.Data(ctx, doc); err != nil {
		return []Finding{missing(check, "the data of a document", err)}
	}
	_, noMetadata := a.Metadata(ctx, doc)
	return []Finding{
		Fine(check, "folders, inboxes, documents and their data are there"),
		contents(ctx, a, doc, noMetadata == nil),
	}
}

// missing is the finding that the service lacks an operation that every service has.
func missing(check, what string, err error) Finding {
	return Fail(check, fmt.Sprintf("the service does not answer with %s: %v", what, err), "ask who runs the service")
}

// someDocument finds a document: in an inbox, or in the folders, upper ones first.
func someDocument(ctx context.Context, a Archive, inboxes archive.Inboxes) (archive.ID, bool, error) {
	top, err := a.Children(ctx, 0)
	if err != nil {
		return 0, false, err
	}
	folders := top.Folders
	for _, in := range inboxes.Inboxes {
		folders = append(folders, in.Folder)
	}
	for looks := 0; len(folders) > 0 && looks < mostLooks; looks++ {
		folder := folders[0]
		folders = folders[1:]
		documents, err := a.Documents(ctx, folder.ID, archive.ListOptions{})
		if err != nil {
			return 0, false, err
		}
		if len(documents) > 0 {
			return documents[0].ID, true, nil
		}
		below := archive.Structure{Folders: folder.Children}
		if !folder.ChildrenKnown {
			if below, err = a.Children(ctx, folder.ID); err != nil {
				return 0, false, err
			}
		}
		folders = append(folders, below.Folders...)
	}
	return 0, false, nil
}

// contents checks which representations of a document the service has, and the other operations on
// it.
func contents(ctx context.Context, a Archive, doc archive.ID, metadata bool) Finding {
	const check = "contents"
	var has, lacks []string
	note := func(name string, there bool) {
		if there {
			has = append(has, name)
		} else {
			lacks = append(lacks, name)
		}
	}
	original, originalSize := representation(ctx, a, doc, archive.Original)
	pdf, pdfSize := representation(ctx, a, doc, archive.PDF)
	note("originals", original)
	note("PDFs", pdf)
	note("lengths without a download", originalSize || pdfSize)
	note("metadata", metadata)
	text := "the service has " + strings.Join(has, ", ")
	if len(has) == 0 {
		text = "the service has the eight operations of its specification alone"
	}
	if len(lacks) > 0 {
		text += "; it lacks " + strings.Join(lacks, ", ")
	}
	if !original && !pdf {
		return Warn(check, text+onlySeen, "files hold the data of documents, as JSON; ask who runs the service for the contents")
	}
	return Fine(check, text+onlySeen)
}

// representation reports whether the service has a representation of a document, and its length.
func representation(ctx context.Context, a Archive, doc archive.ID, as archive.Representation) (there, size bool) {
	if info, err := a.ContentInfo(ctx, doc, as); err == nil {
		return true, info.Size > 0
	}
	content, err := a.Content(ctx, archive.ContentRequest{Document: doc, Representation: as})
	if err != nil {
		return false, false
	}
	_ = content.Body.Close() // nobody reads it
	return true, false
}
