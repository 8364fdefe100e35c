package content

import (
	"context"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// A document that listings do not show any more may have been erased, and then nothing of it stays on this
// machine; or it lies in another folder, or is not shown to this user for a while. So the service is asked
// for its id, once, if there is something of it here.

const (
	// mostVanished bounds the documents that wait to be asked for: what is here of others stays until it is
	// evicted.
	mostVanished = 1 << 16
	// vanishedPause is how long the service is not asked after it could not answer.
	vanishedPause = time.Minute
)

// Thumbnails are those that the mount has made for file managers, by the paths of documents from the top
// of the mount.
type Thumbnails interface {
	Has(path string) bool
	Remove(path string)
}

// vanished is a document that its folder does not show any more.
type vanished struct {
	doc archive.ID
	// dir and name are where it was shown, nil and empty if that is not known.
	dir  *tree.Dir
	name string
}

// Vanishing forgets what there is of documents that do not exist any more.
type Vanishing struct {
	c   *Contents
	ctx context.Context // of the mount

	mu      sync.Mutex
	waiting []vanished // +checklocks:mu
	busy    bool       // +checklocks:mu
	// paused is until when the service is not asked.
	paused time.Time // +checklocks:mu
}

// From notes a document that a directory showed under a name. It does not block.
func (v *Vanishing) From(d *tree.Dir, doc archive.ID, name string) { v.note(vanished{doc, d, name}) }

// Documents notes documents that some folder showed in an earlier mount, or in this one.
func (v *Vanishing) Documents(docs []archive.ID) {
	all := make([]vanished, 0, len(docs))
	for _, doc := range docs {
		all = append(all, vanished{doc: doc})
	}
	v.note(all...)
}

func (v *Vanishing) note(all ...vanished) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.waiting = append(v.waiting, all[:min(len(all), mostVanished-len(v.waiting))]...)
	v.startLocked()
}

// Answered notes that the service answers.
func (v *Vanishing) Answered() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.startLocked()
}

// +checklocks:v.mu
func (v *Vanishing) startLocked() {
	if v.busy || len(v.waiting) == 0 || v.c.Service.Now().Before(v.paused) || v.ctx.Err() != nil {
		return
	}
	v.busy = true
	v.c.Service.Work.Go(v.work)
}

// work asks for what waits until nothing does, or the service cannot answer.
func (v *Vanishing) work() {
	for {
		v.mu.Lock()
		all := v.waiting
		v.waiting, v.busy = nil, len(all) > 0
		v.mu.Unlock()
		if len(all) == 0 {
			return
		}
		if left := v.ask(all); len(left) > 0 {
			v.mu.Lock()
			v.waiting = append(left, v.waiting[:min(len(v.waiting), mostVanished-len(left))]...)
			v.busy, v.paused = false, v.c.Service.Now().Add(vanishedPause)
			v.mu.Unlock()
			return
		}
	}
}

// ask asks for documents of which there is something here. It returns those that are left when the service
// cannot answer.
func (v *Vanishing) ask(all []vanished) (left []vanished) {
	here, previews := v.c.Content.Kept.Documents()
	for i, gone := range all {
		path := ""
		if gone.dir != nil {
			path = gone.dir.PathOf(gone.name)
		}
		if !here[gone.doc] && !previews && !v.c.config.Thumbnails.Has(path) {
			continue
		}
		_, err := v.c.Service.Archive.Data(v.ctx, gone.doc)
		switch err = v.c.Service.Answered(err); {
		case archive.KindOf(err) == archive.KindNotFound:
			v.c.Content.Kept.Forget(gone.doc)
			v.c.config.Thumbnails.Remove(path)
			v.c.Service.Log.WithField("document", gone.doc).Info("it is not in the archive any more: what was here of it is removed")
		case archive.Away(err), archive.KindOf(err) == archive.KindUnauthorized, v.ctx.Err() != nil:
			return all[i:]
		}
	}
	return nil
}
