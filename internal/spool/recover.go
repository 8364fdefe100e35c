package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
)

// recover removes what never became an upload or no longer is one, and reads the rest.
// One upload that cannot be read does not keep the others away.
func (s *Spool) recover() error {
	entries, err := os.ReadDir(s.dir)
	removed := func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), trashPrefix) }
	if err == nil && slices.ContainsFunc(entries, removed) {
		err = durable.SyncDir(s.dir) // the last run may have ended before it did that (SyncRemovals)
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, trashPrefix):
			if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
				s.log.Warnf("remove what is left of an upload: %v", err)
			}
		case e.IsDir() && validID(name):
			u := s.load(name)
			s.remember(u)
			s.ids.seen(name)
			s.budget.add(u.Size())
		default:
			s.log.Warnf("%s is no upload, and left alone", archive.Printable(filepath.Join(s.dir, name)))
		}
	}
	return s.fault(PointSwept)
}

// load reads one upload and makes of it what it can be after a restart.
func (s *Spool) load(id string) *Upload {
	log := s.log.WithField("upload", id)
	dir := filepath.Join(s.dir, id)
	if err := durable.Sweep(dir); err != nil {
		log.Warn(err)
	}
	r, end, err := readRecord(filepath.Join(dir, recordFile), id)
	info, statErr := os.Lstat(filepath.Join(dir, dataFile(id)))
	if statErr == nil && !info.Mode().IsRegular() {
		info, statErr = nil, errors.New("its data is no file")
	}
	var size int64
	if info != nil {
		size = info.Size()
	}
	if err != nil {
		log.Error(err)
		r = Record{Version: recordVersion, ID: id, Name: id}
		if info != nil {
			r.Created, r.Changed = info.ModTime().UTC(), info.ModTime().UTC()
		}
		return s.loadBroken(r, 0, size, err)
	}
	if r.Boot != "" && r.Boot != s.opts.Boot {
		log.Warn(errCrashed)
		if info == nil {
			size = r.Size
		}
		return s.loadBroken(r, end, size, errCrashed)
	}
	if r.Announced != s.opts.Boot {
		r.survive()
	}
	u := newUpload(s, r, end, size, r.Boot == "")
	s.countAnnounced(&Record{}, &r)
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.inDoubt() {
		u.doubt = s.opts.Now() // the last run ended no earlier than that
	}
	if reason := unusable(&r, info, statErr); reason != "" {
		u.interruptLocked(reason)
	} else if err := u.syncLocked(); err != nil {
		log.Warn(err)
	}
	if r.State == Confirmed {
		s.receipt(u, nil) // the program may have ended before it was written
	}
	return u
}

// errCrashed says why a volatile upload cannot go on after a crash of the machine: its record may
// be older than what was sent, so that it is never sent again, and its bytes may be damaged.
// Nobody was told that it is safe.
var errCrashed = errors.New("the machine stopped while it was written or archived: it may be damaged, or in the archive already")

// loadBroken stands for an upload that cannot be acted on. Nothing of it is changed.
func (s *Spool) loadBroken(r Record, end, size int64, err error) *Upload {
	r.State, r.Closed, r.Queued, r.Visible, r.Announced, r.Size = Failed, false, false, false, "", size
	r.Reason = archive.Printable(err.Error()) + "; its bytes can be exported"
	u := newUpload(s, r, end, size, true)
	u.broken = err
	u.mu.Lock()
	defer u.mu.Unlock()
	u.doubt = s.opts.Now() // it may have been sent since
	return u
}

// unusable says why an upload cannot go on from where it was, empty when it can.
func unusable(r *Record, info os.FileInfo, err error) string {
	switch {
	case r.State == Confirmed || r.State == Failed || r.Directory:
		return "" // its data is not needed, or it has a reason already
	case err != nil:
		return fmt.Sprintf("its data is lost: %v", err)
	case r.State == Created && !r.Closed:
		return "was never closed: the program or the machine stopped while it was written"
	case r.Size != info.Size():
		return fmt.Sprintf("its data has %d bytes, %d were written", info.Size(), r.Size)
	}
	return ""
}

// interruptLocked makes an upload of an earlier run failed.
// +checklocks:u.mu
func (u *Upload) interruptLocked(reason string) {
	u.log.Warn(reason)
	u.content.seal(true)
	if !u.journal.durable {
		if err := u.content.sync(); err != nil {
			u.log.Warn(err)
		}
	}
	if err := u.insistLocked(onInterrupt, synced, func(r *Record) { r.fail(reason, r.Visible, u.Size()) }); err != nil {
		u.log.Warn(err)
	}
}
