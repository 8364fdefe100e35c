package fs

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// junkAge is how long files under temporary names stay after their last change: longer than
// anybody waits for a download that was broken off. So long their bytes stay after that.
const junkAge = 7 * 24 * time.Hour

// Recover takes up what an earlier mount left in the spool: local files show in their
// folders again, what was accepted goes on to the archive, what was being sent is looked
// for at the service, what had not been sent when its close was cut off is failed, and old
// temporary files leave their folders. It does not wait for the service.
func (f *FileSystem) Recover() {
	for _, up := range f.spool.List() {
		r := up.Record()
		switch {
		case nothingIn(&r):
			f.discard(up)
		case r.StaysHere() && (f.old(&r) || !r.Forgotten.IsZero()):
			f.putAway(up, &r)
		case r.State == spool.Confirmed && r.Directory:
			f.folderMade(up, r.Document)
		case r.State == spool.Confirmed:
			f.settle(up, r.Document)
			f.work.Go(func() { f.conclude(context.Background(), up, r.Document) })
		case r.Queued:
			f.await(up)
			f.queue.Add(up)
		case r.State == spool.Created && r.Closed, r.State == spool.Failed && (r.Visible || r.Directory):
			f.await(up)
		case r.State == spool.Sending, r.State == spool.Committed:
			f.mu.Lock()
			f.cutOff[up.ID()] = true
			f.mu.Unlock()
			f.queue.Add(up)
		}
	}
}

// resolve is the queue's attempt to find out about an upload whose close an earlier mount
// had begun: it is confirmed when the archive has it, else failed, because that close
// cannot be answered any more. While the service is away it waits.
func (f *FileSystem) resolve(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	id, err := f.spool.Resolve(ctx, up, f.service.Archive)
	_ = f.service.Answered(err)
	r := up.Record()
	if r.State == spool.Sending || r.State == spool.Committed {
		return true, err
	}
	f.mu.Lock()
	delete(f.cutOff, up.ID())
	f.mu.Unlock()
	if err != nil {
		f.service.Failures.Add("archive", up, r.Path+"/"+r.Name, err)
		return false, err
	}
	f.settle(up, id)
	f.listAgain(&r)
	f.conclude(ctx, up, id)
	return false, nil
}

// old reports whether a local file is one that programs leave behind, and is so old that
// nobody will ask for it.
func (f *FileSystem) old(r *spool.Record) bool {
	return staysHere(r) && f.now().Sub(r.Changed) > junkAge
}

// putAway takes an old temporary file out of its folder and, where it holds something, keeps the
// bytes for as long once more.
func (f *FileSystem) putAway(up *spool.Upload, r *spool.Record) {
	log := f.log.WithField("path", archive.Printable(r.Path+"/"+r.Name))
	switch {
	case up.Size() == 0:
		f.discard(up)
	case r.Forgotten.IsZero():
		since := r.Changed
		if err := up.Update(func(r *spool.Record) { r.Forgotten = f.now() }); err != nil {
			log.Warnf("an old temporary file stays in its folder: %v", err)
			f.await(up)
			return
		}
		*r = up.Record()
		log.Warnf("a temporary file that nobody has changed since %s has left its folder; its bytes are kept until %s: archivefs uploads export MOUNTPOINT %s saves them",
			since.Format(time.DateOnly), goneOn(r).Format(time.DateOnly), r.ID)
	case f.now().After(goneOn(r)):
		log.Warnf("the bytes of a temporary file that left its folder on %s are removed", r.Forgotten.Format(time.DateOnly))
		f.discard(up)
	}
}

// goneOn is when nothing is kept any more of a file that was put away.
func goneOn(r *spool.Record) time.Time { return r.Forgotten.Add(junkAge) }
