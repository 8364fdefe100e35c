package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/archivefs/archivefs/internal/durable"
)

// Create begins an empty file, with the descriptive fields of r. It survives an end of
// the program; Sync and the transitions make it survive one of the machine.
func (s *Spool) Create(r Record) (*Upload, error) {
	r = s.fresh(r)
	r.Boot = s.opts.Boot
	end, err := s.build(&r)
	if err != nil {
		return nil, fmt.Errorf("spool: create: %w", err)
	}
	u := newUpload(s, r, end)
	s.remember(u)
	return u, nil
}

// fresh is the record of a new upload with the descriptive fields of r.
func (s *Spool) fresh(r Record) Record {
	now := s.now()
	r = r.clone()
	blank := Record{Version: recordVersion, ID: s.ids.next(now), State: Created, Created: now, Changed: now}
	blank.keepOwned(&r)
	r.Visible, r.Queued, r.Directory = false, false, false
	return r
}

// remember makes an upload one of the spool's.
func (s *Spool) remember(u *Upload) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.uploads[u.id] = u
}

// Prefixes of the hidden names of directories that are not yet, or no longer, uploads.
const (
	newPrefix   = ".new-"
	trashPrefix = ".trash-"
)

// uploadSize is what an upload takes of the disk beside its bytes, generously: a
// directory, a record, and room to replace that.
const uploadSize = 16 << 10

// build makes the directory of a new upload: under a hidden name, then under its own. The
// error is ENOSPC when that would take of the reserve: uploads need it to be recorded as
// sent, and thousands of refused ones would use it up.
//
// It returns where the record ends in its file.
func (s *Spool) build(r *Record) (end int64, err error) {
	record, err := r.encode()
	if err != nil {
		return 0, err
	}
	if err := s.saw(s.budget.take(uploadSize, 0)); err != nil {
		return 0, err
	}
	defer s.budget.done(uploadSize, 0, 0)
	hidden := filepath.Join(s.dir, newPrefix+r.ID)
	if err := s.saw(os.Mkdir(hidden, 0o700)); err != nil {
		return 0, err
	}
	err = s.fill(hidden, record, r.Directory)
	if err == nil {
		err = os.Rename(hidden, filepath.Join(s.dir, r.ID))
	}
	if err != nil {
		return 0, errors.Join(s.saw(err), os.RemoveAll(hidden))
	}
	return int64(len(record)), s.fault(PointCreateShown)
}

// fill makes the files of an upload; those of a folder are a record, which is durable.
func (s *Spool) fill(dir string, record []byte, folder bool) error {
	if !folder {
		data, err := os.OpenFile(filepath.Join(dir, dataFile), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600) //nolint:gosec // below the spool's own directory
		if err != nil {
			return err
		}
		if err := data.Close(); err != nil {
			return err
		}
	}
	write := os.WriteFile
	if folder {
		write = durable.WriteFile
	}
	if err := write(filepath.Join(dir, recordFile), record, 0o600); err != nil {
		return err
	}
	return s.fault(PointCreateBuilt)
}

// hide makes the directory of an upload disappear, durably when sync is set, so that a
// crash cannot bring back half of it.
func (s *Spool) hide(id string, sync bool) (trash string, err error) {
	trash = filepath.Join(s.dir, trashPrefix+id)
	rename := os.Rename
	if sync {
		rename = durable.Rename
	}
	if err := rename(filepath.Join(s.dir, id), trash); err != nil {
		return "", fmt.Errorf("spool: remove upload %s: %w", id, err)
	}
	return trash, nil
}

func (s *Spool) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, id)
}
