// Package staging holds what waits on this machine for the archive: each File that is written, the
// Handles through which that happens, and queued folders. Each of them is an upload of the spool.
//
// The state of an upload (spool.State) decides the fate of its bytes. delivery turns them into a document, in the close
// that ends the file or from the queue (queue.go). placing shows in the tree what waits. queuedFolders are the folders.
// recovery.go takes over what an earlier mount left, and decisions.go carries out what a user decides about an upload.
package staging

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/keep"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// Config is what an Area needs besides the contents.
type Config struct {
	Spool *spool.Spool
	State *state.Store
	// Async lets a close return as soon as the file is durable in the spool.
	Async bool
	// Grace is for how long a file or a folder that was made here must have been left alone before it is
	// sent; 0 for not at all.
	Grace time.Duration
	// Number keeps what is in an inbox under a name that is written again: that is a new document,
	// and the earlier one is shown under a numbered name.
	Number   bool
	ReadOnly bool
	// Rewritten is called after a document got new bytes.
	Rewritten func(doc archive.ID)
	// WhileAlive returns a context that ends when the caller of a request is killed, but not when
	// the caller is merely interrupted. stop ends the watch.
	WhileAlive func(ctx context.Context) (alive context.Context, stop func())
	// People say on whose behalf something happens.
	People People
}

// People say on whose behalf something happens.
type People struct {
	// Of returns the user who made a request; false if nobody did.
	Of func(ctx context.Context) (uid uint32, known bool)
	// As returns a context for requests on behalf of a user. If it is nil, what is done in the
	// background is done on nobody's behalf.
	As func(ctx context.Context, uid uint32) context.Context
}

// Sign returns a record of what the user does who made a request.
func (p *People) Sign(ctx context.Context, r spool.Record) spool.Record {
	r.By(p.Of(ctx))
	return r
}

// behalf returns ctx for what happens to an upload in the background.
func (p *People) behalf(ctx context.Context, up *spool.Upload) context.Context {
	r := up.Record()
	uid, known := r.Person()
	if p.As == nil || !known {
		return ctx
	}
	return p.As(ctx, uid)
}

// queued returns attempt as an attempt of the queue on behalf of the one whose upload it is.
func (p *People) queued(attempt func(context.Context, *spool.Upload) (bool, error)) func(context.Context, *spool.Upload) (bool, error) {
	return func(ctx context.Context, up *spool.Upload) (wait bool, err error) {
		if wait, err = attempt(p.behalf(ctx, up), up); archive.Whose(err) != "" {
			err = fmt.Errorf("%w: %w", background.ErrOwn, err)
		}
		return wait, err
	}
}

// Area is everything that waits on this machine for the archive: files and folders, each an upload
// of the spool, their places in the tree, and the queue that archives them in the background.
type Area struct {
	// Contents must be set before anything else is used.
	*content.Contents
	// Keeper keeps contents on this machine. It is set like Contents.
	Keeper *keep.Keeper
	Config
	repeats repeats
	doubts  doubts

	Delivery delivery
	Placing  placing
	Folders  queuedFolders
	// Queue archives uploads in the background.
	Queue *background.Queue[*spool.Upload]
	// sending counts uploads in flight.
	sending atomic.Int64
	// ending says that the mount ends, and every time of grace with it.
	ending atomic.Bool
	// queued is when a close last queued a file, in nanoseconds since 1970.
	queued atomic.Int64

	mu sync.Mutex
	// waiting holds uploads that their folder does not show yet.
	waiting map[folderRef][]*spool.Upload // +checklocks:mu
	// holders maps the id of an upload to the file that stands for it.
	holders map[string]*File // +checklocks:mu
	// queuedDirs maps the upload of a queued folder to its directory.
	queuedDirs map[string]*tree.Dir // +checklocks:mu
}

// busy is how long after a close another one is expected, as of a program that copies many files.
const busy = 20 * time.Millisecond

// New returns an Area in which nothing waits.
func New(c Config, now func() time.Time) *Area {
	s := &Area{
		Config: c, waiting: map[folderRef][]*spool.Upload{}, holders: map[string]*File{}, queuedDirs: map[string]*tree.Dir{},
	}
	s.Delivery, s.Placing, s.Folders = delivery{s}, placing{s}, queuedFolders{s}
	s.Queue = background.New(s.People.queued(s.attempt), s.deliverable, whose, now)
	s.repeats = repeats{places: map[*spool.Upload]place{}, at: map[place][]*spool.Upload{}, awaited: map[*spool.Upload]time.Time{}}
	s.doubts = doubts{look: s.Queue.Add, discard: s.Discard, looks: map[*spool.Upload]look{}}
	s.Queue.Busy = func() bool { return time.Since(time.Unix(0, s.queued.Load())) < busy }
	return s
}

// Close ends every time of grace, tries what is queued once more and stops the queue. What the service
// cannot take stays in the spool.
func (s *Area) Close(ctx context.Context) error {
	s.ending.Store(true)
	if err := s.Queue.Drain(ctx); err != nil && !errors.Is(err, background.ErrAway) {
		return errors.Join(err, s.Queue.Close(ctx))
	}
	return s.Queue.Close(ctx)
}

// MayChange returns EROFS on a read-only mount.
func (s *Area) MayChange() error {
	if s.ReadOnly {
		return errno.Refuse(syscall.EROFS, "the mount is read-only")
	}
	return nil
}

// Record returns the record of a new file in d. doc is the inbox document that the file replaces, or nil.
func (s *Area) Record(d *tree.Dir, name string, doc *archive.Document) spool.Record {
	r := spool.Record{Inbox: d.InInbox(), Path: d.Path(), Local: d.Local(), Name: name}
	d.Aim(&r)
	if doc != nil {
		r.Replace = doc.ID
		r.DocumentName = doc.Name
	}
	switch working := s.Working.File(name); {
	case doc == nil && working == names.Certain:
		r.Temporary = true
	case d.Kind() == tree.LocalDir:
	case working == names.Doubtful:
		r.Rest, r.Doubted = max(s.Grace, Doubt), true
	default:
		r.Rest = s.Grace
		if s.Grace > 0 && r.Inbox {
			r.Written = name
		}
	}
	return r
}

// Doubt is the least time of grace of a file that its program may rename, by its name or by how it was created.
const Doubt = 10 * time.Second

// Doubts reports whether a file rests because its program may rename it.
func Doubts(r *spool.Record) bool { return Rests(r) && r.Doubted }

// Create makes the upload of a new file.
func (s *Area) Create(r spool.Record) (*spool.Upload, error) {
	up, err := s.Spool.Create(r)
	if err == nil && r.Written != "" {
		s.repeats.note(up)
	}
	return up, err
}

// Holder returns the file that stands for an upload: the one in the tree, else one that no folder shows.
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
	s.repeats.forget(up)
	s.doubts.forget(up)
}

// Discard removes an upload and its bytes from the spool. An error is only logged.
func (s *Area) Discard(up *spool.Upload) {
	if err := up.Remove(); err != nil {
		s.Service.Log.Warnf("remove %s from the spool: %v", up.ID(), err)
		return
	}
	s.letGo(up)
}
