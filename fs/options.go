package fs

import (
	"context"
	"slices"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/keep"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/node"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// Refusal is a change that was refused.
type Refusal = errno.Refusal

// Failure is an error in the status.
type Failure = remote.Failure

// KeptStatus describes what is kept on this machine.
type KeptStatus = keep.Status

// KeptMark is a folder or document that a person marked.
type KeptMark = keep.Mark

// KeptCount counts what is kept, of all or of a mark.
type KeptCount = keep.Count

// Values of KeptStatus.State.
const (
	KeptListing    = keep.Listing
	KeptFetching   = keep.Fetching
	KeptWaiting    = keep.Waiting
	KeptDisk       = keep.Disk
	KeptComplete   = keep.Complete
	KeptIncomplete = keep.Incomplete
)

// Status is the content of `.archivefs/status.json`. Times are RFC 3339. Names and texts are escaped
// where they could harm a terminal.
type Status struct {
	Version string    `json:"version"`
	Service string    `json:"service"`
	Mounted time.Time `json:"mounted"`
	PID     int       `json:"pid"`
	// StateDir keeps the uploads that the mount does not deliver.
	StateDir string `json:"state-dir"`
	// Renewed is when StateDir went on under a renewed API key in this mount.
	Renewed  time.Time `json:"renewed,omitzero"`
	Content  string    `json:"content"`
	ReadOnly bool      `json:"read-only"`
	Health   string    `json:"health"`
	// Partial: it is for somebody who may not know the rest, which only the user whose mount it is does.
	Partial bool `json:"partial,omitempty"`
	// Cure says what to do while the service refuses the credentials.
	Cure string `json:"cure,omitempty"`
	// People are the users that have credentials of their own, nil without Options.People.
	People *PeopleStatus `json:"people,omitempty"`
	// Disk says why the disk of StateDir takes no files; empty while it does.
	Disk string `json:"disk,omitempty"`
	// Unseen are the programs that the mount cannot look at, in words: one that is killed while it writes
	// seems to have finished. Empty if it can look at all.
	Unseen string `json:"unseen,omitempty"`
	// LastErrors are the last few errors, newest first. While the service is away the first says why.
	LastErrors []Failure `json:"last-errors,omitempty"`
	// LastRefusals are the last few refusals, newest first.
	LastRefusals []Refusal `json:"last-refusals,omitempty"`

	Requests []archive.OperationStats `json:"requests"`
	Cache    CacheStatus              `json:"cache"`
	// Kept is what is kept on this machine, nil if nothing is.
	Kept    *KeptStatus  `json:"kept,omitempty"`
	Uploads UploadStatus `json:"uploads"`
}

// PeopleStatus describes the users of this machine that the service knows.
type PeopleStatus struct {
	Mapped int `json:"mapped"` // how many there are
	// Refused are those whose credentials the service refuses.
	Refused []string `json:"refused,omitempty"`
}

// CacheStatus has the statistics of the caches.
type CacheStatus struct {
	Folders   cache.ListingsStats `json:"folders"`
	Documents cache.ListingsStats `json:"documents"`
	Inboxes   cache.ListingsStats `json:"inboxes"`
	Content   cache.ContentStats  `json:"content"`
}

// UploadStatus describes what the archive does not have yet.
type UploadStatus struct {
	Sending int64        `json:"sending"`
	Bytes   int64        `json:"bytes"` // on disk, local files included
	Local   int          `json:"local"` // files that stay on this machine: temporary or empty ones
	List    []UploadInfo `json:"list"`  // pending and failed, oldest first
	// Locals are the non-empty local files, oldest first, in the state StateLocal.
	Locals []UploadInfo `json:"locals,omitempty"`
	// Open are the files that programs are writing, oldest first, in the state StateOpen.
	Open []UploadInfo `json:"open,omitempty"`
}

// All returns what the archive does not have, whatever its state; never nil.
func (u *UploadStatus) All() []UploadInfo {
	return append(append(append([]UploadInfo{}, u.List...), u.Locals...), u.Open...)
}

// Failed counts the uploads that failed.
func (u *UploadStatus) Failed() (n int) {
	for i := range u.List {
		if u.List[i].State == string(spool.Failed) {
			n++
		}
	}
	return n
}

// Pending counts the uploads that wait to be sent. In the list those that are being sent are pending, too.
func (u *UploadStatus) Pending() int {
	return max(len(u.List)-u.Failed()-int(u.Sending), 0) // what was just confirmed is in the list no more
}

// Resting counts the pending uploads that have a time of grace.
func (u *UploadStatus) Resting() (n int) {
	for i := range u.List {
		if u.List[i].Rests {
			n++
		}
	}
	return n
}

// HeldBack returns the paths of whole documents that stay here because of their names.
func (u *UploadStatus) HeldBack() (paths []string) {
	for i := range u.Locals {
		if u.Locals[i].HeldBack {
			paths = append(paths, u.Locals[i].Path)
		}
	}
	return paths
}

// UploadInfo is a file or folder that is not archived yet, or could not be.
type UploadInfo struct {
	ID    string `json:"id"`
	State string `json:"state"` // StatePending or failed; StateOpen or StateLocal in the other lists
	Path  string `json:"path"`
	Size  int64  `json:"size"`
	// Sent is how many bytes the delivery in flight has sent.
	Sent    int64     `json:"sent,omitempty"`
	Changed time.Time `json:"changed"`
	// Directory: it is a queued folder.
	Directory bool `json:"directory,omitempty"`
	// Inbox: it is for an inbox.
	Inbox bool `json:"inbox,omitempty"`
	// Incomplete: it failed because the file is incomplete or empty; Error says which.
	Incomplete bool `json:"incomplete,omitempty"`
	// Open: a program has it open for writing, and it is not sent before that closes it.
	Open bool `json:"open,omitempty"`
	// Never is why it cannot be sent as it is; empty where it can.
	Never string `json:"never,omitempty"`
	// HeldBack: it is a whole document, and stays here because of its name.
	HeldBack bool `json:"held-back,omitempty"`
	// Rests: it is sent when it was left alone for a while.
	Rests bool `json:"rests,omitempty"`
	// Waits: an attempt failed and it is tried again later; Error says why.
	Waits bool `json:"waits,omitempty"`
	// InDoubt: it waits because it was sent, got no answer, and may still arrive.
	InDoubt bool   `json:"in-doubt,omitempty"`
	Error   string `json:"error,omitempty"`
}

// The states of an upload, beside failed.
const (
	StatePending = "pending" // it waits to be archived, or is being sent
	StateOpen    = "open"    // a program is writing it
	StateLocal   = "local"   // it is not uploaded: a temporary file, or one that was refused when it was to become a document
)

// Values of Status.Health.
const (
	HealthOK      = "ok"
	HealthAway    = "away"    // the service does not answer, or refuses the credentials
	HealthDisk    = "disk"    // the disk of the state directory takes no files
	HealthFailing = "failing" // an upload failed and waits for a decision
)

// publicStatus is what everybody may know who uses the mount.
func (f *FileSystem) publicStatus() Status {
	s := Status{
		Version: f.opts.Version, Service: f.opts.Source, Mounted: f.Started, PID: f.opts.PID, Content: string(f.opts.Mode),
		ReadOnly: f.opts.ReadOnly, Health: HealthOK, Partial: true,
		Requests: []archive.OperationStats{}, Uploads: UploadStatus{List: []UploadInfo{}},
	}
	if f.Service.Away() != nil {
		s.Health = HealthAway
	}
	return s
}

// Status returns the current status.
func (f *FileSystem) Status() Status {
	failures := f.Service.Failures.List()
	used, _ := f.staging.Spool.Usage()
	s := Status{
		Version: f.opts.Version, Service: f.opts.Source, Mounted: f.Started, PID: f.opts.PID, StateDir: f.opts.StateDir,
		Content: string(f.opts.Mode), ReadOnly: f.opts.ReadOnly, Health: HealthOK, Unseen: f.unseen(), LastErrors: failures, LastRefusals: f.Errnos.Refusals(),
		Requests: f.Service.Archive.Stats(),
		Cache: CacheStatus{
			Folders: f.Service.Children.Stats(), Documents: f.Service.Documents.Stats(), Inboxes: f.Service.Inboxes.Stats(),
			Content: f.Content.Stats(),
		},
		Kept:    f.keeper.Status(),
		Uploads: UploadStatus{Sending: f.staging.Uploading(), Bytes: used, List: []UploadInfo{}},
	}
	if at := f.renewed.Load(); at != nil {
		s.Renewed = *at
	}
	if f.opts.People != nil {
		s.People = &PeopleStatus{}
		s.People.Mapped, s.People.Refused = f.opts.People.Mapped()
	}
	if err := f.staging.Spool.Disk(); err != nil && !f.opts.ReadOnly {
		s.Health, s.Disk = HealthDisk, err.Error()
	}
	if away := f.Service.Away(); away != nil {
		s.Health = HealthAway
		if len(failures) == 0 || !failures[0].Says(away.Text) { // an upload may say the same
			s.LastErrors = slices.Insert(s.LastErrors, 0, *away)
		}
		if away.Refused() {
			s.Cure = f.opts.Cure
		}
	}
	for _, up := range f.staging.Spool.List() {
		r := up.Record()
		if r.State == spool.Local {
			s.Uploads.Local++
		}
		if holdsHere(up, &r) {
			s.Uploads.Locals = append(s.Uploads.Locals, localInfo(f.staging.Spool, up, &r))
		}
		if (r.State == spool.Created || r.State.Due()) && !staging.StaysHere(&r) && up.Size() > 0 {
			info := uploadInfo(f.staging.Spool, up, &r)
			info.State, info.Open, info.Error = StateOpen, true, "a program is writing it"
			s.Uploads.Open = append(s.Uploads.Open, info)
		}
		if !listed(&r) {
			continue
		}
		info := uploadInfo(f.staging.Spool, up, &r)
		info.Sent = up.Sent()
		if r.Rest > 0 {
			if info.Open, _ = f.staging.Holder(up).Writing(); info.Open {
				info.Error = "a program has it open: it is not sent before it is closed"
			}
		}
		if info.State == string(spool.Failed) && s.Health == HealthOK {
			s.Health = HealthFailing
		}
		s.Uploads.List = append(s.Uploads.List, info)
	}
	return s
}

// unseen says which programs that write the mount cannot look at; empty if there are none.
func (f *FileSystem) unseen() string {
	if f.opts.ReadOnly {
		return ""
	}
	return f.kernel.Mounts.Unseen(f.opts.AllowOther)
}

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
	// Async lets close return as soon as the file is durable in the spool; it is archived in the background.
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
	// Near is the time within which a service answers a listing if it is near; 0 for 3 ms. Beside a listing that takes
	// longer, the folders of the whole mandator are requested. A negative one says that the service is near.
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
	// Now is the clock.
	Now func() time.Time
}
