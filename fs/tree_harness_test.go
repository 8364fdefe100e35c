package fs

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// anyArchive is an Archive, under a name that is not one of its methods.
type anyArchive interface{ Archive }

// holding is a service with one folder: each of its documents is called by the text after its id.
type holding struct {
	anyArchive
	documents []archive.Document
	folders   []archive.Folder
	lists     int // how often they were listed
}

func (h *holding) Children(context.Context, archive.ID) (archive.Structure, error) {
	return archive.Structure{Free: true, Folders: h.folders}, nil
}

func (h *holding) Documents(context.Context, archive.ID, archive.ListOptions) ([]archive.Document, error) {
	h.lists++
	return h.documents, nil
}

// holds is a directory of a kind that has been listed, in a file system that is not mounted.
func holds(t testing.TB, kind tree.DirKind, documents ...archive.Document) (*FileSystem, *tree.Dir) {
	t.Helper()
	f, d := unlisted(t, kind, documents...)
	if err := d.Tree.Load(t.Context(), d, tree.NeedListing); err != nil {
		t.Fatal(err)
	}
	return f, d
}

// unlisted is one that nobody has listed, in a file system that is not mounted.
func unlisted(t testing.TB, kind tree.DirKind, documents ...archive.Document) (*FileSystem, *tree.Dir) {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	now := time.Now()
	f := New(Options{
		Archive: &holding{documents: documents}, Log: log, TTL: time.Hour, Mode: ContentOriginal, Now: func() time.Time { return now },
	})
	return f, tree.NewDir(f.Tree, kind, 77, f.Inodes.Folder(77), f.Root, "Akten")
}

// named is a document with a name.
func named(id archive.ID, name string) archive.Document { return archive.Document{ID: id, Name: name} }
