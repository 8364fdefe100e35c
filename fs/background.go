package fs

import (
	"context"
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/internal/spool"
)

// backgroundPatience is how much longer the background looks for what ended in doubt than
// a call does that somebody waits for.
const backgroundPatience = 4

// deliverQueued is the queue's attempt at an upload. wait says that it could not be taken
// now; the error is background.ErrMoot when nothing was left to try, background.ErrInDoubt when it
// may still arrive.
func (s *staging) deliverQueued(ctx context.Context, up *spool.Upload) (wait bool, err error) {
	s.fs.work.Begin()
	defer s.fs.work.End()
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
	_, there := s.spool.Get(up.ID())
	switch {
	case !there:
		return false, background.ErrMoot // removed, or archived, meanwhile
	case cutOff:
		return s.resolve(ctx, up)
	case up.Record().Directory:
		return s.makeQueued(ctx, up)
	}
	return s.holder(up).fs.delivery.deliverQueued(ctx, s.holder(up), up)
}

// deliverable reports whether an upload of the queue can be tried: the folder that it lies
// in is there, or failed, with which the upload fails.
func (s *staging) deliverable(up *spool.Upload) bool {
	folder, waiting := s.spool.Get(up.Record().Within)
	return !waiting || folder.State() == spool.Failed
}

// deliverQueued tries to archive a file that was accepted before. What is refused stays
// in its folder as failed.
func (v *delivery) deliverQueued(ctx context.Context, f *file, up *spool.Upload) (wait bool, err error) {
	f.commit.Lock()
	defer f.commit.Unlock()
	if f.pending() != up || f.gone() || !up.Record().Queued {
		return false, background.ErrMoot // changed, or removed, meanwhile
	}
	if up.State() == spool.Created { // recalled for a change that did not come
		if err := v.recommit(f, up); err != nil {
			return !errors.Is(err, background.ErrMoot), err
		}
	}
	d, _ := f.place()
	if err := v.leaveQueuedFolder(f, up, d); err != nil {
		return false, errors.Join(background.ErrMoot, err)
	}
	var baseline spool.Baseline
	if d != nil {
		baseline = v.fs.lister.baseline(d)
	}
	id, err := v.fs.staging.spool.DeliverWith(ctx, up, v.fs.service.Archive, baseline, v.fs.staging.queuePolicy())
	_ = v.fs.service.Answered(err)
	switch {
	case err == nil:
		v.arrived(ctx, f, up, id)
		return false, nil
	case up.Record().Queued:
		v.fs.log.WithField("path", archive.Printable(f.path())).Infof("waits to be archived: %v", err)
		return true, err
	}
	v.fs.service.Failures.Add("archive", up, f.path(), err)
	v.giveUp(f, up)
	return false, err
}

// recommit makes what was recalled what it was, unless somebody has begun to change it,
// whose close then decides. The caller holds commit.
func (v *delivery) recommit(f *file, up *spool.Upload) error {
	err := up.Recommit()
	var changed *spool.StateError
	switch {
	case errors.As(err, &changed):
		return background.ErrMoot
	case err != nil:
		v.fs.service.Failures.Add("archive", up, f.path(), err)
		return err
	}
	f.happened(onQueue)
	return nil
}

// leaveQueuedFolder gives an upload the id of its folder where that was made at the moment
// the file was put there. Where the folder failed the upload fails.
func (v *delivery) leaveQueuedFolder(f *file, up *spool.Upload, d *dir) error {
	if up.Record().Within == "" {
		return nil
	}
	if d != nil && d.queuedAs() == nil {
		return up.Update(d.aim)
	}
	return v.fs.staging.failInFolder(up)
}

// failInFolder fails an upload of the queue because the folder that it lies in was not
// made, unless that is tried again by now. The error is never nil.
func (s *staging) failInFolder(up *spool.Upload) error {
	r := up.Record()
	folder, there := s.spool.Get(r.Within)
	if there && folder.State() != spool.Failed {
		s.queue.Add(up) // behind its folder
		return background.ErrMoot
	}
	err := errors.New("the folder that it was put into was discarded")
	if there {
		err = errors.New(whyWaits(s.spool, &r))
	}
	s.fs.service.Failures.Add("archive", up, r.Path+"/"+r.Name, err)
	return errors.Join(err, up.Fail(err.Error(), true))
}

func (s *staging) queuePolicy() spool.Policy {
	return spool.Policy{RetryFor: backgroundPatience * s.fs.opts.RetryFor, Attempts: 1, Queue: true}
}

// gone reports whether the file's name was removed.
func (f *file) gone() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.phase == removed
}

// holder returns the file that stands for an upload: the one in the tree, or one that no
// folder shows.
func (s *staging) holder(up *spool.Upload) *file {
	s.mu.Lock()
	defer s.mu.Unlock()
	if held := s.holders[up.ID()]; held != nil {
		return held
	}
	held := newFile(s.fs, s.fs.inodes.Local(), nil, nil, nil, up)
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
