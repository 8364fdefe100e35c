package fs

import (
	"context"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/node"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// SearchesName is the name of the directory of saved searches at the top of a mount.
const SearchesName = control.SearchesName

// Search is a saved search.
type Search = control.Saved

// Archive is the interface of the archive service that the file system needs.
type Archive = remote.Archive

// People says whose credentials an Archive knows.
type People = rights.People

// Notifier is told what a person should know who looks at no terminal.
type Notifier = remote.Notifier

// ContentMode says which representation of a document its file holds.
type ContentMode = view.Mode

// Thumbnails says where thumbnails of documents come from.
type Thumbnails string

// The sources of thumbnails: the service's previews, a download of each document, or none. Cached documents
// have thumbnails anyway.
const (
	ThumbnailsPreview  Thumbnails = "preview"
	ThumbnailsDownload Thumbnails = "download"
	ThumbnailsNone     Thumbnails = "none"
)

// LocalNames are names of files and directories that stay on this machine.
type LocalNames = names.Rules

// NewLocalNames returns the names that programs work under, and those that match globs (path.Match).
func NewLocalNames(globs []string) (*LocalNames, error) { return names.NewRules(globs) }

// The content modes. ContentAuto takes the original, the PDF rendition, or the JSON of the
// document data: the first that the service has.
const (
	ContentAuto     = view.Auto
	ContentOriginal = view.Original
	ContentPDF      = view.PDF
	ContentData     = view.Data
)

// Herald makes the kernel send events (inotify(7)) for changes that others made: a process of its own
// makes and removes the names as if it were their program (fs/internal/node/announce.go).
type Herald = node.Herald

// Change is a change of a name that a Herald tells.
type Change = node.Change

// Options configure a FileSystem.
type Options struct {
	Archive Archive
	Content *cache.Content
	Facts   *cache.Facts
	// Known keeps listings beyond the mount; nil keeps none.
	Known *cache.Known
	// Spill bounds the memory of listings; nil does not.
	Spill *cache.Spill
	Spool *spool.Spool
	State *state.Store
	Log   logrus.FieldLogger

	// Source is the address of the service: the mount's device and the status show it.
	Source string
	// Notifier is told of failed uploads and refused credentials; nil for nobody.
	Notifier Notifier
	// Version is shown in the status.
	Version string
	// Cure is shown in the status while the service refuses the credentials.
	Cure string
	// TTL is how long a listing is trusted.
	TTL time.Duration
	// RetryFor bounds the checks after a change with a doubtful outcome.
	RetryFor time.Duration
	// Sleep waits between two requests of a change, or until ctx ends. nil just waits.
	Sleep func(ctx context.Context, d time.Duration) error
	Mode  ContentMode
	// List is passed to every document list.
	List archive.ListOptions
	// Async lets close return as soon as the file is durable in the spool; it is archived in the
	// background.
	Async bool
	// Grace is for how long a file or a folder that was made through the mount must have been left alone
	// before it is sent. A close returns as soon as the file is durable in the spool. 0 sends it at the close.
	Grace time.Duration
	// LocalNames are further names that stay on this machine, as of path.Match.
	LocalNames *LocalNames
	// WindowsNames shows names that Windows cannot open in another form.
	WindowsNames bool
	// Number makes a new document of a file that is written under the name of one in an inbox. That
	// one stays, and is shown under a numbered name. Without it the new bytes replace the old ones.
	Number bool
	// Thumbnails says what file managers show of documents; empty for ThumbnailsNone.
	Thumbnails Thumbnails
	// Crawlers permits downloads by search indexers and backup programs; CrawlerNames are further such programs.
	Crawlers     bool
	CrawlerNames []string
	// AllowDelete permits removing inbox documents.
	AllowDelete bool
	ReadOnly    bool
	UID, GID    uint32
	Umask       uint32
	// AllowOther permits access by other users; the kernel then checks permissions.
	AllowOther bool
	// People are the users whose credentials the Archive knows: each sees what the service shows to
	// them, and changes it in their name. Nil: all see the same. Listings are asked for on nobody's behalf.
	People People
	// ReadSearches returns the saved searches that the mount shows as directories; nil: none.
	ReadSearches func() ([]Search, error)
	// ReadAhead is how many document prefetches may be in flight; 0 disables them.
	ReadAhead int
	// Near is the time within which a service answers a listing if it is near; 0 for 3 ms. Beside a
	// listing that takes longer, the folders of the whole mandator are requested. A negative one says
	// that the service is near.
	Near time.Duration
	// KeepEvery is how often what is kept on this machine is listed again; 0 for 5 minutes.
	KeepEvery time.Duration
	// Watch is how often a folder is listed again that somebody looked at lately; 0 for never.
	Watch time.Duration
	// Herald tells programs that wait for events of a folder what others have changed there, and that
	// documents have thumbnails now; nil, or a Watch of 0, tells nothing. With People nothing is told, because
	// all who watch a folder would hear the names that only some may see.
	Herald Herald
	// Listings bounds how many folders' listings are kept in memory.
	Listings int
	// VolumeName is the name that Finder on macOS shows; other systems show the mount point.
	VolumeName string
	// MountSource replaces Source in the table of mounts unless empty.
	MountSource string
	// MountOptions are passed to the mount helper unchanged.
	MountOptions []string
	// PID is the process id in the status, StateDir the directory of the spool.
	PID      int
	StateDir string
	// Times has requests of the kernel timed (FileSystem.OperationTimes).
	Times bool
	// Now is the clock.
	Now func() time.Time
}
