package staging

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// Config is what an Area needs besides the contents.
type Config struct {
	Spool *spool.Spool
	State *state.Store
	// Async lets a close return as soon as the file is durable in the spool.
	Async    bool
	ReadOnly bool
	// Rewritten is called after a document got new bytes.
	Rewritten func(doc archive.ID)
	// WhileAlive returns a context that ends when the caller of a request is killed, but not when
	// the caller is merely interrupted. stop ends the watch.
	WhileAlive func(ctx context.Context) (alive context.Context, stop func())
}

// Area is everything that waits on this machine for the archive: files and folders, each an upload
// of the spool, their places in the tree, and the queue that archives them in the background.
type Area struct {
	// Contents must be set before anything else is used.
	*content.Contents
	Spool *spool.Spool

	state      *state.Store
	Async      bool
	readOnly   bool
	rewritten  func(doc archive.ID)
	whileAlive func(ctx context.Context) (alive context.Context, stop func())

	Delivery delivery
	Placing  placing
	Folders  queuedFolders
	// queue archives uploads in the background.
	queue *background.Queue[*spool.Upload]
	// sending counts uploads in flight.
	sending atomic.Int64

	mu sync.Mutex
	// waiting holds uploads that their folder does not show yet.
	waiting map[folderRef][]*spool.Upload // +checklocks:mu
	// holders maps the id of an upload to the file that stands for it.
	holders map[string]*File // +checklocks:mu
	// queuedDirs maps the upload of a queued folder to its directory.
	queuedDirs map[string]*tree.Dir // +checklocks:mu
	// cutOff holds the ids of uploads whose close an earlier mount never answered.
	cutOff map[string]bool // +checklocks:mu
}

// New returns an Area in which nothing waits.
func New(c Config, now func() time.Time) *Area {
	s := &Area{
		Spool: c.Spool, state: c.State, Async: c.Async, readOnly: c.ReadOnly, rewritten: c.Rewritten, whileAlive: c.WhileAlive,
		waiting: map[folderRef][]*spool.Upload{}, holders: map[string]*File{},
		queuedDirs: map[string]*tree.Dir{}, cutOff: map[string]bool{},
	}
	s.Delivery, s.Placing, s.Folders = delivery{s}, placing{s}, queuedFolders{s}
	s.queue = background.New(s.deliverQueued, s.deliverable, now)
	return s
}

// Uploading returns the number of uploads in flight.
func (s *Area) Uploading() int64 { return s.sending.Load() }

// Wake makes the queue retry at once what waits for the service.
func (s *Area) Wake() { s.queue.Wake() }

// Enqueue queues an upload for the background.
func (s *Area) Enqueue(up *spool.Upload) { s.queue.Add(up) }

// Close tries what is queued once more and stops the queue. What the service cannot take stays in
// the spool.
func (s *Area) Close(ctx context.Context) error {
	err := s.queue.Drain(ctx)
	if errors.Is(err, background.ErrAway) {
		err = nil
	}
	return errors.Join(err, s.queue.Close(ctx))
}

// MayChange returns EROFS on a read-only mount.
func (s *Area) MayChange() error {
	if s.readOnly {
		return errno.Refuse(syscall.EROFS, "the mount is read-only")
	}
	return nil
}

// Record returns the record of a new file in d. doc is the inbox document that the file replaces,
// or nil.
func (s *Area) Record(d *tree.Dir, name string, doc *archive.Document) spool.Record {
	r := spool.Record{Inbox: d.InInbox(), Path: d.Path(), Local: d.Local(), Name: name}
	d.Aim(&r)
	if doc != nil {
		r.Replace = doc.ID
		r.DocumentName = doc.Name
	}
	return r
}

// listAgain makes the next listing show the document of an upload that has no place in the tree.
func (s *Area) listAgain(r *spool.Record) {
	s.Service.Documents.Invalidate(r.Folder)
	if d := s.folderAt(refOf(r)); d != nil {
		d.Distrust()
		s.Changed(d, []string{r.Name})
	}
}

// outdate makes the next listing of a folder ask the service, even if the tree does not know the
// folder yet.
func (s *Area) outdate(id archive.ID) {
	s.Service.Outdate(id)
	if d := s.Folder(id); d != nil {
		d.Outdate()
	}
}

// settle moves the bytes of a confirmed upload into the content cache, so that reading them back
// downloads nothing, and keeps their modification time. It leaves a document alone that the archive
// already had (Record.Had).
func (s *Area) settle(up *spool.Upload, id archive.ID) {
	r := up.Record()
	s.Service.Failures.Mend(&r)
	if id != 0 && r.Had == "" {
		s.keepTime(&r, id)
		key := cache.Key{Document: id, Representation: archive.Original}
		if err := s.Content.Adopt(key, cache.Adoption{Path: up.DataPath(), Sum: r.SHA256, Final: !r.Inbox}); err != nil {
			s.Service.Log.Debugf("cache document %d: %v", id, err)
		}
		if !r.Inbox {
			s.Facts.Learn(key, r.Size)
		}
		if r.Replace != 0 {
			s.rewritten(id)
		}
	}
}

// conclude ends a confirmed upload: it sets auto-export, which an upload cannot carry, and discards
// the upload. If the service is away or rejects the credentials, the record stays and the next
// mount tries again.
func (s *Area) conclude(ctx context.Context, up *spool.Upload, id archive.ID) {
	if r := up.Record(); r.AutoExport && id != 0 && r.Had == "" {
		err := s.Service.Archive.SetAutoExport(context.WithoutCancel(ctx), id, true)
		if err != nil {
			s.Service.Failures.Add("set auto-export", up, r.Path+"/"+r.Name, err)
		}
		if archive.Away(err) || archive.KindOf(err) == archive.KindUnauthorized {
			s.letGo(up)
			return
		}
		s.outdate(r.Folder)
	}
	s.Discard(up)
}

// keepTime stores the modification time of a file as that of its document.
func (s *Area) keepTime(r *spool.Record, id archive.ID) {
	mtime := r.Mtime
	if mtime.IsZero() {
		mtime = r.Changed
	}
	s.state.SetTime(id, mtime)
}

// backgroundPatience is how many times longer the background looks for an upload in doubt than a
// close does.
const backgroundPatience = 4

// deliverQueued is one attempt of the queue at an upload. wait reports that the upload has to be
// tried again later. err is background.ErrMoot if there was nothing to try, and wraps
// background.ErrInDoubt if the request may still take effect.
func (s *Area) deliverQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	s.Service.Work.Begin()
	defer s.Service.Work.End()
	s.sending.Add(1)
	defer s.sending.Add(-1)
	if wait, err = s.tryQueued(ctx, up); spool.Unanswered(err) {
		err = fmt.Errorf("%w: %w", background.ErrInDoubt, err)
	}
	return wait, err
}

func (s *Area) tryQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	s.mu.Lock()
	cutOff := s.cutOff[up.ID()]
	s.mu.Unlock()
	_, there := s.Spool.Get(up.ID())
	switch {
	case !there:
		return false, background.ErrMoot // removed or archived meanwhile
	case cutOff:
		return s.resolve(ctx, up)
	case up.Record().Directory:
		return s.Folders.attempt(ctx, up)
	}
	return s.Delivery.deliverQueued(ctx, s.Holder(up), up)
}

// deliverable reports whether the queue can try an upload: its folder exists, or has failed, in
// which case the upload fails with it.
func (s *Area) deliverable(up *spool.Upload) bool {
	folder, waiting := s.Spool.Get(up.Record().Within)
	return !waiting || folder.State() == spool.Failed
}

func (s *Area) queuePolicy() spool.Policy {
	return spool.Policy{RetryFor: backgroundPatience * s.Service.RetryFor, Attempts: 1, Queue: true}
}

// Holder returns the file that stands for an upload: the one in the tree, else one that no folder
// shows.
func (s *Area) Holder(up *spool.Upload) *File {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.holders[up.ID()]; held != nil {
		return held
	}
	held := NewFile(s, s.Inodes.Local(), nil, nil, nil, up)
	s.holders[up.ID()] = held
	return held
}

// Hold makes a file the one that stands for an upload.
func (s *Area) Hold(up *spool.Upload, by *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holders[up.ID()] = by
}

// letGo forgets which file stands for an upload.
func (s *Area) letGo(up *spool.Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holders, up.ID())
}

// Discard removes an upload and its bytes from the spool. An error is only logged.
func (s *Area) Discard(up *spool.Upload) {
	if err := up.Remove(); err != nil {
		s.Service.Log.Warnf("remove %s from the spool: %v", up.ID(), err)
		return
	}
	s.letGo(up)
}

// ended concludes an upload that was confirmed without an id. as are the documents that it may be.
func (s *Area) ended(up *spool.Upload, r *spool.Record, as []archive.ID) {
	var id archive.ID
	switch len(as) {
	case 0:
		s.Service.Log.Warnf("%s/%s was archived; the service does not list it", archive.Printable(r.Path), archive.Printable(r.Name))
	case 1: // certain enough for the time, but not for the content cache
		id = as[0]
		s.keepTime(r, id)
	}
	s.conclude(context.Background(), up, id)
}

// folderRef identifies a folder by its id or, while it is queued, by its upload.
type folderRef struct {
	id     archive.ID
	within string
}

func refOf(r *spool.Record) folderRef { return folderRef{id: r.Folder, within: r.Within} }

// await shows an upload in its folder, at once if that has been listed, else as soon as it is.
func (s *Area) await(up *spool.Upload) {
	r := up.Record()
	ref := refOf(&r)
	s.mu.Lock()
	s.waiting[ref] = append(s.waiting[ref], up)
	s.mu.Unlock()
	if d := s.folderAt(ref); d != nil {
		s.Placing.placeWaiting(d)
	}
}

// awaits reports whether an upload is to be shown once its folder is listed.
func (s *Area) awaits(up *spool.Upload, r *spool.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.waiting[refOf(r)], up)
}

// Folder returns the directory of a folder, nil if the tree does not know it.
func (s *Area) Folder(id archive.ID) *tree.Dir { return s.folderAt(folderRef{id: id}) }

// folderAt is Folder for a folder that may be queued.
func (s *Area) folderAt(ref folderRef) *tree.Dir {
	if ref.within != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.queuedDirs[ref.within]
	}
	return s.Root.Tree.Known(s.Root, ref.id)
}
