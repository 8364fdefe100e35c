package fs

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
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
)

// stagingConfig is what staging needs beside the contents.
type stagingConfig struct {
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

// staging is what waits on this machine for the archive: files and folders, each an upload of the spool,
// what stands for them in the tree, and the queue that archives them in the background.
type staging struct {
	// Contents are set before anything else happens.
	*content.Contents
	stagingConfig

	delivery delivery
	placing  placing
	// queue is what is archived in the background.
	queue *background.Queue[*spool.Upload]
	// sending counts uploads under way.
	sending atomic.Int64

	mu         sync.Mutex
	waiting    map[folderRef][]*spool.Upload // recovered and not shown yet, by folder; guarded by mu
	holders    map[string]*file              // what stands for an upload, by its id; guarded by mu
	queuedDirs map[string]*tree.Dir          // folders that are queued, by their upload; guarded by mu
	cutOff     map[string]bool               // uploads whose close an earlier mount did not answer, by id; guarded by mu
}

// newStaging makes one in which nothing waits.
func newStaging(c stagingConfig, now func() time.Time) *staging {
	s := &staging{
		stagingConfig: c,
		waiting:       map[folderRef][]*spool.Upload{}, holders: map[string]*file{},
		queuedDirs: map[string]*tree.Dir{}, cutOff: map[string]bool{},
	}
	s.delivery, s.placing = delivery{s}, placing{s}
	s.queue = background.New(s.deliverQueued, s.deliverable, now)
	return s
}

// mayChange refuses changes on a read-only mount.
func (s *staging) mayChange() error {
	if s.ReadOnly {
		return errno.Refuse(syscall.EROFS, "the mount is read-only")
	}
	return nil
}

// record describes a file that is created in a directory; doc is the inbox document that
// it gets new bytes for, or nil.
func (s *staging) record(d *tree.Dir, name string, doc *archive.Document) spool.Record {
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
func (s *staging) listAgain(r *spool.Record) {
	s.Service.Documents.Invalidate(r.Folder)
	if d := s.folder(refOf(r)); d != nil {
		d.Distrust()
		s.Changed(d, []string{r.Name})
	}
}

// outdate is tree.Dir.Outdate of a folder, whether anybody has looked at it or not.
func (s *staging) outdate(id archive.ID) {
	s.Service.Outdate(id)
	if d := s.folder(folderRef{id: id}); d != nil {
		d.Outdate()
	}
}

// settle moves confirmed bytes into the content cache, so that reading them back
// downloads nothing, and keeps their modification time. The record can go then. A document
// that the archive had before has a time of its own, and bytes that the service says.
func (s *staging) settle(up *spool.Upload, id archive.ID) {
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
			s.Rewritten(id)
		}
	}
}

// conclude ends a confirmed upload: it sets on the document what an upload cannot take
// along, and forgets the upload. A service that is away, or does not take these credentials,
// is asked again by the next mount.
func (s *staging) conclude(ctx context.Context, up *spool.Upload, id archive.ID) {
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
	s.discard(up)
}

// keepTime keeps the modification time that a file had as that of its document.
func (s *staging) keepTime(r *spool.Record, id archive.ID) {
	mtime := r.Mtime
	if mtime.IsZero() {
		mtime = r.Changed
	}
	s.State.SetTime(id, mtime)
}

// backgroundPatience is how much longer the background looks for what ended in doubt than
// a call does that somebody waits for.
const backgroundPatience = 4

// deliverQueued is the queue's attempt at an upload. wait says that it could not be taken
// now; the error is background.ErrMoot when nothing was left to try, background.ErrInDoubt when it
// may still arrive.
func (s *staging) deliverQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	s.Service.Work.Begin()
	defer s.Service.Work.End()
	s.sending.Add(1)
	defer s.sending.Add(-1)
	if wait, err = s.tryQueued(ctx, up); spool.Unanswered(err) {
		err = fmt.Errorf("%w: %w", background.ErrInDoubt, err)
	}
	return wait, err
}

func (s *staging) tryQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
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
		return s.makeQueued(ctx, up)
	}
	return s.delivery.deliverQueued(ctx, s.holder(up), up)
}

// deliverable reports whether an upload of the queue can be tried: the folder that it lies
// in is there, or failed, with which the upload fails.
func (s *staging) deliverable(up *spool.Upload) bool {
	folder, waiting := s.Spool.Get(up.Record().Within)
	return !waiting || folder.State() == spool.Failed
}

// failInFolder fails an upload of the queue because the folder that it lies in was not
// made, unless that is tried again by now. The error is never nil.
func (s *staging) failInFolder(up *spool.Upload) error {
	r := up.Record()
	folder, there := s.Spool.Get(r.Within)
	if there && folder.State() != spool.Failed {
		s.queue.Add(up) // behind its folder
		return background.ErrMoot
	}
	err := errors.New("the folder that it was put into was discarded")
	if there {
		err = errors.New(whyWaits(s.Spool, &r))
	}
	s.Service.Failures.Add("archive", up, r.Path+"/"+r.Name, err)
	return errors.Join(err, up.Fail(err.Error(), true))
}

func (s *staging) queuePolicy() spool.Policy {
	return spool.Policy{RetryFor: backgroundPatience * s.Service.RetryFor, Attempts: 1, Queue: true}
}

// holder returns the file that stands for an upload: the one in the tree, or one that no
// folder shows.
func (s *staging) holder(up *spool.Upload) *file {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.holders[up.ID()]; held != nil {
		return held
	}
	held := newFile(s, s.Inodes.Local(), nil, nil, nil, up)
	switch r := up.Record(); {
	case r.Queued:
		held.phase = accepted
	case r.Visible:
		held.phase = failed
	}
	s.holders[up.ID()] = held
	return held
}

// hold notes that a file stands for an upload.
func (s *staging) hold(up *spool.Upload, by *file) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holders[up.ID()] = by
}

// letGo notes that no file of the tree stands for an upload any more.
func (s *staging) letGo(up *spool.Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.holders, up.ID())
}

// What a person decides about an upload.

// retry sends a failed upload again, in the background, and shows it in its folder. What
// waits for the service is tried at once. The folder that it lies in is made first, and
// with a folder what failed because of it is sent. A temporary or an empty file is never sent,
// and one that is not whole only asItIs.
func (s *staging) retry(up *spool.Upload, asItIs bool) error {
	r := up.Record()
	if err := mayRetry(&r, asItIs); err != nil {
		return err
	}
	folder, inFolder := s.Spool.Get(r.Within)
	inFolder = inFolder && folder.State() == spool.Failed
	if inFolder {
		if err := s.retry(folder, false); err != nil { // which retries what lies in it, too
			return err
		}
	}
	inside := s.failedIn(up) // before: once the folder is made nothing says any more what lay in it
	switch err := s.retryOne(up, asItIs); {
	case inFolder && errors.Is(err, syscall.ENOENT):
		return nil // it was archived with its folder by now
	case err != nil:
		return err
	}
	for _, in := range inside {
		if r := in.Record(); r.State == spool.Failed {
			if err := s.retry(in, false); err != nil {
				s.Service.Failures.Add("retry", in, r.Path+"/"+r.Name, err)
			}
		}
	}
	return nil
}

// mayRetry refuses what is never sent, or not unless somebody asks for it as it is.
func mayRetry(r *spool.Record, asItIs bool) error {
	switch {
	case staysHere(r):
		return errno.Refuse(syscall.EPERM, "temporary names and directories stay on this machine: give it its real name")
	case r.Incomplete() && r.Size == 0:
		return errno.Refuse(syscall.EPERM, spool.ErrEmpty.Error())
	case r.Incomplete() && !asItIs:
		return errno.Refuse(syscall.EPERM, spool.ErrIncomplete.Error())
	}
	return nil
}

// failedIn is what failed directly in a folder that is not made, and is whole.
func (s *staging) failedIn(folder *spool.Upload) (inside []*spool.Upload) {
	for _, up := range s.Spool.List() {
		if r := up.Record(); r.Within == folder.ID() && r.State == spool.Failed && r.Visible && !r.Incomplete() {
			inside = append(inside, up)
		}
	}
	return inside
}

func (s *staging) retryOne(up *spool.Upload, asItIs bool) error {
	held := s.holder(up)
	held.commit.Lock()
	defer held.commit.Unlock()
	r := up.Record()
	take := up.Retry
	if asItIs {
		take = up.RetryAsItIs
	}
	switch _, there := s.Spool.Get(up.ID()); {
	case !there:
		return syscall.ENOENT // it was archived meanwhile
	case r.State == spool.Created && r.Queued: // taken back for a change
	default:
		if err := take(); err != nil {
			if up.Record().Queued { // which the disk may have all the same
				s.queue.Add(up)
			}
			return err
		}
	}
	if r.State == spool.Failed {
		held.Mu.Lock()
		held.happenedLocked(onQueue)
		shown := held.Dir != nil
		held.Mu.Unlock()
		if !shown && !r.Directory {
			s.await(up)
		}
	}
	s.queue.Hurry(up)
	return nil
}

// leftFolder sends what failed because the folder that it lay in was not made, and was put
// into another one since. before is its record from then.
func (s *staging) leftFolder(up *spool.Upload, before *spool.Record) {
	r := up.Record()
	if before.State != spool.Failed || before.Within == "" || r.State != spool.Failed || r.Within == before.Within || r.Incomplete() {
		return
	}
	if err := s.retry(up, false); err != nil {
		s.Service.Failures.Add("retry", up, r.Path+"/"+r.Name, err)
	}
}

// forget discards an upload that a person has decided about. One that is being sent, or
// that the archive may have, is busy.
func (s *staging) forget(up *spool.Upload) error {
	held := s.holder(up)
	if up.State() == spool.Failed { // the attempt that failed may still be ending
		held.commit.Lock()
	} else if !held.commit.TryLock() {
		return errno.ErrSending
	}
	defer held.commit.Unlock()
	if up.State() == spool.Sending {
		return errno.ErrMayHave
	}
	if up.Record().Directory {
		return s.forgetFolder(up)
	}
	if err := up.Remove(); err != nil {
		return err
	}
	if held.Document() != nil {
		held.detach() // the document is what it was
	} else {
		held.hide()
		held.lastPlace()
	}
	s.letGo(up)
	return nil
}

// forgetFolder discards a queued folder, which must be empty and is locked by the caller.
func (s *staging) forgetFolder(up *spool.Upload) error {
	if holdsUploads(s.Spool, up) {
		return errno.ErrHoldsUploads
	}
	s.mu.Lock()
	d := s.queuedDirs[up.ID()]
	s.mu.Unlock()
	if d == nil {
		return up.Remove()
	}
	parent, name := d.Place()
	if e := parent.Get(name); e != nil && e.Dir == d {
		if err := s.removeQueuedLocked(parent, e, up); err != nil {
			return err
		}
		s.Changed(parent, []string{name})
	}
	return nil
}

// A folder is queued when it was made here while the service was away. Until the service
// has it, it has an id that no folder has, nothing is asked about it, and what is put into
// it names its upload (spool.Record.Within).

// folderRef is a folder by its id, or by its upload while it is queued.
type folderRef struct {
	id     archive.ID
	within string
}

func refOf(r *spool.Record) folderRef { return folderRef{id: r.Folder, within: r.Within} }

// lockFolder keeps a queued folder from being made, renamed and removed until unlock. It is
// made under file.commit of what stands for it, as files are archived.
func (s *staging) lockFolder(up *spool.Upload) (unlock func()) {
	held := s.holder(up)
	held.commit.Lock()
	return held.commit.Unlock
}

// folderMaker makes a queued folder at the service (spool.FolderMaker).
type folderMaker struct {
	service remote.Archive
	parent  archive.ID
	inbox   bool
	name    string
}

// Find implements spool.FolderMaker.
func (m *folderMaker) Find(ctx context.Context) (archive.ID, error) {
	list, err := m.siblings(ctx)
	if err != nil {
		return 0, err
	}
	for _, f := range list {
		if f.Name == m.name {
			return f.ID, nil
		}
	}
	return 0, nil
}

func (m *folderMaker) siblings(ctx context.Context) ([]archive.Folder, error) {
	if !m.inbox {
		s, err := m.service.Children(ctx, m.parent)
		return s.Folders, err
	}
	boxes, err := m.service.Inboxes(ctx)
	if err != nil {
		return nil, err
	}
	parent, ok := tree.FindInbox(boxes.Inboxes, m.parent)
	if !ok {
		return nil, &archive.Error{Op: "inboxes", Kind: archive.KindNotFound}
	}
	return parent.Children, nil
}

// Make implements spool.FolderMaker.
func (m *folderMaker) Make(ctx context.Context) (archive.ID, error) {
	f, err := m.service.CreateFolder(ctx, m.parent, m.name)
	return f.ID, err
}

// removeQueuedLocked is removeQueued for callers that hold the folder locked.
func (s *staging) removeQueuedLocked(d *tree.Dir, e *tree.Entry, up *spool.Upload) error {
	switch {
	case e.Dir.QueuedAs() == nil:
		return errno.ErrNotRemoved // it was made meanwhile
	case up.State() == spool.Sending:
		return errno.ErrMayHave
	}
	if err := up.Remove(); err != nil {
		return err
	}
	d.Drop(e)
	s.letGo(up)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.queuedDirs, up.ID())
	return nil
}

// makeQueued is the queue's attempt at a folder.
func (s *staging) makeQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	defer s.lockFolder(up)()
	r := up.Record()
	if _, there := s.Spool.Get(up.ID()); !there || !r.Queued {
		return false, background.ErrMoot // removed, or failed
	}
	if r.Within != "" {
		return false, errors.Join(background.ErrMoot, s.failInFolder(up))
	}
	id, err := spool.DeliverFolder(ctx, up, &folderMaker{service: s.Service.Archive, parent: r.Folder, inbox: r.Inbox, name: r.Name}, s.queuePolicy())
	_ = s.Service.Answered(err)
	switch {
	case err == nil:
		s.folderMade(up, id)
		return false, nil
	case up.Record().Queued:
		return true, err
	}
	s.Service.Failures.Add("make folder", up, r.Path+"/"+r.Name, err)
	return false, err
}

// folderMade turns a queued folder into the one that the service has, and what lies in it
// into files of that.
func (s *staging) folderMade(up *spool.Upload, id archive.ID) {
	s.mu.Lock()
	d := s.queuedDirs[up.ID()]
	delete(s.queuedDirs, up.ID())
	from, to := folderRef{within: up.ID()}, folderRef{id: id}
	s.waiting[to] = append(s.waiting[to], s.waiting[from]...)
	delete(s.waiting, from)
	s.mu.Unlock()
	if d != nil {
		s.placing.made(d, id)
	}
	for _, inside := range s.Spool.List() {
		if inside.Record().Within == up.ID() {
			if err := inside.Update(func(r *spool.Record) { r.Folder, r.Within = id, "" }); err != nil {
				s.Service.Failures.Add("file into its folder", inside, inside.Record().Path+"/"+inside.Record().Name, err)
			}
		}
	}
	r := up.Record()
	s.Service.Failures.Mend(&r)
	s.outdate(r.Folder)
	s.Service.OutdateInboxes()
	s.discard(up)
	s.queue.Resume()
}

// junkAge is how long files under temporary names stay after their last change: longer than
// anybody waits for a download that was broken off. So long their bytes stay after that.
const junkAge = 7 * 24 * time.Hour

// recover takes up what an earlier mount left in the spool: local files show in their
// folders again, what was accepted goes on to the archive, what was being sent is looked
// for at the service, what had not been sent when its close was cut off is failed, and old
// temporary files leave their folders. It does not wait for the service.
func (s *staging) recover() {
	for _, up := range s.Spool.List() {
		r := up.Record()
		switch {
		case nothingIn(&r):
			s.discard(up)
		case r.StaysHere() && (s.old(&r) || !r.Forgotten.IsZero()):
			s.putAway(up, &r)
		case r.State == spool.Confirmed && r.Directory:
			s.folderMade(up, r.Document)
		case r.State == spool.Confirmed:
			s.settle(up, r.Document)
			s.Service.Work.Go(func() { s.conclude(context.Background(), up, r.Document) })
		case r.Queued:
			s.await(up)
			s.queue.Add(up)
		case r.State == spool.Created && r.Closed, r.State == spool.Failed && (r.Visible || r.Directory):
			s.await(up)
		case r.State == spool.Sending, r.State == spool.Committed:
			s.mu.Lock()
			s.cutOff[up.ID()] = true
			s.mu.Unlock()
			s.queue.Add(up)
		}
	}
}

// resolve is the queue's attempt to find out about an upload whose close an earlier mount
// had begun: it is confirmed when the archive has it, else failed, because that close
// cannot be answered any more. While the service is away it waits.
func (s *staging) resolve(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	id, err := spool.Resolve(ctx, up, s.Service.Archive)
	_ = s.Service.Answered(err)
	r := up.Record()
	if r.State == spool.Sending || r.State == spool.Committed {
		return true, err
	}
	s.mu.Lock()
	delete(s.cutOff, up.ID())
	s.mu.Unlock()
	if err != nil {
		s.Service.Failures.Add("archive", up, r.Path+"/"+r.Name, err)
		return false, err
	}
	s.settle(up, id)
	s.listAgain(&r)
	s.conclude(ctx, up, id)
	return false, nil
}

// old reports whether a local file is one that programs leave behind, and is so old that
// nobody will ask for it.
func (s *staging) old(r *spool.Record) bool {
	return staysHere(r) && s.Service.Now().Sub(r.Changed) > junkAge
}

// putAway takes an old temporary file out of its folder and, where it holds something, keeps the
// bytes for as long once more.
func (s *staging) putAway(up *spool.Upload, r *spool.Record) {
	log := s.Service.Log.WithField("path", archive.Printable(r.Path+"/"+r.Name))
	switch {
	case up.Size() == 0:
		s.discard(up)
	case r.Forgotten.IsZero():
		since := r.Changed
		if err := up.Update(func(r *spool.Record) { r.Forgotten = s.Service.Now() }); err != nil {
			log.Warnf("an old temporary file stays in its folder: %v", err)
			s.await(up)
			return
		}
		*r = up.Record()
		log.Warnf("a temporary file that nobody has changed since %s has left its folder; its bytes are kept until %s: archivefs uploads export MOUNTPOINT %s saves them",
			since.Format(time.DateOnly), goneOn(r).Format(time.DateOnly), r.ID)
	case s.Service.Now().After(goneOn(r)):
		log.Warnf("the bytes of a temporary file that left its folder on %s are removed", r.Forgotten.Format(time.DateOnly))
		s.discard(up)
	}
}

// goneOn is when nothing is kept any more of a file that was put away.
func goneOn(r *spool.Record) time.Time { return r.Forgotten.Add(junkAge) }

// discard throws bytes of the spool away that nobody will ask for.
func (s *staging) discard(up *spool.Upload) {
	if err := up.Remove(); err != nil {
		s.Service.Log.Warnf("remove %s from the spool: %v", up.ID(), err)
		return
	}
	s.letGo(up)
}

// ended ends an upload that is archived as one of these documents, or as none that is listed.
func (s *staging) ended(up *spool.Upload, r *spool.Record, as []archive.ID) {
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

// await shows an upload in its folder: at once where that has been listed, else when it is.
func (s *staging) await(up *spool.Upload) {
	r := up.Record()
	ref := refOf(&r)
	s.mu.Lock()
	s.waiting[ref] = append(s.waiting[ref], up)
	s.mu.Unlock()
	if d := s.folder(ref); d != nil {
		s.placing.placeWaiting(d)
	}
}

// awaits reports whether an upload is to be shown when its folder is listed.
func (s *staging) awaits(up *spool.Upload, r *spool.Record) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.waiting[refOf(r)], up)
}

// folder returns the directory of a folder, nil when nobody has looked at it.
func (s *staging) folder(ref folderRef) *tree.Dir {
	if ref.within != "" {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.queuedDirs[ref.within]
	}
	return s.Root.Tree.Known(s.Root, ref.id)
}
