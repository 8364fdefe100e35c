package generated

import (
	"context"
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// errFixed refuses what would change the archive.
func errFixed() error {
	return refuse(archive.KindForbidden, "this archive is generated and cannot be changed")
}

// Search is refused: nothing here can be looked up.
func (a *Archive) Search(context.Context, store.Search) ([]archive.ID, error) {
	return nil, refuse(archive.KindUnsupported, "this archive is generated and cannot be searched")
}

// AddFolder is refused.
func (a *Archive) AddFolder(context.Context, store.Folder) (archive.ID, error) {
	return 0, errFixed()
}

// AddDocuments is refused.
func (a *Archive) AddDocuments(context.Context, []store.Document, bool) ([]archive.ID, error) {
	return nil, errFixed()
}

// AddBatch is refused.
func (a *Archive) AddBatch(context.Context, []store.Folder, []store.Document) ([]archive.ID, error) {
	return nil, errFixed()
}

// ArchiveDocument is refused.
func (a *Archive) ArchiveDocument(context.Context, archive.ID, store.Target) (archive.ID, error) {
	return 0, errFixed()
}

// SetAutoExport is refused.
func (a *Archive) SetAutoExport(context.Context, archive.ID, bool) error { return errFixed() }

// SetName is refused.
func (a *Archive) SetName(context.Context, archive.ID, string) error { return errFixed() }

// SetKeywords is refused.
func (a *Archive) SetKeywords(context.Context, archive.ID, []string) error { return errFixed() }

// SetMetadata is refused.
func (a *Archive) SetMetadata(context.Context, archive.ID, map[string]*string) error {
	return errFixed()
}

// ReplaceContent is refused.
func (a *Archive) ReplaceContent(context.Context, archive.ID, store.Content) (string, error) {
	return "", errFixed()
}

// DeleteDocument is refused.
func (a *Archive) DeleteDocument(context.Context, archive.ID) (string, error) {
	return "", errFixed()
}

// SetSetting is refused.
func (a *Archive) SetSetting(context.Context, string, string) error { return errFixed() }

// FirstSetting is refused.
func (a *Archive) FirstSetting(context.Context, string, string) (string, error) {
	return "", errFixed()
}

// Keep is refused.
func (a *Archive) Keep(context.Context, store.Keeping) error { return errFixed() }

// Rendition returns none: all documents are PDFs.
func (a *Archive) Rendition(context.Context, string, string) (string, error) { return "", nil }

// AddRendition is refused.
func (a *Archive) AddRendition(context.Context, string, string, string) error { return errFixed() }

// Stage is refused, before anything was read.
func (a *Archive) Stage(context.Context, io.Reader) (blob.Staged, error) { return nil, errFixed() }

// Publish is refused.
func (a *Archive) Publish(context.Context, ...blob.Staged) error { return errFixed() }

// Drop drops none.
func (a *Archive) Drop(context.Context, string, func(context.Context, string) error) error {
	return nil
}

// Remove removes nothing.
func (a *Archive) Remove(context.Context, string) error { return nil }

// Has reports that all contents are kept.
func (a *Archive) Has(context.Context, ...string) (bool, error) { return true, nil }

// Walk shows none: there is nothing to be removed.
func (a *Archive) Walk(context.Context, time.Time, func(string) error) error { return nil }
