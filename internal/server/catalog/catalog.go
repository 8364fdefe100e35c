// Package catalog declares what handlers may do with the archive of one tenant, and confines it to the
// mandators of a key.
package catalog

import (
	"context"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Catalog is the archive of one tenant. Archives of other tenants do not exist for it. Errors that a
// client can act on carry a kind.
type Catalog interface {
	Folders
	Documents
	Changes
}

// Folders are the archive's folders and those of the inboxes, by ascending id.
type Folders interface {
	AddFolder(ctx context.Context, f store.Folder) (archive.ID, error)
	Folder(ctx context.Context, id archive.ID) (store.Folder, error)
	Child(ctx context.Context, parent archive.ID, name string) (store.Folder, error)
	Lineage(ctx context.Context, id archive.ID) ([]store.Folder, error)
	Roots(ctx context.Context, inboxes bool) ([]store.Folder, error)
	Tree(ctx context.Context, inboxes bool) ([]store.Folder, error)
	Children(ctx context.Context, parent archive.ID) ([]store.Folder, error)
	Below(ctx context.Context, parent archive.ID) ([]store.Folder, error)
	Empty(ctx context.Context) (bool, error)
}

// Documents reads documents.
type Documents interface {
	Document(ctx context.Context, id archive.ID) (store.Document, error)
	Annotations(ctx context.Context, id archive.ID) ([]store.Note, []store.Stamp, error)
	UploadedWith(ctx context.Context, id archive.ID) ([]archive.ID, error)
	History(ctx context.Context, id archive.ID, limit int) ([]store.Entry, error)
	Contents(ctx context.Context, folder archive.ID) ([]store.NamedContent, error)
	List(ctx context.Context, q store.Query, each func(store.Listed) error) error
	Search(ctx context.Context, q store.Search) ([]archive.ID, error)
}

// Changes changes documents, each method in one transaction.
type Changes interface {
	AddDocuments(ctx context.Context, documents []store.Document, reuse bool) ([]archive.ID, error)
	AddBatch(ctx context.Context, folders []store.Folder, documents []store.Document) ([]archive.ID, error)
	ArchiveDocument(ctx context.Context, id archive.ID, target store.Target) (archive.ID, error)
	Alter(ctx context.Context, id archive.ID, how store.Alteration) error
	ReplaceContent(ctx context.Context, id archive.ID, content store.Content) (old string, err error)
	DeleteDocument(ctx context.Context, id archive.ID) (digest string, err error)
}
