package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
	"github.com/archivefs/archivefs/internal/spool"
)

// changePause is the pause after so many attempts of a change, unless the service asks for another
// one.
func changePause(attempts int) time.Duration {
	return retry.Backoff{First: 100 * time.Millisecond, Longest: 5 * time.Second}.After(attempts)
}

// Change carries out a request that must take effect exactly once. If its end is in doubt, took
// looks for the effect; the request is repeated only if there is none, for as long as RetryFor
// allows. After a time-out it is not repeated, because the service may still be working on it. A
// Retry-After is obeyed, unless the service does not even answer a look.
func (s *Service) Change(ctx context.Context, do func(context.Context) error, took func(context.Context) (bool, error)) error {
	budget := retry.NewBudget(s.Now(), s.RetryFor)
	for attempts := 1; ; {
		err := do(ctx)
		if err == nil || !archive.Doubtful(err) {
			return err
		}
		ended, asked := s.Now(), archive.RetryAfter(err)
		again := archive.KindOf(err) != archive.KindTimeout && budget.Grant(asked)
		for _, after := range []time.Duration{changePause(attempts), asked} {
			wait := after - s.Now().Sub(ended)
			if wait <= 0 {
				continue
			}
			if werr := s.Sleep(ctx, wait); werr != nil {
				return err
			}
			done, lerr := took(ctx)
			switch {
			case lerr != nil:
				return fmt.Errorf("%w; looking for its effect failed: %s", err, lerr.Error()) // the next listing may show it
			case done:
				return nil
			case !again, budget.Left(s.Now()) < 0:
				return err
			}
		}
		if asked == 0 {
			attempts++
		}
	}
}

// ErrElsewhere says that a document has left its inbox for another place than the requested one:
// somebody else archived it, or an earlier request that timed out.
var ErrElsewhere = errors.New("it has left the inbox for another place or name")

// LookLate looks for a document that has left its inbox, for as long as a service may take to list
// it in its folder. The error says that it is not there.
func (s *Service) LookLate(ctx context.Context, look func(context.Context) (bool, error)) (bool, error) {
	end := s.Now().Add(spool.LookFor(s.RetryFor))
	for looks := 1; ; looks++ {
		switch found, err := look(ctx); {
		case found:
			return true, nil
		case err != nil && !archive.Away(err):
			return false, err
		case s.Now().After(end):
			return false, cmp.Or(err, ErrElsewhere)
		}
		if err := s.Sleep(ctx, changePause(looks)); err != nil {
			return false, err
		}
	}
}

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
