package fs

import (
	"errors"
	"syscall"

	"github.com/archivefs/archivefs/internal/spool"
)

// errFailed is what a program is told that wrote to a file which failed by the close of
// another one: its bytes are kept, and will not be archived by themselves.
const errFailed = syscall.EIO

// giveUp decides where a failed file is shown. What a close had accepted stays in its
// folder. Else whoever closed it was told, and it leaves: a folder shows what is archived
// or on its way, and a retry can create the name anew. A document stays in any case, with
// its old bytes when it leaves. The caller holds commit.
func (v *delivery) giveUp(f *file, up *spool.Upload) {
	if d, name := f.place(); d != nil {
		d.distrust() // the service may have it after all, or not even the document
		v.fs.kernel.forgetNames(d, []string{name})
	}
	f.mu.Lock()
	f.happenedLocked(onRefusal)
	stays, document := f.phase == failed, f.doc != nil
	f.mu.Unlock()
	switch {
	case stays:
		if err := up.Update(func(r *spool.Record) { r.Visible = true }); err != nil {
			v.fs.service.Failures.Add("show as failed", up, f.path(), err)
		}
	case document:
		f.detach()
		v.fs.staging.letGo(up)
	default:
		f.hide()
	}
}

// abandon fails a file whose bytes are not what they were meant to be. It leaves its
// folder and stays in the list of uploads.
func (v *delivery) abandon(f *file, reason string) {
	f.commit.Lock()
	defer f.commit.Unlock()
	v.abandonLocked(f, reason)
}

// abandonLocked is abandon for callers that hold commit.
func (v *delivery) abandonLocked(f *file, reason string) {
	f.mu.Lock()
	up, gone := f.up, f.phase == removed
	f.mu.Unlock()
	if up == nil || gone {
		return
	}
	v.fs.service.Failures.Add("keep as failed", up, f.path(), errors.New(reason))
	if err := up.Fail(reason, false); err != nil {
		v.fs.service.Failures.Add("keep as failed", up, f.path(), err)
	}
	v.giveUp(f, up)
}

// hide takes the file out of its folder on its own, which the kernel is told.
func (f *file) hide() {
	d, _ := f.place()
	if d == nil {
		return
	}
	d.mu.Lock()
	f.mu.Lock()
	name := f.entry.name
	d.shown.drop(f.entry)
	f.dir = nil
	f.mu.Unlock()
	d.mu.Unlock()
	f.fs.kernel.forgetNames(d, []string{name})
}

// accept makes what a close answers with success durable, although the end of the file is
// still to come: from here on it is not lost without a trace.
func (h *writeHandle) accept(up *spool.Upload) error {
	f := h.file
	if err := h.spoiled(); err != nil {
		return err
	}
	return f.accept(up)
}

// accept makes bytes durable of which a close is answered with success, and others are yet
// to come.
func (f *file) accept(up *spool.Upload) error {
	if err := up.Sync(); err != nil {
		return f.spoil(up, err)
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up == up {
		f.happenedLocked(onAnswer)
	}
	return nil
}

// wrote notes that the bytes were changed, through h where there is a handle.
func (f *file) wrote(up *spool.Upload, h *writeHandle) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.up != up {
		return // archived meanwhile, with these bytes
	}
	f.happenedLocked(onWrite)
	if h == nil {
		return
	}
	h.perhaps = false
	if !h.writing {
		h.writing = true
		f.writing++
	}
}

// perhapsEnded notes a close of which cannot be told whether it was the handle's last.
func (h *writeHandle) perhapsEnded() {
	h.file.mu.Lock()
	defer h.file.mu.Unlock()
	h.perhaps = true
}

// errAborted is why a file fails that was being written when the kernel was parted from the mount.
var errAborted = errors.New("the mount was aborted while a program was writing it")

// cutOff fails a file that the handle was writing, after the connection to the kernel has ended:
// each program that ends a file by itself closes it before, which we are told.
func (h *writeHandle) cutOff() {
	f := h.file
	f.mu.Lock()
	half := h.writing && !h.perhaps
	f.mu.Unlock()
	if half {
		f.fs.delivery.abandon(f, errAborted.Error())
	}
}

// end ends the writing of the handle and reports whether nobody else writes: half of what
// others write is not to be archived. The bytes are accepted before it ends, so that no
// other close archives them while this one may still be told that it failed.
func (h *writeHandle) end(up *spool.Upload) (last bool, err error) {
	accepted := h.amongOthers()
	if accepted {
		err = h.accept(up)
	}
	others := h.ended()
	if others && !accepted { // one that has just begun
		err = h.accept(up)
	}
	return !others, err
}

// amongOthers reports whether other handles write to the file.
func (h *writeHandle) amongOthers() bool {
	f := h.file
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.writing {
		return f.writing > 1
	}
	return f.writing > 0
}

// ended notes that the program has closed the handle.
func (h *writeHandle) ended() (others bool) {
	f := h.file
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.writing {
		h.writing = false
		f.writing--
	}
	return f.writing > 0
}

// spoiled is why the bytes cannot be made durable any more, nil while they can: a disk that
// failed to write them forgets that it has them, and would answer the next sync with success.
func (h *writeHandle) spoiled() error {
	f := h.file
	f.mu.Lock()
	err := f.spoiltLocked()
	f.mu.Unlock()
	if err != nil {
		return err
	}
	return h.outcome()
}

// outcome is what a close is told when nothing is left to archive: an error when what the
// handle wrote failed with the close of another one.
func (h *writeHandle) outcome() error {
	f := h.file
	f.mu.Lock()
	defer f.mu.Unlock()
	if h.writing && f.phase.ended() {
		return errFailed
	}
	return nil
}
