package spool

import (
	"errors"
	"os"
	"path/filepath"
)

// Waiting counts what lies in the spool at dir and belongs into the archive, without opening
// it: what is pending or failed, and what cannot be read. Local files are none of that. The
// caller makes sure that nobody uses the spool.
func Waiting(dir string) (int, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	n := 0
	for _, e := range entries {
		if !validID(e.Name()) {
			continue
		}
		r, _, err := readRecord(filepath.Join(dir, e.Name(), recordFile), e.Name())
		if err != nil || r.State != Confirmed && !r.StaysHere() {
			n++
		}
	}
	return n, nil
}
