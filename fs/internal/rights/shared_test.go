package rights

import (
	"context"
	"slices"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// whole is a service that notes on whose behalf it was asked; 0 stands for nobody.
type whole struct {
	service // whose other methods are not called
	asked   []uint32
}

func (w *whole) note(ctx context.Context) {
	uid, _, _ := Of(ctx)
	w.asked = append(w.asked, uid)
}

func (w *whole) Children(ctx context.Context, _ archive.ID) (s archive.Structure, err error) {
	w.note(ctx)
	return s, nil
}

func (w *whole) Structure(ctx context.Context, _ archive.ID, _ bool) (s archive.Structure, err error) {
	w.note(ctx)
	return s, nil
}

func (w *whole) Inboxes(ctx context.Context) (i archive.Inboxes, err error) {
	w.note(ctx)
	return i, nil
}

func (w *whole) Documents(ctx context.Context, _ archive.ID, _ archive.ListOptions) ([]archive.Document, error) {
	w.note(ctx)
	return nil, nil
}

func (w *whole) EachDocument(ctx context.Context, _ archive.ID, _ archive.ListOptions, _ func() func(*archive.Document)) error {
	w.note(ctx)
	return nil
}

func (w *whole) ContentInfo(ctx context.Context, _ archive.ID, _ archive.Representation) (*archive.Content, error) {
	w.note(ctx)
	return nil, nil
}

func (w *whole) Upload(ctx context.Context, _ archive.Upload, _ archive.Blob) (archive.ID, error) {
	w.note(ctx)
	return 60, nil
}

func (w *whole) CreateFolder(ctx context.Context, _ archive.ID, _ string) (archive.Folder, error) {
	w.note(ctx)
	return archive.Folder{ID: 61}, nil
}

func (w *whole) Archive(ctx context.Context, _ archive.ID, _ archive.ArchiveTarget) error {
	w.note(ctx)
	return nil
}

func TestListingsAreForAll(t *testing.T) {
	b, w := newBench(t), &whole{}
	all := b.Share(w)
	ctx := b.of(2)
	_, _ = all.Children(ctx, 1)
	_, _ = all.Structure(ctx, 1, true)
	_, _ = all.Inboxes(ctx)
	_, _ = all.Documents(ctx, 1, archive.ListOptions{})
	_ = all.EachDocument(ctx, 1, archive.ListOptions{}, nil)
	_, _ = all.ContentInfo(ctx, 1, archive.Original)
	if want := make([]uint32, 6); !slices.Equal(w.asked, want) {
		t.Errorf("listings are asked for on behalf of %v", w.asked)
	}
}

func TestChangesAreSomebodys(t *testing.T) {
	b, w := newBench(t), &whole{}
	all := b.Share(w)
	ctx := b.of(2)
	b.want("documents", b.Document(ctx, 7, 20), 0, 1)
	b.want("folders", b.Folder(ctx, 7, 11), 0, 1)
	b.want("inboxes", b.Inbox(ctx, 50), 2, 1)
	_, err := all.Upload(ctx, archive.Upload{Folder: 7}, nil)
	b.want("upload", err, 0, 0)
	_, err = all.CreateFolder(ctx, 7, "Neu")
	b.want("folder", err, 0, 0)
	b.want("move", all.Archive(ctx, 62, archive.ArchiveTarget{Folder: 7}), 0, 0)
	b.want("the upload", b.Document(ctx, 7, 60), 0, 0)
	b.want("the folder", b.Folder(ctx, 7, 61), 0, 0)
	b.want("the folder in an inbox", b.Inbox(ctx, 61), 0, 0)
	b.want("what was moved", b.Document(ctx, 7, 62), 0, 0)
	if !slices.Equal(w.asked, []uint32{2, 2, 2}) {
		t.Errorf("changes are made on behalf of %v", w.asked)
	}
}
