package generated

import (
	"context"
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// fixed is the part of an archive that would change it: it does nothing, and says so.
type fixed struct{}

// errFixed refuses what would change the archive.
func errFixed() error {
	return refuse(archive.KindForbidden, "this archive is generated and cannot be changed")
}

// Search is refused: nothing here can be looked up.
func (fixed) Search(context.Context, store.Search) ([]archive.ID, error) {
	return nil, refuse(archive.KindUnsupported, "this archive is generated and cannot be searched")
}

// AddFolder is refused.
func (fixed) AddFolder(context.Context, store.Folder) (archive.ID, error) {
	return 0, errFixed()
}

// AddDocuments is refused.
func (fixed) AddDocuments(context.Context, []store.Document, bool) ([]archive.ID, error) {
	return nil, errFixed()
}

// AddBatch is refused.
func (fixed) AddBatch(context.Context, []store.Folder, []store.Document) ([]archive.ID, error) {
	return nil, errFixed()
}

// ArchiveDocument is refused.
func (fixed) ArchiveDocument(context.Context, archive.ID, store.Target) (archive.ID, error) {
	return 0, errFixed()
}

// SetAutoExport is refused.
func (fixed) SetAutoExport(context.Context, archive.ID, bool) error { return errFixed() }

// SetName is refused.
func (fixed) SetName(context.Context, archive.ID, string) error { return errFixed() }

// SetKeywords is refused.
func (fixed) SetKeywords(context.Context, archive.ID, []string) error { return errFixed() }

// SetMetadata is refused.
func (fixed) SetMetadata(context.Context, archive.ID, map[string]*string) error {
	return errFixed()
}

// ReplaceContent is refused.
func (fixed) ReplaceContent(context.Context, archive.ID, store.Content) (string, error) {
	return "", errFixed()
}

// DeleteDocument is refused.
func (fixed) DeleteDocument(context.Context, archive.ID) (string, error) {
	return "", errFixed()
}

// SetSetting is refused.
func (fixed) SetSetting(context.Context, string, string) error { return errFixed() }

// FirstSetting is refused.
func (fixed) FirstSetting(context.Context, string, string) (string, error) {
	return "", errFixed()
}

// Keep is refused.
func (fixed) Keep(context.Context, store.Keeping) error { return errFixed() }

// Rendition returns none: all documents are PDFs.
func (fixed) Rendition(context.Context, string, string) (string, error) { return "", nil }

// AddRendition is refused.
func (fixed) AddRendition(context.Context, string, string, string) error { return errFixed() }

// Stage is refused, before anything was read.
func (fixed) Stage(context.Context, io.Reader) (blob.Staged, error) { return nil, errFixed() }

// Publish is refused.
func (fixed) Publish(context.Context, ...blob.Staged) error { return errFixed() }

// Drop drops none.
func (fixed) Drop(context.Context, string, func(context.Context, string) error) error {
	return nil
}

// Remove removes nothing.
func (fixed) Remove(context.Context, string) error { return nil }

// Has reports that all contents are kept.
func (fixed) Has(context.Context, ...string) (bool, error) { return true, nil }

// Walk shows none: there is nothing to be removed.
func (fixed) Walk(context.Context, time.Time, func(string) error) error { return nil }
