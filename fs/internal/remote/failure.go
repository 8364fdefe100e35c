package remote

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/spool"
)

// keptFailures is how many failures the status shows.
const keptFailures = 8

// Failure is something that went wrong.
type Failure struct {
	Time time.Time `json:"time"`
	Text string    `json:"text"`
	// Mended is when the upload succeeded after all; another file of its name does not count.
	Mended time.Time `json:"mended,omitzero"`

	upload  string // the id of the failed upload
	refused bool   // it is about the credentials
}

// Refused reports whether the service refuses the credentials. A nil Failure is none.
func (e *Failure) Refused() bool { return e != nil && e.refused }

// Says reports whether the failure persists, for that reason.
func (e *Failure) Says(reason string) bool {
	return e.Mended.IsZero() && strings.HasSuffix(e.Text, reason)
}

// Notifier is told what a person should know who looks at no terminal. Its methods neither wait nor
// call the file system. Paths and reasons are printable.
type Notifier interface {
	// UploadFailed: the archive lacks a file for that reason, although its close may have accepted it.
	UploadFailed(id, path, reason string)
	// UploadArrived: the archive has the file of an upload that may have failed before.
	UploadArrived(id string)
	// Refused: the service refuses the credentials, for that reason.
	Refused(reason string)
}

// nobody is the Notifier of a file system that has none.
type nobody struct{}

func (nobody) UploadFailed(_, _, _ string) {}
func (nobody) UploadArrived(string)        {}
func (nobody) Refused(string)              {}

// Failures logs failures of uploads, and keeps the newest for the status.
type Failures struct {
	log      logrus.FieldLogger
	now      func() time.Time
	notifier Notifier

	mu sync.Mutex
	// list has the newest first.
	list []Failure // +checklocks:mu
}

// AddFailed records that an upload or a queued folder has failed, and notifies the person.
func (f *Failures) AddFailed(what string, up *spool.Upload, path string, err error) {
	f.Add(what, up, path, err)
	if !errors.Is(err, context.Canceled) {
		reason := strings.TrimPrefix(err.Error(), "upload "+up.ID()+": ") // which tells a person nothing
		f.notifier.UploadFailed(up.ID(), archive.Printable(path), archive.Printable(reason))
	}
}

// Add records that something else went wrong with an upload or a queued folder. A cancelled request is
// not a failure.
func (f *Failures) Add(what string, up *spool.Upload, path string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	path = archive.Printable(path)
	f.log.WithField("path", path).Errorf("%s: %v", what, err)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list = slices.Insert(f.list, 0, Failure{Time: f.now(), Text: what + " " + path + ": " + err.Error(), upload: up.ID()})
	f.list = f.list[:min(len(f.list), keptFailures)]
}

// Mend records that an upload or a queued folder has succeeded.
func (f *Failures) Mend(r *spool.Record) {
	f.notifier.UploadArrived(r.ID)
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range f.list {
		if e := &f.list[i]; e.upload == r.ID && e.Mended.IsZero() {
			e.Mended = f.now()
		}
	}
}

// List returns the newest failures, the newest first.
func (f *Failures) List() []Failure {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.list)
}
