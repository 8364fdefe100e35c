package spool

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/redolog"
)

// Create begins an empty file, with the descriptive fields of r. It is volatile: Sync and the
// transitions make it durable.
func (s *Spool) Create(r Record) (*Upload, error) {
	r = s.fresh(r)
	r.Boot = s.opts.Boot
	end, err := s.build(&r)
	if err != nil {
		return nil, fmt.Errorf("create an upload: %w", err)
	}
	u := newUpload(s, r, end, 0, false)
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

func (s *Spool) forget(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.uploads, id)
}

// Prefixes of the hidden names of directories that are not yet, or no longer, uploads.
const (
	newPrefix   = ".new-"
	trashPrefix = ".trash-"
)

// uploadSize is what an upload takes of the disk beside its bytes, generously: a
// directory, a record, and room to replace that.
const uploadSize = 16 << 10

// build makes the directory of a new upload: under a hidden name, then under its own. end is
// where the record ends in its file. The error is ENOSPC when that would take of the reserve:
// uploads need it to be recorded as sent, and thousands of refused ones would use it up.
func (s *Spool) build(r *Record) (end int64, err error) {
	record, err := r.encode()
	if err != nil {
		return 0, err
	}
	if err := s.saw(s.budget.take(uploadSize, 0)); err != nil {
		return 0, err
	}
	defer s.budget.done(uploadSize, 0, 0)
	hidden, again := s.trash.take()
	if !again {
		hidden = filepath.Join(s.dir, newPrefix+r.ID)
		if err := s.saw(os.Mkdir(hidden, 0o700)); err != nil {
			return 0, err
		}
	}
	err = s.fill(hidden, r.ID, record, r.Directory)
	if err == nil {
		err = durable.RenameUnsynced(hidden, filepath.Join(s.dir, r.ID))
	}
	if err != nil {
		return 0, errors.Join(s.saw(err), os.RemoveAll(hidden))
	}
	return int64(len(record)), s.fault(PointCreateShown)
}

// fill makes the files of an upload; those of a folder are a record, which is durable.
func (s *Spool) fill(dir, id string, record []byte, folder bool) error {
	if !folder {
		data, err := durable.OpenFile(filepath.Join(dir, dataFile(id)), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		if err := data.Close(); err != nil {
			return err
		}
	}
	write := overwrite
	if folder {
		write = durable.WriteFile
	}
	if err := write(filepath.Join(dir, recordFile), record, 0o600); err != nil {
		return err
	}
	return s.fault(PointCreateBuilt)
}

// overwrite makes b all that stands in a file. It does not empty the file first, because file
// systems then write the new bytes at its close.
func overwrite(path string, b []byte, perm os.FileMode) error {
	f, err := durable.OpenFile(path, os.O_WRONLY|os.O_CREATE|unix.O_NOFOLLOW, perm)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err == nil {
		_, err = f.Write(b)
	}
	if err == nil && info.Size() > int64(len(b)) {
		err = f.Truncate(int64(len(b)))
	}
	return errors.Join(err, f.Close())
}

// hide makes the directory of an upload disappear, durably when sync is set, so that a
// crash cannot bring back half of it.
func (s *Spool) hide(id string, sync bool) (trash string, err error) {
	dir := filepath.Join(s.dir, id)
	trash = filepath.Join(s.dir, trashPrefix+id)
	err = durable.RenameUnsynced(dir, trash)
	if err == nil && sync {
		if err = s.syncRemoval(id); err != nil {
			err = errors.Join(err, os.Rename(trash, dir)) // the upload is still there
		}
	}
	if err != nil {
		return "", fmt.Errorf("remove upload %s: %w", id, err)
	}
	return trash, nil
}

// syncRemoval makes the removal of an upload durable.
func (s *Spool) syncRemoval(id string) error { return s.writeRemoval(id)() }

// writeRemoval writes that an upload is removed. What it returns makes that durable, and that of all
// written before.
func (s *Spool) writeRemoval(id string) (sync func() error) {
	w, err := redolog.Written{}, redolog.ErrFull
	if s.redo != nil {
		w, err = s.redo.Write(redolog.Entry{Key: id, Meta: []byte{isGone}})
	}
	return func() error {
		switch {
		case err == nil:
			return s.redo.Sync(w)
		case !errors.Is(err, redolog.ErrFull):
			return err
		}
		return durable.SyncDir(s.dir)
	}
}

// idLength is the length of an id: nanoseconds since 1970 in base 36, enough until 2120.
const idLength = 12

// validID reports whether s is an id. It then is a harmless file name.
func validID(s string) bool {
	return len(s) == idLength && strings.Trim(s, "0123456789abcdefghijklmnopqrstuvwxyz") == ""
}

// ids gives out ids that ascend, also when the clock does not.
type ids struct {
	mu   sync.Mutex
	last int64 // +checklocks:mu
}

// seen notes an id that is in use.
func (g *ids) seen(id string) {
	n, _ := strconv.ParseInt(id, 36, 64) // each id fits
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, n)
}

// next returns an id that was not given out and not seen.
func (g *ids) next(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(now.UnixNano(), g.last+1, 0)
	s := strconv.FormatInt(g.last, 36)
	return strings.Repeat("0", max(0, idLength-len(s))) + s
}
