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
	// Mended is when the archive took what it is about after all.
	Mended time.Time `json:"mended,omitzero"`

	path    string // of a file or folder, escaped
	refused bool   // it is about the credentials
}

// says reports whether it is still so, and for that reason.
func (e *Failure) says(reason string) bool {
	return e.Mended.IsZero() && strings.HasSuffix(e.Text, reason)
}

// failed logs what went wrong with a change and remembers it for the status.
func (f *FileSystem) failed(what, path string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	path = archive.Printable(path)
	f.log.WithField("path", path).Errorf("%s: %v", what, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.failures = slices.Insert(f.failures, 0, Failure{Time: f.now(), Text: what + " " + path + ": " + err.Error(), path: path})
	f.failures = f.failures[:min(len(f.failures), keptFailures)]
}

// mended notes that the archive has what an upload, or a folder to be made, was about.
func (f *FileSystem) mended(r *spool.Record) {
	path := archive.Printable(r.Path + "/" + r.Name)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.failures {
		if e := &f.failures[i]; e.path == path && e.Mended.IsZero() {
			e.Mended = f.now()
		}
	}
}
