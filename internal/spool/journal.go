package spool

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/redolog"
)

// recordVersion is the version of the records that are written; others are not read.
const recordVersion = 1

const (
	// recordLimit bounds a record in bytes: some hundred thousand documents of a baseline.
	recordLimit = 16 << 20
	// recordRoom is from which length in bytes the file is written anew, with the last record
	// alone.
	recordRoom = 8 << 10
)

// encode returns the record as it stands on disk: a line of JSON.
func (r *Record) encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	b, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	if len(b) >= recordLimit {
		return nil, fmt.Errorf("the record is larger than %d bytes: %w", recordLimit, syscall.E2BIG)
	}
	return append(b, '\n'), nil
}

// decode reads the record of the upload id.
func decode(b []byte, id string) (Record, error) {
	var head struct {
		Version int `json:"version"`
	}
	if err := json.Unmarshal(b, &head); err != nil {
		return Record{}, fmt.Errorf("broken record: %w", err)
	}
	if head.Version != recordVersion {
		return Record{}, fmt.Errorf("record of version %d, this program reads version %d", head.Version, recordVersion)
	}
	var r Record
	if err := json.Unmarshal(b, &r); err != nil {
		return Record{}, fmt.Errorf("broken record: %w", err)
	}
	if r.ID != id {
		return Record{}, fmt.Errorf("broken record: it is of upload %q", archive.Printable(r.ID))
	}
	if err := r.check(); err != nil {
		return Record{}, fmt.Errorf("broken record: %w", err)
	}
	return r, nil
}

// check refuses a record that could not be acted on. A text that is no UTF-8 would not be
// the same after a restart, so it is refused as EILSEQ.
func (r *Record) check() error {
	switch {
	case !validID(r.ID):
		return errors.New("no id")
	case !r.State.known():
		return fmt.Errorf("unknown state %q", archive.Printable(string(r.State)))
	case r.Size < 0:
		return errors.New("negative size")
	case r.needsSum() && !validSum(r.SHA256), r.State == Sending && r.SentSHA256 != r.SHA256:
		return errors.New("no checksum of its data")
	case r.Directory && r.State == Created:
		return errors.New("a folder is not written to")
	case r.State == Sending && !r.Directory && r.SentReplace == 0 && r.SentID == "":
		return errors.New("no external id although it is being sent")
	}
	if err := r.CheckAttributes(); err != nil {
		return err
	}
	for _, s := range slices.Concat([]string{r.Path, r.Name, r.DocumentName}, r.Local, r.AttributeTexts()) {
		if !utf8.ValidString(s) {
			return fmt.Errorf("%s is no UTF-8: %w", archive.Printable(s), syscall.EILSEQ)
		}
	}
	return nil
}

func (r *Record) needsSum() bool {
	return !r.Directory && (r.State == Committed || r.State == Sending || r.State == Confirmed)
}

// validSum reports whether s is a SHA-256 in hexadecimal.
func validSum(s string) bool {
	b, err := hex.DecodeString(s)
	return err == nil && len(b) == 32
}

// readRecord reads the record file at path, which belongs to the upload id. end is where the
// last record in it ends.
func readRecord(path, id string) (r Record, end int64, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0) //nolint:gosec // below the spool's own directory
	if err != nil {
		return Record{}, 0, fmt.Errorf("its record cannot be opened: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	b, err := io.ReadAll(io.LimitReader(f, 2*recordLimit+1))
	if err != nil {
		return Record{}, 0, fmt.Errorf("its record cannot be read: %w", err)
	}
	if len(b) > 2*recordLimit {
		return Record{}, 0, errors.New("broken record: it is too large")
	}
	last, end := lastObject(b)
	r, err = decode(last, id)
	return r, end, err
}

// lastObject returns the last of the JSON objects that b begins with, and where it ends. What
// comes after them is what a crash left of another one. Without any it returns b.
func lastObject(b []byte) (last []byte, end int64) {
	last = b
	for d := json.NewDecoder(bytes.NewReader(b)); ; {
		var value json.RawMessage
		if err := d.Decode(&value); err != nil || value[0] != '{' {
			return last, end
		}
		last, end = value, d.InputOffset()
	}
}

// durability says what a record survives beside an end of the program.
type durability uint8

const (
	// asBefore: what the one before it survives. Once one is durable all are, because nobody
	// could tell which of them a crash of the machine left.
	asBefore durability = iota
	// synced: a crash of the machine.
	synced
	// unsynced: nothing more. Then the one before it stands, or none, and either will do.
	unsynced
)

// journal is the file of an upload's records, one behind the other, and the names that lead to it.
type journal struct {
	dir     string       // of the upload
	boot    string       // Options.Boot
	redo    *redolog.Log // nil for none
	end     int64        // of the last record
	durable bool         // a record is durable, and the names that lead to it, in place or by the redo log
	named   bool         // these names are durable in place
	logged  bool         // the redo log may have entries of the upload
	body    int          // changes of the bytes (content.changes) that these know of
}

// volatile reports whether nothing of an upload whose next record is r is synced: nobody was told
// that it is safe, nor is by what comes next, the close that archives it. What a crash leaves of
// it is recognised by its record (Record.Boot).
func (j *journal) volatile(r *Record) bool { return !j.durable && !r.Queued && j.boot != "" }

// write writes a record of an upload whose bytes are data. If it is to be durable then so are the
// bytes: by the redo log, or in place if they are many or the log has no room.
func (j *journal) write(r *Record, as durability, data *content) error {
	sync := as == synced || j.durable && as == asBefore
	r.Boot = ""
	if !sync && !j.durable {
		r.Boot = j.boot
	}
	b, err := r.encode()
	if err != nil {
		return err
	}
	if !sync {
		return j.append(b, false)
	}
	stale := j.logged && j.body != data.seen() // a replay would bring back older bytes
	needed := !r.Directory && r.State != Confirmed && !data.isLost() && (!j.durable || data.isDirty() || stale)
	if j.redo != nil && (!needed || data.size.Load() <= j.redo.Most()) {
		err = j.log(b, data, needed)
	} else {
		err = redolog.ErrFull
	}
	if errors.Is(err, redolog.ErrFull) {
		err = j.inPlace(b, data, needed)
	}
	j.durable = j.durable || err == nil
	return err
}

// log makes a record durable by the redo log, with the bytes if they are needed.
func (j *journal) log(b []byte, data *content, needed bool) error {
	e := redolog.Entry{Key: filepath.Base(j.dir), Meta: meta(asLogged, b)}
	end, written := j.end, data.seen()
	if needed {
		if _, err := data.acquire(); err != nil {
			data.lose()
			return err
		}
		defer data.release()
		e.Body = io.NewSectionReader(data, 0, data.size.Load())
	}
	if err := j.append(b, false); err != nil {
		return err
	}
	err := j.redo.Append(e)
	j.logged = j.logged || !errors.Is(err, redolog.ErrFull)
	if err != nil {
		j.end = end
		return err
	}
	if needed {
		j.body = written
		data.saved(written)
	}
	return nil
}

// inPlace makes a record durable where it stands, after the bytes if they are needed. For the first
// one the disk is asked at once for the record and for the names of the upload's files and of its
// directory.
func (j *journal) inPlace(b []byte, data *content, needed bool) error {
	written := data.seen()
	if needed && data.isDirty() {
		if err := data.sync(); err != nil {
			return err
		}
	}
	var names errgroup.Group
	if !j.named {
		names.Go(func() error { return durable.SyncDir(j.dir) })
		names.Go(func() error { return durable.SyncDir(filepath.Dir(j.dir)) })
	}
	err := j.append(b, true)
	if err = errors.Join(err, names.Wait()); err != nil {
		return err
	}
	j.named = true
	if !j.logged {
		return nil
	}
	err = j.redo.Append(redolog.Entry{Key: filepath.Base(j.dir), Meta: meta(isInPlace, b)}) // else a replay would undo it
	if errors.Is(err, redolog.ErrFull) {
		j.logged, err = false, nil
	}
	j.body = written
	return err
}

// append puts a record behind the last one, which stands whatever fails. A file that has grown
// long is written anew.
func (j *journal) append(b []byte, sync bool) error {
	path, size := filepath.Join(j.dir, recordFile), int64(len(b))
	if j.end+size > max(recordRoom, 2*size) {
		return j.replace(path, b)
	}
	f, err := durable.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW, 0)
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // what was written is synced, or need not be
	info, err := f.Stat()
	switch {
	case err != nil:
		return err
	case info.Size() < j.end: // written anew, which ended with an error
		return j.replace(path, b)
	case info.Size() > j.end: // what a crash, or a disk that failed, left of another one
		if err := f.Truncate(j.end); err != nil {
			return err
		}
	}
	if _, err := f.WriteAt(b, j.end); err != nil {
		return err
	}
	if sync {
		if err := durable.SyncData(f); err != nil {
			return err
		}
	}
	j.end += size
	return nil
}

// replace makes b all that stands in the file.
func (j *journal) replace(path string, b []byte) error {
	if err := durable.WriteFile(path, b, 0o600); err != nil {
		return err
	}
	j.end = int64(len(b))
	return nil
}
