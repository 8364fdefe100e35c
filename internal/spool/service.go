package spool

import (
	"context"

	"github.com/archivefs/archivefs/archive"
)

// Archive is what Deliver needs of the archive service. Errors are judged by their
// archive.Kind.
type Archive interface {
	// Upload sends a new document and returns its id, 0 when the service does not tell.
	Upload(ctx context.Context, up archive.Upload, body archive.Blob) (archive.ID, error)
	// Replace sends new content for an inbox document.
	Replace(ctx context.Context, doc archive.ID, name string, keywords []string, body archive.Blob) error
	// Documents lists a folder.
	Documents(ctx context.Context, folder archive.ID, opts archive.ListOptions) ([]archive.Document, error)
	// Data returns the data of a document, with its external id where it is shown.
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	// Content opens a document's bytes.
	Content(ctx context.Context, req archive.ContentRequest) (*archive.Content, error)
}
