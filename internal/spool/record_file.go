package spool

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
)

// recordVersion is the version of the records that are written; others are not read.
const recordVersion = 1

const (
	// recordLimit bounds a record in bytes: some hundred thousand documents of a baseline.
	recordLimit = 16 << 20
	// recordRoom is from which length in bytes the file of a record is written anew, with the
	// last one alone.
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

// appendRecord puts a record into the file at path, where the last one ends, and returns
// where it ends itself. Whatever fails, the last one stands. With sync it survives a crash of
// the machine, if the file's name does. A file that has grown long is written anew.
func appendRecord(path string, end int64, r *Record, sync bool) (int64, error) {
	b, err := r.encode()
	if err != nil {
		return end, err
	}
	size := int64(len(b))
	if end+size > max(recordRoom, 2*size) {
		return replaceRecord(path, end, b)
	}
	f, err := os.OpenFile(path, os.O_WRONLY|unix.O_NOFOLLOW, 0) //nolint:gosec // below the spool's own directory
	if err != nil {
		return end, err
	}
	defer f.Close() //nolint:errcheck // what was written is synced, or need not be
	info, err := f.Stat()
	switch {
	case err != nil:
		return end, err
	case info.Size() < end: // written anew, which ended with an error
		return replaceRecord(path, end, b)
	case info.Size() > end: // what a crash, or a disk that failed, left of another one
		if err := f.Truncate(end); err != nil {
			return end, err
		}
	}
	if _, err := f.WriteAt(b, end); err != nil {
		return end, err
	}
	if sync {
		if err := durable.SyncData(f); err != nil {
			return end, err
		}
	}
	return end + size, nil
}

// replaceRecord makes b all that stands in the file at path.
func replaceRecord(path string, end int64, b []byte) (int64, error) {
	if err := durable.WriteFile(path, b, 0o600); err != nil {
		return end, err
	}
	return int64(len(b)), nil
}
