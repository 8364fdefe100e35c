package fs

import (
	"slices"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/keep"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/internal/spool"
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

// StatePending is the state of what waits to be archived, or is being sent.
const StatePending = "pending"

// StateOpen is the state of a file that a program is writing.
const StateOpen = "open"

// StateLocal is the state of a file that is not uploaded: a temporary one, or one that was refused
// when it was to become a document.
const StateLocal = "local"

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
		if isOpen(up, &r) {
			s.Uploads.Open = append(s.Uploads.Open, openInfo(f.staging.Spool, up, &r))
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
