package tree

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote"
)

// service is a remote.Archive, under a name that is not one of its methods.
type service interface{ remote.Archive }

// slowFolders is a service that lists folders only when documents were listed.
type slowFolders struct {
	service
	listed chan struct{}
}

func (s slowFolders) Children(ctx context.Context, _ archive.ID) (archive.Structure, error) {
	select {
	case <-s.listed:
		return archive.Structure{Free: true, Folders: []archive.Folder{{ID: 9, Name: "a.pdf"}}}, nil
	case <-ctx.Done():
		return archive.Structure{}, ctx.Err()
	}
}

func (s slowFolders) Documents(context.Context, archive.ID, archive.ListOptions) ([]archive.Document, error) {
	defer close(s.listed)
	return docs("1 a.pdf"), nil
}

func (s slowFolders) ContentInfo(context.Context, archive.ID, archive.Representation) (*archive.Content, error) {
	return &archive.Content{Size: 1}, nil
}

func TestFoldersAreNamedFirstWhicheverComesFirst(t *testing.T) {
	f := treeOf(slowFolders{listed: make(chan struct{})}, time.Now)
	d := NewDir(f, FolderDir, 77, f.Inodes.Folder(77), f.Root, "Akten")
	if err := d.Tree.Load(t.Context(), d, NeedNames); err != nil {
		t.Fatal(err)
	}
	wantShown(t, d, "a (1).pdf = 1", "a.pdf/ = 9")
}

// countedLists is a service that counts how often it is asked to list.
type countedLists struct {
	slowFolders
	folders, documents atomic.Int32
}

func (s *countedLists) Children(ctx context.Context, id archive.ID) (archive.Structure, error) {
	s.folders.Add(1)
	return s.slowFolders.Children(ctx, id)
}

func (s *countedLists) Documents(ctx context.Context, id archive.ID, o archive.ListOptions) ([]archive.Document, error) {
	if s.documents.Add(1) > 1 {
		return nil, errors.New("asked once more")
	}
	return s.slowFolders.Documents(ctx, id, o)
}

// However little of its age is left to what is listed, one listing asks once.
func TestOneListingAsksOnce(t *testing.T) {
	var hours atomic.Int64
	service := &countedLists{slowFolders: slowFolders{listed: make(chan struct{})}}
	f := treeOf(service, func() time.Time {
		return time.Unix(0, 0).Add(time.Duration(hours.Add(1)) * time.Hour)
	})
	d := NewDir(f, FolderDir, 77, f.Inodes.Folder(77), f.Root, "Akten")
	if err := d.Tree.Load(t.Context(), d, NeedListing); err != nil {
		t.Error(err)
	}
	if folders, documents := service.folders.Load(), service.documents.Load(); folders != 1 || documents != 1 {
		t.Errorf("folders were asked for %d times, documents %d times", folders, documents)
	}
	wantShown(t, d, "a (1).pdf = 1", "a.pdf/ = 9")
}

// changing is a service whose folder changes while it lists it.
type changing struct {
	service
	lists  int
	during func()
}

func (s *changing) Documents(context.Context, archive.ID, archive.ListOptions) ([]archive.Document, error) {
	s.lists++
	s.during()
	return docs("1 a.pdf", "2 b.pdf"), nil
}

func (s *changing) Children(context.Context, archive.ID) (archive.Structure, error) {
	return archive.Structure{Free: true}, nil
}

func (s *changing) ContentInfo(context.Context, archive.ID, archive.Representation) (*archive.Content, error) {
	return &archive.Content{Size: 1}, nil
}

// A change made here while the directory is listed outweighs that listing, and no other is requested. The
// next one, when the ttl is over, outweighs the change.
func TestChangeWhileADirectoryIsListed(t *testing.T) {
	now := time.Unix(1e9, 0)
	s := &changing{}
	f := treeOf(s, func() time.Time { return now })
	d := NewDir(f, FolderDir, 77, f.Inodes.Folder(77), f.Root, "Akten")
	s.during = func() {
		s.during = func() {}
		d.Mu.Lock()
		d.AmendLocked(2, nil)
		d.Mu.Unlock()
		d.Update(&archive.Document{ID: 3, Name: "c.pdf"})
	}
	for range 3 {
		if err := d.Tree.Load(t.Context(), d, NeedListing); err != nil {
			t.Fatal(err)
		}
	}
	wantShown(t, d, "a.pdf = 1", "c.pdf = 3")
	if s.lists != 1 {
		t.Errorf("%d listings, want 1", s.lists)
	}
	now = now.Add(2 * f.Lag())
	if err := d.Tree.Load(t.Context(), d, NeedListing); err != nil {
		t.Fatal(err)
	}
	wantShown(t, d, "a.pdf = 1", "b.pdf = 2")
}
