package fs

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// keptFailures is how many things that went wrong the status tells.
const keptFailures = 8

// Failure is something that went wrong.
type Failure struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
	// Mended is when the archive took after all what failed, and not another file of its name.
	Mended time.Time `json:"mended,omitzero"`

	upload  string // the id of what failed
	refused bool   // it is about the credentials
}

// says reports whether it is still so, and for that reason.
func (e *Failure) says(reason string) bool {
	return e.Mended.IsZero() && strings.HasSuffix(e.Text, reason)
}

// failed logs what went wrong with an upload, or a folder to be made, and remembers it for the
// status.
func (f *FileSystem) failed(what string, up *spool.Upload, path string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	path = archive.Printable(path)
	f.log.WithField("path", path).Errorf("%s: %v", what, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = slices.Insert(f.failures, 0, Failure{Time: f.now(), Text: what + " " + path + ": " + err.Error(), upload: up.ID()})
	f.failures = f.failures[:min(len(f.failures), keptFailures)]
}

// mended notes that the archive has what an upload, or a folder to be made, was about.
func (f *FileSystem) mended(r *spool.Record) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.failures {
		if e := &f.failures[i]; e.upload == r.ID && e.Mended.IsZero() {
			e.Mended = f.now()
		}
	}
}
