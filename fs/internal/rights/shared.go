package rights

import (
	"context"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote"
)

// shared is an archive service whose listings and lengths are asked for on nobody's behalf, because all
// people use them. What somebody has made is seen by them at once.
type shared struct {
	service
	judge *Judge
}

// service is a name for remote.Archive, one of whose methods has that name.
type service = remote.Archive

// Share returns the service for a mount of several people: what the caches keep for all of them is asked
// for on nobody's behalf, everything else on behalf of the one who causes it, who sees what comes of it.
func (j *Judge) Share(s remote.Archive) remote.Archive { return shared{s, j} }

func (s shared) Upload(ctx context.Context, up archive.Upload, body archive.Blob) (archive.ID, error) {
	id, err := s.service.Upload(ctx, up, body)
	if err == nil && id != 0 {
		s.judge.made(ctx, documents, up.Folder, id)
	}
	return id, err
}

func (s shared) CreateFolder(ctx context.Context, parent archive.ID, name string) (archive.Folder, error) {
	f, err := s.service.CreateFolder(ctx, parent, name)
	if err == nil && f.ID != 0 {
		s.judge.made(ctx, folders, parent, f.ID)
		s.judge.made(ctx, inboxes, 0, f.ID) // it may be in one
	}
	return f, err
}

func (s shared) Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error {
	err := s.service.Archive(ctx, doc, target)
	if err == nil {
		s.judge.made(ctx, documents, target.Folder, doc)
	}
	return err
}

func (s shared) Children(ctx context.Context, parent archive.ID) (archive.Structure, error) {
	return s.service.Children(Nobody(ctx), parent)
}

func (s shared) Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error) {
	return s.service.Structure(Nobody(ctx), parent, lazy)
}

func (s shared) Inboxes(ctx context.Context) (archive.Inboxes, error) {
	return s.service.Inboxes(Nobody(ctx))
}

func (s shared) Documents(ctx context.Context, folder archive.ID, options archive.ListOptions) ([]archive.Document, error) {
	return s.service.Documents(Nobody(ctx), folder, options)
}

func (s shared) EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error {
	return s.service.EachDocument(Nobody(ctx), folder, options, begin)
}

func (s shared) ContentInfo(ctx context.Context, doc archive.ID, rep archive.Representation) (*archive.Content, error) {
	return s.service.ContentInfo(Nobody(ctx), doc, rep)
}

// whose is the key of what As and Nobody add to a context.
type whose struct{}

// asked is on whose behalf requests with a context are made.
type asked struct {
	uid  uint32
	some bool
}

// As returns a context for requests on behalf of a user.
func As(ctx context.Context, uid uint32) context.Context {
	return context.WithValue(ctx, whose{}, asked{uid, true})
}

// Nobody returns a context for requests on nobody's behalf: what they bring is for everybody.
func Nobody(ctx context.Context) context.Context { return context.WithValue(ctx, whose{}, asked{}) }

// Of returns the user that As named; set is false if neither As nor Nobody said anything.
func Of(ctx context.Context) (uid uint32, some, set bool) {
	a, set := ctx.Value(whose{}).(asked)
	return a.uid, a.some, set
}
