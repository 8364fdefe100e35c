package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
)

// recover removes what never became an upload or no longer is one, and reads the rest.
// One upload that cannot be read does not keep the others away.
func (s *Spool) recover() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		name := e.Name()
		switch {
		case strings.HasPrefix(name, newPrefix), strings.HasPrefix(name, trashPrefix):
			if err := os.RemoveAll(filepath.Join(s.dir, name)); err != nil {
				s.log.Warnf("spool: remove a leftover: %v", err)
			}
		case e.IsDir() && validID(name):
			u := s.load(name)
			s.uploads[name] = u
			s.ids.seen(name)
			s.budget.add(u.Size())
		default:
			s.log.Warnf("spool: %s is none of its files and left alone", archive.Printable(name))
		}
	}
	return s.fault(PointSwept)
}

// load reads one upload and makes of it what it can be after a restart.
func (s *Spool) load(id string) *Upload {
	dir := filepath.Join(s.dir, id)
	if err := durable.Sweep(dir); err != nil {
		s.log.WithField("upload", id).Warn(err)
	}
	r, end, err := readRecord(filepath.Join(dir, recordFile), id)
	info, statErr := os.Lstat(filepath.Join(dir, dataFile))
	if statErr == nil && !info.Mode().IsRegular() {
		info, statErr = nil, errors.New("its data is no file")
	}
	if err != nil {
		return s.loadBroken(id, info, err)
	}
	if r.Boot != "" && r.Boot != s.opts.Boot {
		return s.loadLoose(r, info, end)
	}
	u := newUpload(s, r, end)
	u.linked = r.Boot == ""
	if r.inDoubt() {
		u.doubt = s.opts.Now() // the last run ended no earlier than that
	}
	if info != nil {
		u.content.size.Store(info.Size())
	}
	if reason := unusable(&r, info, statErr); reason != "" {
		s.failRecovered(u, reason)
	} else if err := u.secureLocked(); err != nil {
		s.log.WithField("upload", id).Warn(err)
	}
	if r.State == Confirmed {
		u.receipt() // it may have ended in between
	}
	return u
}

// errCrashed says why an upload cannot go on of which nothing was synced when the machine
// stopped. Nobody was told that it is safe.
var errCrashed = errors.New("the machine stopped while it was written or archived: it may be damaged, or in the archive already")

// loadLoose stands for an upload of which nothing was synced when the machine stopped. Its
// record may be older than what was sent, so that it is never sent again, and its bytes may
// be damaged. Nothing of it is changed.
func (s *Spool) loadLoose(r Record, info os.FileInfo, end int64) *Upload {
	s.log.WithField("upload", r.ID).Warn(errCrashed)
	r.State, r.Closed, r.Queued, r.Visible = Failed, false, false, false
	r.Reason = errCrashed.Error() + "; its bytes can be exported"
	if info != nil {
		r.Size = info.Size()
	}
	u := newUpload(s, r, end)
	u.linked, u.broken = true, errCrashed
	u.doubt = s.opts.Now() // it may have been sent since
	u.content.size.Store(r.Size)
	return u
}

// loadBroken stands for a directory whose record cannot be acted on. Nothing of it is
// changed.
func (s *Spool) loadBroken(id string, info os.FileInfo, err error) *Upload {
	s.log.WithField("upload", id).Error(err)
	r := Record{
		Version: recordVersion, ID: id, State: Failed, Name: id,
		Reason: archive.Printable(err.Error()) + "; its bytes can be exported",
	}
	if info != nil {
		r.Created, r.Changed, r.Size = info.ModTime().UTC(), info.ModTime().UTC(), info.Size()
	}
	u := newUpload(s, r, 0)
	u.linked, u.broken = true, err
	u.content.size.Store(r.Size)
	return u
}

// unusable says why an upload cannot go on from where it was, empty when it can.
func unusable(r *Record, info os.FileInfo, err error) string {
	switch {
	case r.State == Confirmed || r.State == Failed || r.Directory:
		return "" // nobody needs its data, or it has a reason already
	case err != nil:
		return fmt.Sprintf("its data is lost: %v", err)
	case r.State == Created && !r.Closed:
		return "was never closed: the program or the machine stopped while it was written"
	case r.Size != info.Size():
		return fmt.Sprintf("its data has %d bytes, %d were written", info.Size(), r.Size)
	}
	return ""
}

// failRecovered makes an upload failed. Where the disk does not take that, it is failed
// for this run and looked at again by the next.
func (s *Spool) failRecovered(u *Upload, reason string) {
	log := s.log.WithField("upload", u.id)
	log.Warn(reason)
	u.content.seal(true)
	r := u.rec.Load().clone()
	r.Doubtful = r.Doubtful || r.State == Sending
	if r.SHA256 == "" {
		r.Size = u.Size()
	}
	r.State, r.Closed, r.Queued, r.Changed = Failed, false, false, s.now()
	r.Reason = archive.Printable(reason)
	if !u.linked {
		if err := u.syncData(); err != nil {
			log.Warn(err)
		}
	}
	err := s.fault(PointRecover)
	if err == nil {
		err = u.storeLocked(&r, theMachine)
	}
	if err == nil {
		err = s.fault(PointRecovered)
	}
	if err != nil {
		log.Warn(err)
		u.rec.Store(&r)
	}
}
