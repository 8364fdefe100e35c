package node

import (
	"context"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/change"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/internal/closing"
)

// Kernel is what the nodes of a mount share: what they translate for the kernel, what it is told of
// files and directories, and for how long it may trust that.
type Kernel struct {
	// UID, GID and Umask are of every file.
	UID, GID, Umask uint32
	// Trust is the longest that a name may be trusted, whatever the TTL.
	Trust time.Duration
	// Memory counts documents that the kernel forgot.
	Memory *background.Memory

	// Contents, staging, files and control are set before the first node is made.
	*content.Contents
	Staging *staging.Area
	Files   *change.Files
	Control *control.Tree

	Mounts      closing.Mounts
	Passthrough passthrough // whether the kernel reads the cache itself
	Epochs      epochs      // make the kernel look up names again
	Handles     handles     // the open files
	forgotten   forgotten   // directories to be compacted
}

// epochs begins new epochs, no more often than every epochPause. The zero value begins none.
type epochs struct {
	mu sync.Mutex
	// send is nil where the kernel has no epochs, or is gone.
	send func()    // +checklocks:mu
	last time.Time // +checklocks:mu
	// timer is of the epoch that waits, nil for none.
	timer *time.Timer // +checklocks:mu
}

// keepSize is how long the kernel may trust the attributes of a document whose exact
// length is known: it never changes.
const keepSize = time.Hour

const blockSize = 512 // unit of st_blocks (stat(2))

// fill writes a file's attributes and returns how long they may be trusted.
func (k *Kernel) fill(f *staging.File, out *fuse.Attr) time.Duration {
	out.Ino = f.Ino
	out.Mode = fuse.S_IFREG | 0o666&^k.Umask
	k.fillOwner(out)
	fillTime(out, f.Modified())
	out.Blksize = 4096
	exact, known := k.fillSize(f, out)
	d, _ := f.Place()
	switch {
	case f.Pending() != nil:
		return 0
	case exact && f.Immutable(f.Key().Representation):
		return keepSize
	case d == nil, known && !exact:
		return 0
	case !exact:
		return min(k.validFor(d), f.EstimateTrust())
	}
	if _, open, _ := f.OpenedSize(); open {
		return 0 // its length may be another one when the last reader has gone
	}
	return k.validFor(d)
}

// fillSize writes the length. It is exact, or else known from before, or an estimate with no blocks.
func (k *Kernel) fillSize(f *staging.File, out *fuse.Attr) (exact, known bool) {
	size, exact := f.CurrentSize()
	known = exact
	if !known {
		size, known = f.FormerSize()
	}
	if !known {
		size = view.Estimate(f.Document())
	}
	f.Tell(size)
	out.Size = uint64(max(size, 0))
	if known {
		out.Blocks = (out.Size + blockSize - 1) / blockSize
	}
	return exact, known
}

// fillDir writes a directory's attributes.
func (k *Kernel) fillDir(d *tree.Dir, out *fuse.Attr) {
	out.Ino = d.Ino
	out.Mode = fuse.S_IFDIR | 0o777&^k.Umask
	k.fillOwner(out)
	d.Mu.Lock()
	changed := d.Shown.Changed
	d.Mu.Unlock()
	fillTime(out, changed)
	out.Blksize = 4096
}

func (k *Kernel) fillOwner(out *fuse.Attr) {
	out.Nlink = 1
	out.Uid, out.Gid = k.UID, k.GID
}

func fillTime(out *fuse.Attr, t time.Time) {
	out.SetTimes(&t, &t, &t)
}

// fillEntry writes the answer to a lookup of e in d: attributes, and how long they and
// the name may be trusted.
func (k *Kernel) fillEntry(d *tree.Dir, e *tree.Entry, out *fuse.EntryOut) {
	if e.Dir != nil {
		k.fillDir(e.Dir, &out.Attr)
		out.SetEntryTimeout(k.lendName(d, e))
		out.SetAttrTimeout(k.foldersValidFor(d))
		return
	}
	f := staging.FileOf(d, e)
	out.SetAttrTimeout(k.fill(f, &out.Attr))
	if f.Pending() == nil { // else the name may go with a failed close
		out.SetEntryTimeout(k.lendName(d, e))
	}
}

// lendName is how long the kernel may keep the name of e, which is noted; 0 when it has become
// another one's, or nobody's, by now.
func (k *Kernel) lendName(d *tree.Dir, e *tree.Entry) time.Duration {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Shown.Held.Names.Get(e.Name) != e {
		return 0
	}
	validity := k.validForLocked(d)
	if e.Dir != nil {
		validity = k.trustedForLocked(d, d.Subs.Fetched) // foldersValidFor
	}
	d.Lease.Extend(validity)
	return validity
}

// lendAbsence is how long the kernel may remember that the directory does not have a name, which
// is noted. Names that desktops ask for all the time are remembered whatever is known.
func (k *Kernel) lendAbsence(d *tree.Dir, name string) time.Duration {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Shown.Reach(name) != nil {
		return 0
	}
	validity := k.validForLocked(d)
	if names.IsJunk(name) {
		validity = min(k.Service.TTL, k.Trust)
	}
	d.Lease.Extend(validity)
	return validity
}

// lookEvery is how often a caller is looked at that was sent a signal while it waits.
const lookEvery = 150 * time.Millisecond

// A caller that is killed ends only when its request is answered. The kernel tells of the first
// signal alone (INTERRUPT), which may be one that the caller has a use for, as Go's scheduler sends
// them all the time: from then on the caller is looked at.

// leaves waits for done, and reports whether the caller of a request was killed before.
func leaves(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return false
	case <-ctx.Done():
	}
	pid := callerPID(ctx)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if closing.Doomed(pid) {
			return true
		}
		select {
		case <-done:
			return false
		case <-look.C:
		}
	}
}

// outlive carries a change out, whatever becomes of its caller, who is not kept when it was killed.
// Close waits for the change. late, where it is not nil, is called after a change that nobody
// waited for.
func (k *Kernel) outlive(ctx context.Context, change func(context.Context) syscall.Errno, late func()) syscall.Errno {
	errno, done := syscall.EIO, make(chan struct{})
	k.Service.Work.Go(func() {
		defer func() {
			if cause := recover(); cause != nil {
				k.Service.Log.Errorf("panic: %v\n%s", cause, debug.Stack())
			}
			close(done)
		}()
		errno = change(context.WithoutCancel(ctx))
	})
	if !leaves(ctx, done) {
		return errno
	}
	k.Service.Log.Debug("a caller was killed; what it asked for goes on")
	if late != nil {
		k.Service.Work.Go(func() {
			<-done
			late()
		})
	}
	return syscall.EINTR
}

// changeNames is outlive for a change of names. The kernel, to which it has failed when nobody
// waited for it, forgets those.
func (k *Kernel) changeNames(ctx context.Context, change func(context.Context) syscall.Errno, names ...placed) syscall.Errno {
	return k.outlive(ctx, change, func() {
		for _, p := range names {
			k.ForgetNames(p.d, []string{p.name})
		}
	})
}

// placed is a name in a directory.
type placed struct {
	d    *tree.Dir
	name string
}

// WhileAlive is the context of what is given up when the caller was killed, and not when it was
// merely interrupted. stop ends the looking.
func WhileAlive(ctx context.Context) (alive context.Context, stop func()) {
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		if leaves(ctx, alive.Done()) {
			cancel()
		}
	})
	return alive, func() { unwatch(); cancel() }
}

// forget takes the file out of its entry and returns the directory, nil when it stays. Where the
// kernel asks for the document at this very moment it has an inode of this file, and gets one of
// another file when it asks again, as when the file was replaced: what is archived does not change.
func (k *Kernel) forget(f *staging.File) *tree.Dir {
	d, _ := f.Place()
	if d == nil || !d.Kind.Archives() {
		return nil
	}
	d.Mu.Lock()
	defer d.Mu.Unlock()
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Dir != d || staging.FileAt(f.Entry) != f || !f.IdleLocked() || !f.NumberedByIDLocked() {
		return nil
	}
	f.Entry.File.Store(nil)
	k.Memory.Expanded(1) // which gives memory back when they are many
	return d
}

// What the kernel is told of its own accord, and what never.
//
// The notifications of a name (NotifyEntry, NotifyDelete) wait in the kernel for the lock of the
// directory. A create, mkdir, unlink, rmdir or rename holds it for as long as we take to answer, and
// who waits for it can be ended by nobody: a process in which one waits for what the other is to
// answer never ends. So no name is ever notified; the linter refuses it.
//
// Names expire with the listing that they are from: no time-out goes beyond the listing's. When one
// changes earlier, and the kernel was told names of the directory with a time-out that still runs, a new
// epoch begins (FUSE_NOTIFY_INC_EPOCH, Linux 6.16): the kernel looks up every name again when it is
// used next. That takes no lock. Older kernels are told nothing.
//
// Attributes are notified (attrsOnly), which takes no lock either. A notification of pages waits for
// those that are being read, from us: it is sent only for a file that nobody has open (dropPages).

// epochPause is the shortest time between two epochs.
const epochPause = 200 * time.Millisecond

// Start lets epochs begin.
func (e *epochs) Start(send func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send = send
}

// Stop lets no more begin.
func (e *epochs) Stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send = nil
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// Begin begins an epoch, or has one begin soon. It returns at once.
func (e *epochs) Begin() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.send == nil || e.timer != nil {
		return
	}
	if wait := epochPause - time.Since(e.last); wait > 0 {
		e.timer = time.AfterFunc(wait, e.late)
		return
	}
	e.last = time.Now()
	e.send()
}

// late begins the epoch that waited.
func (e *epochs) late() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer == nil {
		return // stopped
	}
	e.timer, e.last = nil, time.Now()
	e.send()
}

// ForgetNames makes the kernel look up the names again, which changed, where it may know them. It
// returns at once, and may be called with any lock held.
func (k *Kernel) ForgetNames(d *tree.Dir, names []string) {
	if len(names) == 0 || inodeOf(d) == nil {
		return
	}
	if d.Lease.Runs() {
		k.Epochs.Begin()
	}
	k.Service.Work.Go(func() { k.forgetAttributes(d) })
}

// forgetAttributes makes the kernel ask for the attributes of the directory again.
func (k *Kernel) forgetAttributes(d *tree.Dir) {
	node := inodeOf(d)
	if node == nil {
		return
	}
	if errno := node.NotifyContent(attrsOnly, 0); errno != 0 && errno != syscall.ENOENT && errno != syscall.ENOSYS {
		k.Service.Log.Debugf("notify %s: %v", archive.Printable(d.Path()), errno)
	}
}

// inodeOf is the inode of a directory, nil until the kernel asks for it.
func inodeOf(d *tree.Dir) *fusefs.Inode {
	n, _ := d.Node.Load().(*fusefs.Inode)
	return n
}

// validFor is how long what the directory shows may be trusted without asking again.
func (k *Kernel) validFor(d *tree.Dir) time.Duration {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return k.validForLocked(d)
}

// validForLocked is validFor under Mu.
// +checklocks:d.Mu
func (k *Kernel) validForLocked(d *tree.Dir) time.Duration {
	oldest := d.Subs.Fetched
	if d.Kind.HoldsDocuments() && d.Files.Fetched.Before(oldest) {
		oldest = d.Files.Fetched
	}
	return k.trustedForLocked(d, oldest)
}

// foldersValidFor is validFor of the sub-folders, whose names rest on their listing alone:
// nobody lists the documents of the folders of a path that is looked up.
func (k *Kernel) foldersValidFor(d *tree.Dir) time.Duration {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return k.trustedForLocked(d, d.Subs.Fetched)
}

// trustedForLocked is how long the kernel may trust a listing of that age.
// +checklocks:d.Mu
func (k *Kernel) trustedForLocked(d *tree.Dir, oldest time.Time) time.Duration {
	longest := min(k.Service.TTL, k.Trust)
	switch {
	case d.Kind == tree.LocalDir:
		return longest
	case d.IsLocal():
		return 0 // until the folder is made
	}
	return max(0, min(longest, k.Service.TTL-k.Service.Now().Sub(oldest)))
}

// attrsOnly is the offset by which the kernel forgets a file's attributes and no pages. It
// takes no lock that the opener of the file holds.
const attrsOnly = -1

// callerPID is the thread that made a request, 0 when it is of another pid namespace.
func callerPID(ctx context.Context) uint32 {
	if caller, ok := fuse.FromContext(ctx); ok {
		return caller.Pid
	}
	return 0
}

// ForgetAll makes the kernel ask for the attributes of the directory again, and of all below it.
func (k *Kernel) ForgetAll(d *tree.Dir) {
	k.forgetAttributes(d)
	for _, below := range d.Subfolders() {
		k.ForgetAll(below)
	}
}
