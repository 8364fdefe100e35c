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
	"github.com/archivefs/archivefs/fs/internal/callers"
	"github.com/archivefs/archivefs/fs/internal/change"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/pictures"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/fs/internal/view"
	"github.com/archivefs/archivefs/fs/internal/watch"
	"github.com/archivefs/archivefs/internal/closing"
)

// Kernel is what the nodes of a mount share. It decides which attributes the kernel gets and for how
// long it may cache attributes and names.
type Kernel struct {
	// UID, GID and Umask apply to every file.
	UID, GID, Umask uint32
	// Trust bounds the timeouts of what can change, whatever the TTL.
	Trust time.Duration
	// Memory counts the documents that the kernel forgot.
	Memory *background.Memory
	// Askers decides which programs get lengths that have to be downloaded.
	Askers *callers.Askers

	// Contents, Staging, Files, Control and Watch are set before the first node is made.
	*content.Contents
	Staging *staging.Area
	Files   *change.Files
	Control *control.Tree
	Watch   *watch.Watch[*tree.Dir]
	Guard   Guard
	// Pictures makes thumbnails of what file managers show; nil for none.
	Pictures *pictures.Maker
	// Top is the mount point. It is set before the mount is.
	Top string

	Mounts      closing.Mounts
	Passthrough passthrough
	Epochs      epochs
	// Announcements tell file managers what others have changed.
	Announcements announcements
	Handles       handles   // the open files
	forgotten     forgotten // directories to be compacted
}

// epochs begins new epochs, at most one per epochPause. The zero value begins none.
type epochs struct {
	mu sync.Mutex
	// send is nil before Start and after Stop.
	send func()    // +checklocks:mu
	last time.Time // +checklocks:mu
	// timer fires for a delayed epoch; nil when none is scheduled.
	timer *time.Timer // +checklocks:mu
}

// keepSize is the attribute timeout of an immutable document whose exact length is known.
const keepSize = time.Hour

const blockSize = 512 // unit of st_blocks (stat(2))

// MaxWrite is how much the kernel writes at a time, in bytes.
const MaxWrite = 1 << 20

// fill writes a file's attributes and returns their timeout.
func (k *Kernel) fill(f *staging.File, out *fuse.Attr) time.Duration {
	out.Ino = f.Ino
	out.Mode = fuse.S_IFREG | 0o666&^k.Umask
	k.fillOwner(out)
	modified, changed := f.Times()
	out.SetTimes(&modified, &modified, &changed)
	out.Blksize = 4096
	if f.Pending() != nil {
		out.Blksize = MaxWrite // programs write so much at a time
	}
	exact, known := k.fillSize(f, out)
	switch {
	case f.Pending() != nil, known && !exact:
		return 0
	case exact && f.Immutable(f.Key().Representation):
		return keepSize
	}
	d, _ := f.Place()
	if _, open, _ := f.OpenedSize(); d == nil || open {
		return 0 // the length may change when the last reader closes it
	}
	if !exact {
		return 0 // so that a program that asks for it can be told from one that does not (Askers)
	}
	return k.validFor(d)
}

// forgetEstimates makes the kernel ask for the lengths of a directory that were estimated. A program that
// asks for one would not be noticed otherwise.
func (k *Kernel) forgetEstimates(d *tree.Dir) {
	if d == nil || inodeOf(d) == nil || !d.Estimates.End() {
		return
	}
	for _, in := range inodeOf(d).Children() {
		if n, ok := in.Operations().(interface{ forgetEstimate() }); ok {
			n.forgetEstimate()
		}
	}
}

// fillSize writes the length. It is exact, or else known from before, or an estimate with no blocks.
func (k *Kernel) fillSize(f *staging.File, out *fuse.Attr) (exact, known bool) {
	size, exact := f.CurrentSize()
	known = exact
	if !known {
		size, known = f.FormerSize()
	}
	if !known {
		pages := f.Document().Pages
		if f.As != nil && f.As.Key.Representation == archive.Preview {
			pages = 1
		}
		size = view.Estimate(pages)
	}
	f.Tell(size)
	out.Size = uint64(max(size, 0))
	if known {
		out.Blocks = (out.Size + blockSize - 1) / blockSize
	}
	return exact, known
}

func (k *Kernel) fillDir(d *tree.Dir, out *fuse.Attr) {
	out.Ino = d.Ino
	out.Mode = fuse.S_IFDIR | 0o777&^k.Umask
	k.fillOwner(out)
	d.Mu.Lock()
	changed := d.Shown.Changed
	d.Mu.Unlock()
	out.SetTimes(&changed, &changed, &changed)
	out.Blksize = 4096
}

func (k *Kernel) fillOwner(out *fuse.Attr) {
	out.Nlink = 1
	out.Uid, out.Gid = k.UID, k.GID
}

// fillEntry writes the answer to a lookup of e in d: its attributes and both timeouts.
func (k *Kernel) fillEntry(d *tree.Dir, e *tree.Entry, out *fuse.EntryOut) {
	if e.Dir != nil {
		k.fillDir(e.Dir, &out.Attr)
		out.SetEntryTimeout(k.lendName(d, e))
		out.SetAttrTimeout(k.foldersValidFor(d))
		return
	}
	f := staging.FileOf(d, e)
	out.SetAttrTimeout(k.fill(f, &out.Attr))
	if f.Pending() == nil { // a failed close may take the name away
		out.SetEntryTimeout(k.lendName(d, e))
	}
}

// lendName returns the entry timeout of e and extends the lease of d by it. It returns 0 when d does
// not show e under its name any more, and if each user has to be asked about.
func (k *Kernel) lendName(d *tree.Dir, e *tree.Entry) time.Duration {
	if k.Guard.Judge != nil {
		return 0
	}
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

// lendAbsence returns the timeout of a negative entry for name and extends the lease of d by it. Junk
// names, which desktops look up all the time, get the longest one, however old the listing is; a name
// that comes into being in another Unicode form gets none.
func (k *Kernel) lendAbsence(d *tree.Dir, name string) time.Duration {
	if k.Guard.Judge != nil || names.HasForms(name) {
		return 0
	}
	d.Mu.Lock()
	defer d.Mu.Unlock()
	if d.Shown.Reach(name) != nil {
		return 0
	}
	validity := k.validForLocked(d)
	if d.Tree.Working.Stays(name) {
		validity = min(k.Service.TTL, k.Trust)
	}
	d.Lease.Extend(validity)
	return validity
}

// lookEvery is how often leaves checks whether an interrupted caller was killed.
const lookEvery = 150 * time.Millisecond

// A killed caller ends only when its request is answered. The kernel reports only the first signal
// (INTERRUPT), and that may be a harmless one, such as those that Go's scheduler sends all the time.
// So from then on the caller is polled.

// leaves waits for done, and reports whether the caller was killed before that, or what else gone reports.
func leaves(ctx context.Context, done <-chan struct{}, gone func(pid uint32) bool) bool {
	select {
	case <-done:
		return false
	case <-ctx.Done():
	}
	pid := callerPID(ctx)
	look := time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		if gone(pid) {
			return true
		}
		select {
		case <-done:
			return false
		case <-look.C:
		}
	}
}

// outlive runs change to its end even if the caller is killed. In that case it returns EINTR early, and
// late, unless nil, runs after the change. Close waits for the change.
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
	if !leaves(ctx, done, closing.Doomed) {
		return errno
	}
	k.Service.Log.Debug("a caller was killed; its change goes on")
	if late != nil {
		k.Service.Work.Go(func() {
			<-done
			late()
		})
	}
	return syscall.EINTR
}

// changeNames is outlive for a change of names. When the caller was killed, the kernel took the change
// for failed, so these names are invalidated after it.
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

// WhileAlive returns a context that ends when the caller of a request is killed, but not when the
// caller is merely interrupted. stop ends the watch.
func WhileAlive(ctx context.Context) (alive context.Context, stop func()) {
	return whileNot(ctx, closing.Doomed)
}

// WhileWaiting is WhileAlive for what changes nothing: the context ends, too, when the caller is asked to end.
func WhileWaiting(ctx context.Context) (waiting context.Context, stop func()) {
	return whileNot(ctx, closing.Asked)
}

func whileNot(ctx context.Context, gone func(pid uint32) bool) (alive context.Context, stop func()) {
	alive, cancel := context.WithCancel(context.WithoutCancel(ctx))
	unwatch := context.AfterFunc(ctx, func() {
		if leaves(ctx, alive.Done(), gone) {
			cancel()
		}
	})
	return alive, func() { unwatch(); cancel() }
}

// forget takes an idle archived file out of its entry and returns the directory; nil when the file
// stays. A lookup at this very moment may still get the inode of this file, and the next one that of
// another file. That is harmless, because an archived document does not change.
func (k *Kernel) forget(f *staging.File) *tree.Dir {
	d, _ := f.Place()
	if d == nil || !d.Kind().Archives() {
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
	k.Memory.Expanded(1) // after many it returns memory to the system
	return d
}

// How the kernel's caches are invalidated.
//
// NotifyEntry and NotifyDelete are never called; the linter forbids them. In the kernel they wait for
// the lock of the directory, which a create, mkdir, unlink, rmdir or rename holds until we answer.
// Such a wait cannot be killed: if the answer depends on the notification, the process hangs for ever.
//
// Except for absent junk names, no entry timeout outlives the listing that the name comes from. If a
// name changes earlier, and the kernel holds an unexpired name of the directory, a new epoch begins
// (FUSE_NOTIFY_INC_EPOCH, Linux 6.16): the kernel looks up every name again on its next use. That takes
// no lock. On older kernels names just time out.
//
// Attributes are invalidated (attrsOnly), which takes no lock either. Invalidating pages waits for
// those that are being read, and so for us: it is done only for a file that nobody has open (dropPages).

// epochPause is the shortest time between two epochs.
const epochPause = 200 * time.Millisecond

// Start sets send, which begins an epoch.
func (e *epochs) Start(send func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send = send
}

// Stop cancels a delayed epoch. No epoch begins after it.
func (e *epochs) Stop() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.send = nil
	if e.timer != nil {
		e.timer.Stop()
		e.timer = nil
	}
}

// Begin begins an epoch, or schedules one within epochPause. It does not block.
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

// late begins the delayed epoch.
func (e *epochs) late() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.timer == nil {
		return // stopped
	}
	e.timer, e.last = nil, time.Now()
	e.send()
}

// ForgetNames makes the kernel look up changed names again, and invalidates the attributes of the
// directory. It does not block and may be called with any lock held.
func (k *Kernel) ForgetNames(d *tree.Dir, names []string) {
	if len(names) == 0 || inodeOf(d) == nil {
		return
	}
	if d.Lease.Runs() {
		k.Epochs.Begin()
	}
	k.Service.Work.Go(func() { k.forgetAttributes(d) })
}

// forgetAttributes invalidates the attributes of the directory in the kernel.
func (k *Kernel) forgetAttributes(d *tree.Dir) {
	node := inodeOf(d)
	if node == nil {
		return
	}
	if errno := node.NotifyContent(attrsOnly, 0); errno != 0 && errno != syscall.ENOENT && errno != syscall.ENOSYS {
		k.Service.Log.Debugf("notify %s: %v", archive.Printable(d.Path()), errno)
	}
}

// inodeOf returns the inode of a directory, nil before its first lookup.
func inodeOf(d *tree.Dir) *fusefs.Inode {
	n, _ := d.Node.Load().(*fusefs.Inode)
	return n
}

// validFor returns how long the kernel may cache what the directory shows.
func (k *Kernel) validFor(d *tree.Dir) time.Duration {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return k.validForLocked(d)
}

// validForLocked is validFor with Mu held.
// +checklocks:d.Mu
func (k *Kernel) validForLocked(d *tree.Dir) time.Duration {
	oldest := d.Subs.Fetched
	if d.Kind().HoldsDocuments() && d.Files.Fetched.Before(oldest) {
		oldest = d.Files.Fetched
	}
	return k.trustedForLocked(d, oldest)
}

// foldersValidFor is validFor for sub-folders. It considers only the listing of folders: looking up a
// path does not list the documents in its folders.
func (k *Kernel) foldersValidFor(d *tree.Dir) time.Duration {
	d.Mu.Lock()
	defer d.Mu.Unlock()
	return k.trustedForLocked(d, d.Subs.Fetched)
}

// trustedForLocked returns how long the kernel may trust a listing that was fetched at oldest.
// +checklocks:d.Mu
func (k *Kernel) trustedForLocked(d *tree.Dir, oldest time.Time) time.Duration {
	longest := min(k.Service.TTL, k.Trust)
	switch {
	case d.Kind() == tree.LocalDir:
		return longest
	case d.IsLocal():
		return 0 // until the folder is made
	}
	return max(0, min(longest, k.Service.TTL-k.Service.Now().Sub(oldest)))
}

// attrsOnly is the offset with which NotifyContent invalidates attributes but no pages. It takes no
// lock that an open in flight holds.
const attrsOnly = -1

// Person returns the user on whose behalf the context is (rights.As), or whose program made the request with it; false
// if nobody did. What the kernel requests by itself, such as the release of a file, comes from root and the process 0.
func Person(ctx context.Context) (uid uint32, ok bool) {
	if uid, some, set := rights.Of(ctx); set {
		return uid, some
	}
	if caller, ok := fuse.FromContext(ctx); ok && (caller.Uid != 0 || caller.Pid != 0) {
		return caller.Uid, true
	}
	return 0, false
}

// callerPID returns the id of the thread that made a request, 0 in a foreign pid namespace.
func callerPID(ctx context.Context) uint32 {
	if caller, ok := fuse.FromContext(ctx); ok {
		return caller.Pid
	}
	return 0
}
