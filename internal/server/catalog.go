package server

import (
	"context"
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/generated"
	"github.com/archivefs/archivefs/internal/server/store"
)

// database is what all tenants share. Contents and what is made of them are shared, too:
// they are found by digest, which no client is ever asked for.
type database interface {
	view(who identity) catalog
	uses
	renditions
	Close() error
}

// several is a database with a catalog for each tenant.
type several struct{ *store.Store }

func (s several) view(who identity) catalog { return s.Tenant(who.tenant).By(who.user) }

// single is a database of one archive, which every tenant sees.
type single struct{ *generated.Archive }

func (s single) view(identity) catalog { return s.Archive }

// catalog is the archive of one tenant, for whom those of others do not exist. Errors that a
// client can act on carry a kind.
type catalog interface {
	folders
	documents
	changes
	settings
}

// archiveOf is what somebody sees of what all tenants share.
func archiveOf(db database, who identity) catalog {
	whole := db.view(who)
	if who.mandators == nil {
		return whole
	}
	return &confined{whole: whole, mandators: who.mandators, user: who.userID}
}

// folders are the archive's folders and those of the inboxes, by ascending id.
type folders interface {
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

// documents reads documents.
type documents interface {
	Document(ctx context.Context, id archive.ID) (store.Document, error)
	Annotations(ctx context.Context, id archive.ID) ([]store.Note, []store.Stamp, error)
	UploadedWith(ctx context.Context, id archive.ID) ([]archive.ID, error)
	History(ctx context.Context, id archive.ID, limit int) ([]store.Entry, error)
	Contents(ctx context.Context, folder archive.ID) ([]store.NamedContent, error)
	List(ctx context.Context, q store.Query, each func(store.Listed) error) error
	Search(ctx context.Context, q store.Search) ([]archive.ID, error)
}

// changes changes documents, each method in one transaction.
type changes interface {
	AddDocuments(ctx context.Context, documents []store.Document, reuse bool) ([]archive.ID, error)
	AddBatch(ctx context.Context, folders []store.Folder, documents []store.Document) ([]archive.ID, error)
	ArchiveDocument(ctx context.Context, id archive.ID, target store.Target) (archive.ID, error)
	SetAutoExport(ctx context.Context, id archive.ID, on bool) error
	SetName(ctx context.Context, id archive.ID, name string) error
	SetKeywords(ctx context.Context, id archive.ID, keywords []string) error
	SetMetadata(ctx context.Context, id archive.ID, change map[string]*string) error
	ReplaceContent(ctx context.Context, id archive.ID, content store.Content) (old string, err error)
	DeleteDocument(ctx context.Context, id archive.ID) (digest string, err error)
}

// uses knows what contents are used, and keeps those apart who refer to a content and who
// remove it.
type uses interface {
	Keep(ctx context.Context, k store.Keeping) error
	Drop(ctx context.Context, digest string, remove func(ctx context.Context, digest string) error) error
}

// renditions knows the PDFs made of contents.
type renditions interface {
	Rendition(ctx context.Context, source, variant string) (string, error)
	AddRendition(ctx context.Context, source, variant, digest string) error
}

// settings are named values of the archive; one that was never set is empty.
type settings interface {
	Setting(ctx context.Context, name string) (string, error)
	SetSetting(ctx context.Context, name, value string) error
	// FirstSetting sets a value unless one is set, and returns that which is.
	FirstSetting(ctx context.Context, name, value string) (string, error)
}

// contents keeps bytes by their SHA-256. Publish may be called again for what was staged and
// not discarded: another process may have removed a content that nothing referred to yet.
type contents interface {
	Stage(ctx context.Context, r io.Reader) (blob.Staged, error)
	Publish(ctx context.Context, staged ...blob.Staged) error
	// OpenPart opens a content of which a part is read.
	OpenPart(ctx context.Context, digest string, part blob.Part) (io.ReadSeekCloser, error)
	Remove(ctx context.Context, digest string) error
	// Has reports whether all of the contents are kept.
	Has(ctx context.Context, digests ...string) (bool, error)
	// Walk calls each for every content that was published before that time. Each may remove it.
	Walk(ctx context.Context, before time.Time, each func(digest string) error) error
}
