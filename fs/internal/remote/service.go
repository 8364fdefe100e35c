// Package remote is the archive service as the file system sees it: recent listings, health,
// failures, and changes that must take effect exactly once.
//
// It knows neither directories nor files: a folder is its id.
package remote

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/internal/retry"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// Archive is the part of the archive service that the file system uses.
type Archive interface {
	spool.Archive // and so the documents of a folder
	xattr.Service
	ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error)
	Search(ctx context.Context, s archive.Search, limit int) (archive.Hits, error)
	Stats() []archive.OperationStats
	Children(ctx context.Context, parent archive.ID) (archive.Structure, error)
	Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error)
	Inboxes(ctx context.Context) (archive.Inboxes, error)
	// EachDocument passes the documents of a list one by one to the function that begin returns;
	// each retry calls begin again.
	EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error
	CreateFolder(ctx context.Context, parent archive.ID, name string) (archive.Folder, error)
	Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error
	Rename(ctx context.Context, doc archive.ID, name string) error
	Delete(ctx context.Context, doc archive.ID) error
	// LacksReplace reports whether the service is known to have no operation that replaces a
	// document. It sends no request.
	LacksReplace() bool
}

// Config configures a Service.
type Config struct {
	Archive Archive
	// List is passed to every document list.
	List archive.ListOptions
	// TTL is how long a listing is trusted.
	TTL time.Duration
	// Listings limits the number of folders whose listings are kept in memory.
	Listings int
	// Spill bounds the memory of listings, also of those that directories keep; nil does not.
	Spill *cache.Spill
	// RetryFor limits the looks after a change with an end in doubt.
	RetryFor time.Duration
	// Sleep waits between two requests of a change, or until ctx ends; nil for retry.Sleep.
	Sleep func(ctx context.Context, d time.Duration) error
	// Known keeps listings beyond the end of the mount; nil keeps none.
	Known *cache.Known
	Log   logrus.FieldLogger
	Now   func() time.Time
	// Work counts the lists that are requested in the background.
	Work *background.Work
	// Answers is called when the service has answered a request for data.
	Answers func()
	// Notifier is told of failed uploads and refused credentials; nil for nobody.
	Notifier Notifier
}

// Service is safe for concurrent use.
type Service struct {
	Config

	// Children are the listings of sub-folders, Documents those of documents, by folder.
	Children  *cache.Listings[archive.ID, archive.Structure]
	Documents *cache.Listings[archive.ID, []archive.Document]
	// Inboxes is the one listing of all inboxes and their folders.
	Inboxes  *cache.Listings[struct{}, archive.Inboxes]
	Failures Failures

	// away is the error of the last request if the service did not answer it, else nil.
	away  atomic.Pointer[Failure]
	large largeLists
}

// New makes a Service. It sends no request.
func New(c Config) *Service {
	if c.Sleep == nil {
		c.Sleep = retry.Sleep
	}
	if c.Notifier == nil {
		c.Notifier = nobody{}
	}
	s := &Service{
		Config:    c,
		Children:  cache.NewListings[archive.ID, archive.Structure](c.Listings, c.TTL, c.Now),
		Documents: cache.NewListings[archive.ID, []archive.Document](c.Listings, c.TTL, c.Now),
		Inboxes:   cache.NewListings[struct{}, archive.Inboxes](1, c.TTL, c.Now),
		Failures:  Failures{log: c.Log, now: c.Now, notifier: c.Notifier},
	}
	s.Children.Pack(cache.PackedFolders().Within(c.Spill))
	s.Documents.Pack(cache.PackedDocuments().Within(c.Spill))
	if c.Known != nil {
		s.Children.Keep(c.Known.Folders())
		s.Documents.Keep(c.Known.Documents(c.List))
		s.Inboxes.Keep(c.Known.Inboxes())
	}
	return s
}

// Answered notes whether the service answered a request for data, and returns err.
func (s *Service) Answered(err error) error {
	switch {
	case err == nil, spool.Unanswered(err): // the service answered whether it had arrived
		s.away.Store(nil)
		s.Answers()
	case archive.Whose(err) != "": // it is about one user of this machine
	case archive.Away(err), archive.KindOf(err) == archive.KindUnauthorized:
		refused := archive.KindOf(err) == archive.KindUnauthorized
		s.away.Store(&Failure{Time: s.Now(), Text: err.Error(), refused: refused})
		if refused {
			s.Notifier.Refused(archive.Printable(err.Error()))
		}
	}
	return err
}

// Away returns the error of the last request if the service did not answer it, else nil.
func (s *Service) Away() *Failure { return s.away.Load() }

// emptied is why an answer that lists nothing, where there was something, is no listing: nil if the top
// of the archive is there. Something in between can answer with nothing to everything.
func (s *Service) emptied(ctx context.Context, had int) error {
	if had == 0 {
		return nil
	}
	_, err := s.Archive.Structure(ctx, 0, true)
	return err
}

// ListChildren returns the sub-folders of a folder, from memory while they are fresh.
func (s *Service) ListChildren(ctx context.Context, folder archive.ID) (cache.Entry[archive.Structure], error) {
	return s.Children.Get(ctx, folder, func(ctx context.Context) (archive.Structure, error) {
		children, err := s.Archive.Children(ctx, folder)
		if err == nil && len(children.Folders) == 0 {
			had, _ := s.Children.Last(folder)
			err = s.emptied(ctx, len(had.Folders))
		}
		return children, s.Answered(err)
	})
}

// ListInboxes returns all inboxes with their folders, from memory while they are fresh.
func (s *Service) ListInboxes(ctx context.Context) (cache.Entry[archive.Inboxes], error) {
	return s.Inboxes.Get(ctx, struct{}{}, func(ctx context.Context) (archive.Inboxes, error) {
		boxes, err := s.Archive.Inboxes(ctx)
		if err == nil && len(boxes.Inboxes) == 0 {
			had, _ := s.Inboxes.Last(struct{}{})
			err = s.emptied(ctx, len(had.Inboxes))
		}
		return boxes, s.Answered(err)
	})
}

// ListDocuments returns the documents of a folder, from memory while they are fresh.
func (s *Service) ListDocuments(ctx context.Context, of Folder) (cache.Entry[[]archive.Document], error) {
	return s.Documents.Get(ctx, of.ID(), func(ctx context.Context) ([]archive.Document, error) {
		if docs, ok := s.listNew(ctx, of); ok {
			return docs, nil
		}
		return s.listWhole(ctx, of)
	})
}

// ListAfresh requests the documents of a folder, bypassing the cache. It does not filter by date: a
// new document may have an older date.
func (s *Service) ListAfresh(ctx context.Context, folder archive.ID) ([]archive.Document, error) {
	all := s.List
	all.CreatedAfter = time.Time{}
	return s.Archive.Documents(ctx, folder, all)
}

// Amend applies what was done here to a document to the known list of its folder. doc is what the document is
// now, nil if the folder does not have it any more.
func (s *Service) Amend(folder, id archive.ID, doc *archive.Document) {
	s.Documents.Update(folder, func(docs []archive.Document) []archive.Document {
		at, listed := slices.BinarySearchFunc(docs, id, func(d archive.Document, id archive.ID) int { return cmp.Compare(d.ID, id) })
		switch {
		case doc != nil && listed:
			docs[at] = *doc
		case doc != nil:
			docs = slices.Insert(docs, at, *doc)
		case listed:
			docs = slices.Delete(docs, at, at+1)
		}
		return docs
	})
}

// AmendFolder is Amend for a new folder in parent.
func (s *Service) AmendFolder(parent, id archive.ID, name string) {
	s.Children.Update(parent, func(in archive.Structure) archive.Structure {
		if !slices.ContainsFunc(in.Folders, func(f archive.Folder) bool { return f.ID == id }) {
			in.Folders = append(in.Folders, archive.Folder{ID: id, Name: name})
		}
		return in
	})
}

// Outdate makes the next listing of a folder send a request.
func (s *Service) Outdate(folder archive.ID) {
	s.Documents.Invalidate(folder)
	s.Children.Invalidate(folder)
}

// Save has known listings kept with the changes that Amend and AmendFolder made.
func (s *Service) Save() {
	s.Documents.Save()
	s.Children.Save()
}

// OutdateInboxes makes the next listing of the inboxes send a request.
func (s *Service) OutdateInboxes() { s.Inboxes.Invalidate(struct{}{}) }

// OutdateAll does so for every listing.
func (s *Service) OutdateAll() {
	s.Children.InvalidateAll()
	s.Documents.InvalidateAll()
	s.Inboxes.InvalidateAll()
}

// changePause is the pause after so many attempts of a change, unless the service asks for another one.
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

// Add records that something else went wrong with an upload or a queued folder. A cancelled request is not a failure.
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
