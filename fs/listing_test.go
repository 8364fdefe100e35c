package fs

import (
	"context"
	"io"
	"testing"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// service is an Archive, under a name that is not one of its methods.
type service interface{ Archive }

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
	log := logrus.New()
	log.SetOutput(io.Discard)
	f := New(Options{Archive: slowFolders{listed: make(chan struct{})}, Log: log, TTL: time.Hour})
	d := newDir(f, folderDir, 77, f.inodes.of(inoFolder, 77), f.root, "Akten")
	if err := d.load(t.Context(), needNames); err != nil {
		t.Fatal(err)
	}
	wantShown(t, d, "a (1).pdf = 1", "a.pdf/ = 9")
}
