package spool

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
)

// left is what an earlier run left in the journal.
type left struct {
	uploads map[string]*leftUpload
	void    []journal.Pos // entries that nothing needs
	damaged journal.Pos   // up to where something is missing
}

// leftUpload is an upload of an earlier run.
type leftUpload struct {
	record *journal.Replayed // the last one; nil if none is left
	pieces pieces
	bytes  []journal.Replayed // of the pieces
	size   int64
	moved  journal.Pos
}

func newLeft() *left { return &left{uploads: map[string]*leftUpload{}} }

func (l *left) replay(e journal.Replayed) {
	u := l.uploads[e.Key]
	if u == nil {
		u = &leftUpload{}
		l.uploads[e.Key] = u
	}
	switch e.Kind {
	case isRecord:
		if u.record != nil {
			l.void = append(l.void, u.record.At)
		}
		if body, whole := e.Whole(); whole {
			e.Body = body
		}
		u.record = &e
		return
	case isBytes:
		u.bytes = append(u.bytes, e)
		u.size = max(u.size, e.Arg+e.Size)
		l.keep(u, u.pieces.write(piece{e.Arg, e.Size, e.Written}))
		return
	case isFile:
		l.keep(u, nil)
		if u.moved != 0 {
			l.void = append(l.void, u.moved)
		}
		u.moved = e.At
		return
	case isSize:
		u.size = e.Arg
		l.keep(u, u.pieces.cut(e.Arg))
	case isGone:
		l.drop(e.Key)
	}
	l.void = append(l.void, e.At)
}

func (l *left) drop(id string) {
	u := l.uploads[id]
	l.keep(u, nil)
	if u.record != nil {
		l.void = append(l.void, u.record.At)
	}
	if u.moved != 0 {
		l.void = append(l.void, u.moved)
	}
	delete(l.uploads, id)
}

// keep replaces the pieces of an upload.
func (l *left) keep(u *leftUpload, next pieces) {
	u.bytes = slices.DeleteFunc(u.bytes, func(e journal.Replayed) bool {
		gone := !next.has(e.At)
		if gone {
			l.void = append(l.void, e.At)
		}
		return gone
	})
	u.pieces = next
}

// whole reports whether the bytes in the journal are those that were written.
func (u *leftUpload) whole() bool {
	for _, e := range u.bytes {
		if _, ok := e.Whole(); !ok {
			return false
		}
	}
	return true
}

// decode reads the record of the upload id.
func (u *leftUpload) decode(id string) (Record, error) {
	if u.record == nil || u.record.Body == nil {
		return Record{}, errors.New("its record is lost")
	}
	return decode(u.record.Body, id)
}

// recover reads what the last run left. One upload that cannot be read does not keep the others away.
func (s *Spool) recover() error {
	left, err := s.openJournal()
	if err != nil {
		return err
	}
	if left.damaged != 0 {
		s.log.Error("the journal of what waits to be archived is damaged: what it does not know for certain has failed, and is not sent by itself")
	}
	for id, l := range left.uploads {
		switch {
		case !validID(id), l.record == nil && l.moved == 0 && len(l.pieces) == 0:
			continue
		case s.opts.Boot != "" && l.record != nil && !l.record.Current && !l.record.Durable && l.record.At >= left.damaged:
			// The machine crashed before anybody was told anything of it but that the archive has it.
			r, _ := l.decode(id)
			s.log.WithField("upload", id).Warnf("%s/%s: the machine stopped while it was written or sent, so nothing of it is kept here", archive.Printable(r.Path), archive.Printable(r.Name))
			s.crashed[r.Replace] = s.now() // of no document: nobody waits for that (awaitLate)
			left.drop(id)
			if err := s.writeRemoval(id, false); err != nil {
				s.log.Warn(err)
			}
			continue
		}
		u := s.load(id, l, l.record == nil || l.record.At < left.damaged)
		s.remember(u)
		s.ids.seen(id)
		s.budget.add(u.Size())
	}
	for _, at := range left.void {
		s.journal.Release(at)
	}
	if err := s.sweep(); err != nil {
		return err
	}
	return s.fault(PointSwept)
}

// sweep removes the files of uploads that are gone. What is no file of a spool it leaves alone.
func (s *Spool) sweep() error {
	names, err := os.ReadDir(s.dir)
	if err != nil {
		return err
	}
	for _, e := range names {
		id, ofUpload := strings.CutPrefix(e.Name(), dataPrefix)
		switch u, there := s.Get(id); {
		case there && u.content.isInFile(), journal.IsFile(e.Name()):
		case ofUpload && validID(id), e.Name() == probeName:
			if err := os.Remove(filepath.Join(s.dir, e.Name())); err != nil {
				s.log.Warnf("remove what is left of an upload: %v", err)
			}
		default:
			s.log.Warnf("%s is no upload, and left alone", archive.Printable(filepath.Join(s.dir, e.Name())))
		}
	}
	return nil
}

// load reads one upload and makes of it what it can be after a restart. doubted says that records of it may be missing.
func (s *Spool) load(id string, l *leftUpload, doubted bool) *Upload {
	log := s.log.WithField("upload", id)
	r, err := l.decode(id)
	if err != nil {
		log.Error(err)
		now := s.now()
		return s.loadBroken(Record{Version: recordVersion, ID: id, Name: id, Created: now, Changed: now}, l, err)
	}
	if r.State.Written() && !l.whole() {
		log.Error(errDamaged)
		return s.loadBroken(r, l, errDamaged)
	}
	u := newUpload(s, r)
	missing := take(u, l)
	u.mu.Lock()
	defer u.mu.Unlock()
	if r.inDoubt() {
		u.doubt = s.opts.Now() // the last run ended no earlier than that
	}
	if reason := unusable(&r, u.Size(), missing); reason != "" {
		interruptLocked(u, reason)
	} else if doubted && r.State.IsUnsent() {
		log.Warn(errMissed)
		if err := u.insistLocked(onFailShown, synced, (*Record).miss); err != nil {
			log.Warn(err)
		}
	} else if err := u.syncLocked(); err != nil {
		log.Warn(err)
	}
	if r.State == Confirmed {
		s.receipt(u, nil) // the program may have ended before it was written
	}
	return u
}

// take gives an upload the bytes and the place of its record that an earlier run left. It returns why there are none.
func take(u *Upload, l *leftUpload) (missing error) {
	r := u.rec.Load()
	size := l.size
	if l.moved != 0 {
		info, err := os.Lstat(u.content.path)
		switch {
		case err != nil:
			missing, size = err, 0
		case !info.Mode().IsRegular():
			missing, size = errors.New("its data is no file"), 0
		default:
			size = info.Size()
		}
	} else if size = max(size, r.Size); l.size == 0 && r.Size > 0 { // zeros at the end are in no piece
		missing, size = fs.ErrNotExist, 0
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	if l.record != nil {
		u.at, u.durable = l.record.At, l.record.Durable
	}
	c := &u.content
	c.mu.Lock()
	defer c.mu.Unlock()
	c.size.Store(size)
	c.written, c.pieces, c.moved, c.promised = size-r.Unwritten, l.pieces, l.moved, u.durable
	c.files.Lock()
	defer c.files.Unlock()
	if c.inFile = l.moved != 0; c.inFile {
		c.changes = 1
		if u.durable && missing == nil {
			c.durable, c.named = 1, true
		}
	}
	return missing
}

// errMissed says why an upload does not go on by itself whose record is older than damage of the journal: it may have
// been archived, changed or removed since. Whoever retries it has the archive looked at first.
var errMissed = errors.New("the journal is damaged: it may have been archived, changed or removed since, and is looked for before it is sent again")

// loadBroken stands for an upload that cannot be acted on. Nothing of it is changed.
func (s *Spool) loadBroken(r Record, l *leftUpload, err error) *Upload {
	r.State = Unusable
	u := newUpload(s, r)
	_ = take(u, l)
	r.Size = u.Size()
	r.Reason = archive.Printable(err.Error()) + "; its bytes can be exported"
	u.rec.Store(&r)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.doubt = s.opts.Now() // it may have been sent since
	return u
}

// unusable says why an upload cannot go on from where it was, empty when it can. Its data has size bytes, or is missing.
func unusable(r *Record, size int64, missing error) string {
	switch {
	case r.State == Confirmed || r.State.IsFailed() || r.Directory:
		return "" // its data is not needed, or it has a reason already
	case missing != nil:
		return fmt.Sprintf("its data is lost: %v", missing)
	case factsOf[r.State].after != r.State:
		return "was never closed: the program or the machine stopped while it was written"
	case r.Size != size:
		return fmt.Sprintf("its data has %d bytes, %d were written", size, r.Size)
	}
	return ""
}

// interruptLocked makes an upload of an earlier run failed.
// +checklocks:u.mu
func interruptLocked(u *Upload, reason string) {
	r := u.rec.Load()
	u.log.WithField("path", archive.Printable(r.Path+"/"+r.Name)).Warn(reason)
	u.content.seal(true)
	if !u.durable {
		if err := u.content.sync(); err != nil {
			u.log.Warn(err)
		}
	}
	if err := u.insistLocked(onInterrupt, synced, func(r *Record) { r.fail(reason, u.Size()) }); err != nil {
		u.log.Warn(err)
	}
}
