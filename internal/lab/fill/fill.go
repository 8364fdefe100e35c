// Package fill makes the archives that the laboratories serve.
package fill

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/sample"
	"github.com/archivefs/archivefs/internal/server"
)

// abreast is how many documents are added at a time.
const abreast = 8

// Tree makes an archive in a new data directory, of a tree whose directories are mandators and folders, and whose files
// are documents. It has an inbox, or the sample archive.
func Tree(ctx context.Context, data, tree string, withSample bool) (err error) {
	s, err := server.Open(ctx, server.Options{Data: data, Credentials: server.Credentials{APIKey: "lab"}})
	if err != nil {
		return fmt.Errorf("fill archive: %w", err)
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	in := target{s, map[string]archive.ID{}}
	if withSample {
		_, err = sample.Load(ctx, in)
	} else {
		_, err = s.AddInbox(ctx, 1, "Inbox")
	}
	if err != nil {
		return fmt.Errorf("fill archive: %w", err)
	}
	folders := map[string]archive.ID{filepath.Clean(tree): 0}
	documents, ctx := errgroup.WithContext(ctx)
	documents.SetLimit(abreast)
	err = filepath.WalkDir(tree, func(path string, e fs.DirEntry, err error) error {
		above := folders[filepath.Dir(path)]
		switch {
		case err != nil || path == tree:
			return err
		case e.IsDir() && above == 0:
			folders[path], err = in.AddMandator(ctx, e.Name())
		case e.IsDir():
			folders[path], err = s.AddFolder(ctx, above, e.Name())
		default:
			documents.Go(func() error { return add(ctx, s, path, above) })
		}
		return err
	})
	if err = errors.Join(err, documents.Wait()); err != nil {
		return fmt.Errorf("fill archive: %w", err)
	}
	return nil
}

func add(ctx context.Context, s *server.Server, path string, folder archive.ID) error {
	file, err := os.Open(path) //nolint:gosec // of the tree
	if err != nil {
		return err
	}
	defer file.Close() //nolint:errcheck // it is only read
	info, err := file.Stat()
	if err != nil {
		return err
	}
	_, err = s.AddDocument(ctx, server.NewDocument{Folder: folder, Name: info.Name(), Created: info.ModTime(), Archived: info.ModTime()}, file)
	return err
}

// target is what the sample archive is loaded into.
type target struct {
	*server.Server
	mandators map[string]archive.ID
}

// AddMandator implements sample.Target. One that is there already is that of the tree, too.
func (t target) AddMandator(ctx context.Context, name string) (id archive.ID, err error) {
	if id = t.mandators[name]; id == 0 {
		id, err = t.Server.AddMandator(ctx, name)
		t.mandators[name] = id
	}
	return id, err
}

// AddDocument implements sample.Target.
func (t target) AddDocument(ctx context.Context, d sample.Document, content io.Reader) (archive.ID, error) {
	return t.Server.AddDocument(ctx, server.NewDocument(d), content)
}
