package fs

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// Archive is what the file system asks of the archive service.
type Archive interface {
	spool.Archive
	Children(ctx context.Context, parent archive.ID) (archive.Structure, error)
	Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error)
	Inboxes(ctx context.Context) (archive.Inboxes, error)
	// EachDocument gives what begin returns the documents of a list one by one; begin is
	// called anew for each repetition.
	EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error
	CreateFolder(ctx context.Context, parent archive.ID, name string) (archive.Folder, error)
	Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error
	SetAutoExport(ctx context.Context, doc archive.ID, on bool) error
	ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error)
	Search(ctx context.Context, s archive.Search, limit int) (archive.Hits, error)
	SetMetadata(ctx context.Context, doc archive.ID, values []archive.KeyValue) error
	SetKeywords(ctx context.Context, doc archive.ID, keywords []string) error
	Rename(ctx context.Context, doc archive.ID, name string) error
	Delete(ctx context.Context, doc archive.ID) error
	// LacksReplace reports whether it is known that the service has no operation that
	// replaces a document. It asks nothing.
	LacksReplace() bool
	Stats() []archive.OperationStats
}

// ContentMode says which representation of a document its file holds.
type ContentMode string

// The content modes. ContentAuto takes the original, where the service does not have that
// the PDF rendition, and where it has neither the JSON of document data.
const (
	ContentAuto     ContentMode = "auto"
	ContentOriginal ContentMode = "original"
	ContentPDF      ContentMode = "pdf"
	ContentData     ContentMode = "data"
)

// Options configure a FileSystem.
type Options struct {
	Archive Archive
	Content *cache.Content
	Facts   *cache.Facts
	// Known keeps what is listed beyond the mount; nil: nothing does.
	Known *cache.Known
	Spool *spool.Spool
	State *state.Store
	Log   logrus.FieldLogger

	// Source is what the mount shows as its device: the address of the service.
	Source string
	// Version is told in the status.
	Version string
	// Cure is told in the status while the service refuses the credentials.
	Cure string
	// TTL is how long a listing is trusted.
	TTL time.Duration
	// RetryFor bounds the checks after a change with a doubtful outcome.
	RetryFor time.Duration
	Mode     ContentMode
	// List is passed to every document list.
	List archive.ListOptions
	// Async lets close return as soon as the file is safe in the spool; the archive gets it
	// in the background.
	Async bool
	// Thumbnails lets file managers have documents downloaded to make thumbnails of them.
	Thumbnails bool
	// AllowDelete lets an inbox document be removed.
	AllowDelete bool
	ReadOnly    bool
	UID, GID    uint32
	Umask       uint32
	// AllowOther lets other users in; the kernel then checks permissions.
	AllowOther bool
	// ReadAhead is how many documents are fetched at a time before somebody opens them; 0:
	// none is.
	ReadAhead int
	// Listings bounds how many folders' listings are kept in memory.
	Listings int
	// VolumeName is what Finder on macOS shows; other systems show the mount point.
	VolumeName string
	// MountSource is what the table of mounts shows as what is mounted; empty for Source.
	MountSource string
	// MountOptions are passed to the mount helper as they are.
	MountOptions []string
	// PID is the process that the status names, and StateDir the directory in which the spool
	// lies.
	PID      int
	StateDir string
	// Now is the clock.
	Now func() time.Time
}
