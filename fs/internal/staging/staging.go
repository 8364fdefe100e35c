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

// Config is what staging needs beside the contents.
type Config struct {
	Spool *spool.Spool
	State *state.Store
	// Async lets a close return as soon as the file is durable in the spool.
	Async    bool
	ReadOnly bool
	// Rewritten is called when a document got new bytes.
	Rewritten func(doc archive.ID)
	// WhileAlive returns the context of what is given up when the caller of a request was killed, and
	// not when it was merely interrupted. stop ends the looking.
	WhileAlive func(ctx context.Context) (alive context.Context, stop func())
}

// Area is what waits on this machine for the archive: files and folders, each an upload of the spool,
// what stands for them in the tree, and the queue that archives them in the background.
type Area struct {
	// Contents are set before anything else happens.
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
	// queue is what is archived in the background.
	queue *background.Queue[*spool.Upload]
	// sending counts uploads under way.
	sending atomic.Int64

	mu sync.Mutex
	// waiting are uploads that were recovered and are not shown yet, by folder.
	waiting map[folderRef][]*spool.Upload // +checklocks:mu
	// holders are what stands for an upload, by its id.
	holders map[string]*File // +checklocks:mu
	// queuedDirs are folders that are queued, by their upload.
	queuedDirs map[string]*tree.Dir // +checklocks:mu
	// cutOff are uploads whose close an earlier mount did not answer, by id.
	cutOff map[string]bool // +checklocks:mu
}

// New makes one in which nothing waits.
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

// Uploading is how many uploads are under way.
func (s *Area) Uploading() int64 { return s.sending.Load() }

// Wake has the queue try at once what waits for the service.
func (s *Area) Wake() { s.queue.Wake() }

// Enqueue has an upload archived in the background.
func (s *Area) Enqueue(up *spool.Upload) { s.queue.Add(up) }

// Close tries once more what waits, and ends the queue. What the service cannot take stays in the spool.
func (s *Area) Close(ctx context.Context) error {
	err := s.queue.Drain(ctx)
	if errors.Is(err, background.ErrAway) {
		err = nil
	}
	return errors.Join(err, s.queue.Close(ctx))
}

// MayChange refuses changes on a read-only mount.
func (s *Area) MayChange() error {
	if s.readOnly {
		return errno.Refuse(syscall.EROFS, "the mount is read-only")
	}
	return nil
}

// Record describes a file that is created in a directory; doc is the inbox document that
// it gets new bytes for, or nil.
func (s *Area) Record(d *tree.Dir, name string, doc *archive.Document) spool.Record {
	r := spool.Record{Inbox: d.InInbox(), Path: d.Path(), Local: d.Local(), Name: name}
	d.Aim(&r)
	if doc != nil {
		r.Replace = doc.ID
		r.DocumentName = doc.Name
	}
	return r
}

// listAgain makes the document of an upload that no folder shows appear where the folder is
// known.
func (s *Area) listAgain(r *spool.Record) {
	s.Service.Documents.Invalidate(r.Folder)
	if d := s.folderAt(refOf(r)); d != nil {
		d.Distrust()
		s.Changed(d, []string{r.Name})
	}
}

// outdate is tree.Dir.Outdate of a folder, whether anybody has looked at it or not.
func (s *Area) outdate(id archive.ID) {
	s.Service.Outdate(id)
	if d := s.Folder(id); d != nil {
		d.Outdate()
	}
}

// settle moves confirmed bytes into the content cache, so that reading them back
// downloads nothing, and keeps their modification time. The record can go then. A document
// that the archive had before has a time of its own, and bytes that the service says.
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

// conclude ends a confirmed upload: it sets on the document what an upload cannot take
// along, and forgets the upload. A service that is away, or does not take these credentials,
// is asked again by the next mount.
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

// keepTime keeps the modification time that a file had as that of its document.
func (s *Area) keepTime(r *spool.Record, id archive.ID) {
	mtime := r.Mtime
	if mtime.IsZero() {
		mtime = r.Changed
	}
	s.state.SetTime(id, mtime)
}

// backgroundPatience is how much longer the background looks for what ended in doubt than
// a call does that somebody waits for.
const backgroundPatience = 4

// deliverQueued is the queue's attempt at an upload. wait says that it could not be taken
// now; the error is background.ErrMoot when nothing was left to try, background.ErrInDoubt when it
// may still arrive.
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
		return false, background.ErrMoot // removed, or archived, meanwhile
	case cutOff:
		return s.resolve(ctx, up)
	case up.Record().Directory:
		return s.Folders.attempt(ctx, up)
	}
	return s.Delivery.deliverQueued(ctx, s.Holder(up), up)
}

// deliverable reports whether an upload of the queue can be tried: the folder that it lies
// in is there, or failed, with which the upload fails.
func (s *Area) deliverable(up *spool.Upload) bool {
	folder, waiting := s.Spool.Get(up.Record().Within)
	return !waiting || folder.State() == spool.Failed
}

func (s *Area) queuePolicy() spool.Policy {
	return spool.Policy{RetryFor: backgroundPatience * s.Service.RetryFor, Attempts: 1, Queue: true}
}

// Holder returns the file that stands for an upload: the one in the tree, or one that no
// folder shows.
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

// Hold notes that a file stands for an upload.
func (s *Area) Hold(up *spool.Upload, by *File) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holders[up.ID()] = by
}

// letGo notes that no file of the tree stands for an upload any more.
func (s *Area) letGo(up *spool.Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holders, up.ID())
}

// Discard throws bytes of the spool away that nobody will ask for.
func (s *Area) Discard(up *spool.Upload) {
	if err := up.Remove(); err != nil {
		s.Service.Log.Warnf("remove %s from the spool: %v", up.ID(), err)
		return
	}
	s.letGo(up)
}

// ended ends an upload that is archived as one of these documents, or as none that is listed.
func (s *Area) ended(up *spool.Upload, r *spool.Record, as []archive.ID) {
	var id archive.ID
	switch len(as) {
	case 0:
		s.Service.Log.Warnf("%s/%s was archived; the service does not list it", archive.Printable(r.Path), archive.Printable(r.Name))
	case 1: // its time, not its bytes, which must be certain
		id = as[0]
		s.keepTime(r, id)
	}
	s.conclude(context.Background(), up, id)
}

// folderRef is a folder by its id, or by its upload while it is queued.
type folderRef struct {
	id     archive.ID
	within string
}

func refOf(r *spool.Record) folderRef { return folderRef{id: r.Folder, within: r.Within} }

// await shows an upload in its folder: at once where that has been listed, else when it is.
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

// awaits reports whether an upload is to be shown when its folder is listed.
func (s *Area) awaits(up *spool.Upload, r *spool.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.waiting[refOf(r)], up)
}

// Folder returns the directory of a folder, nil when nobody has looked at it.
func (s *Area) Folder(id archive.ID) *tree.Dir { return s.folderAt(folderRef{id: id}) }

// folderAt is folder for one that may be queued.
func (s *Area) folderAt(ref folderRef) *tree.Dir {
	if ref.within != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.queuedDirs[ref.within]
	}
	return s.Root.Tree.Known(s.Root, ref.id)
}
