package spool

import (
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/durable"
)

// recordVersion is the version of the records that are written; others are not read.
const recordVersion = 1

// recordLimit bounds a record in bytes: some hundred thousand documents of a baseline.
const recordLimit = 16 << 20

// encode returns the record as it stands on disk.
func (r *Record) encode() ([]byte, error) {
	if err := r.check(); err != nil {
		return nil, err
	}
	b, err := json.MarshalIndent(r, "", "  ")
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
	case !r.EmailImportOrder.Valid():
		return fmt.Errorf("unknown e-mail import order %q", archive.Printable(string(r.EmailImportOrder)))
	case r.ForceNew > archive.FlagTrue:
		return errors.New("unknown value of force-new")
	case r.needsSum() && !validSum(r.SHA256), r.State == Sending && r.SentSHA256 != r.SHA256:
		return errors.New("no checksum of its data")
	case r.Directory && r.State == Created:
		return errors.New("a folder is not written to")
	case r.State == Sending && !r.Directory && r.SentReplace == 0 && r.SentID == "":
		return errors.New("no external id although it is being sent")
	}
	texts := append([]string{r.Path, r.Name, r.DocumentName, r.ExternalID}, r.Local...)
	texts = append(append(texts, r.Keywords...), r.Types...)
	for _, kv := range r.Metadata {
		texts = append(texts, kv.Key, kv.Value)
	}
	for _, s := range texts {
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

// readRecord reads the record file at path, which belongs to the upload id.
func readRecord(path, id string) (Record, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|unix.O_NOFOLLOW, 0) //nolint:gosec // below the spool's own directory
	if err != nil {
		return Record{}, fmt.Errorf("its record cannot be opened: %w", err)
	}
	defer f.Close() //nolint:errcheck // read only
	b, err := io.ReadAll(io.LimitReader(f, recordLimit+1))
	if err != nil {
		return Record{}, fmt.Errorf("its record cannot be read: %w", err)
	}
	if len(b) > recordLimit {
		return Record{}, errors.New("broken record: it is too large")
	}
	return decode(b, id)
}

// writeRecord replaces the record file at path. Unless sync is set it survives an end of
// the program, not one of the machine.
func writeRecord(path string, r *Record, sync bool) error {
	b, err := r.encode()
	if err != nil {
		return err
	}
	if sync {
		return durable.WriteFile(path, b, 0o600)
	}
	f, err := durable.CreateTemp(filepath.Dir(path))
	if err != nil {
		return err
	}
	if _, err := f.Write(b); err != nil {
		return durable.Discard(f, fmt.Errorf("write record: %w", err))
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return durable.Discard(f, fmt.Errorf("publish record: %w", err))
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("close record: %w", err)
	}
	return nil
}
