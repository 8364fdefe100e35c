package server

import (
	"context"
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// furnisher adds to the archive of the default tenant without a request.
type furnisher struct {
	catalog wholeArchive
	intake  *intake
}

// wholeArchive is the archive of a tenant, with what no request asks for.
type wholeArchive interface {
	catalog.Catalog
	Empty(ctx context.Context) (bool, error)
}

// AddMandator adds a mandator. The error is KindConflict for a name that exists, KindInvalid for
// one that a folder cannot have; AddInbox and AddFolder have the same errors.
func (f *furnisher) AddMandator(ctx context.Context, name string) (archive.ID, error) {
	return f.addFolder(ctx, store.Folder{Name: name})
}

// AddInbox adds a user's inbox.
func (f *furnisher) AddInbox(ctx context.Context, userID int64, name string) (archive.ID, error) {
	return f.addFolder(ctx, store.Folder{Name: name, Inbox: true, UserID: userID})
}

// AddFolder adds a folder to a folder or an inbox, whether the structure is free or not.
func (f *furnisher) AddFolder(ctx context.Context, parent archive.ID, name string) (archive.ID, error) {
	if parent == 0 {
		return 0, refusal.Invalid("parent-folder-id", "a folder needs a parent")
	}
	return f.addFolder(ctx, store.Folder{Parent: parent, Name: name})
}

func (f *furnisher) addFolder(ctx context.Context, folder store.Folder) (archive.ID, error) {
	if wrong := limits.FolderName(folder.Name); wrong != "" {
		return 0, refusal.Invalid("name", "%s", wrong)
	}
	return f.catalog.AddFolder(ctx, folder)
}

// NewDocument describes a document to add to the archive or to an inbox.
type NewDocument struct {
	Folder     archive.ID
	Name       string
	Created    time.Time
	Archived   time.Time // zero in an inbox, and only there
	Keywords   []string
	Types      []string
	Metadata   []archive.KeyValue
	ExternalID string
	AutoExport bool
	Notes      []archive.Note  // on page 1
	Stamps     []archive.Stamp // on page 1
}

// AddDocument adds a document with the dates and annotations of another archive. It reads the whole
// content, from which it takes page count and content type.
func (f *furnisher) AddDocument(ctx context.Context, d NewDocument, content io.Reader) (archive.ID, error) {
	if wrong := limits.DocumentName(d.Name); wrong != "" {
		return 0, refusal.Invalid("name", "%s", wrong)
	}
	received, err := f.intake.receive(ctx, turns.Nobody, content, d.Name, "")
	if err != nil {
		return 0, err
	}
	defer f.intake.discard(received)
	document := received.describe(store.Document{
		Folder: d.Folder, Name: d.Name, Created: d.Created, Archived: d.Archived,
		Keywords: d.Keywords, Types: d.Types, Metadata: d.Metadata,
		ExternalID: d.ExternalID, AutoExport: d.AutoExport, Notes: d.Notes, Stamps: d.Stamps,
	})
	ids, err := f.intake.keep(ctx, f.catalog, []receipt{received}, []store.Document{document}, false)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Empty reports whether the archive has no mandator and no inbox yet.
func (f *furnisher) Empty(ctx context.Context) (bool, error) {
	return f.catalog.Empty(ctx)
}
