package fs

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
	"github.com/archivefs/archivefs/xattr"
)

// Archive is what the file system asks of the archive service. Each part of it is declared where
// it is used.
type Archive interface {
	spool.Archive
	xattr.Service
	folders
	changer
	prober
	Search(ctx context.Context, s archive.Search, limit int) (archive.Hits, error)
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
