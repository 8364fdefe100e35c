package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// importer walks a tree and adds it in batches. Its methods belong to one goroutine.
type importer struct {
	Imported
	*furnisher
	told  Import
	own   os.FileInfo // of the archive's own directory
	batch batch
}

// branch is a folder of the archive that files go to. Its id is 0 above the mandators, and
// below zero while the folder is in the batch: see store.AddBatch.
type branch struct {
	id    archive.ID
	depth int // how many folders it is, with those above it
}

// root imports the directory itself. Its own files come first and are added at once: their
// mandator may be called like a directory beside them.
func (im *importer) root(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	files, dirs := im.sort(dir, entries)
	if len(files) > 0 {
		if err := im.ownFiles(ctx, dir, files); err != nil {
			return err
		}
		if err := im.flush(ctx); err != nil {
			return err
		}
	}
	return im.directories(ctx, dir, dirs, &branch{})
}

// ownFiles imports the files of the directory itself, into a mandator of its name.
func (im *importer) ownFiles(ctx context.Context, dir string, files []fs.DirEntry) error {
	name := filepath.Base(dir)
	if wrong := folderNameFault(name); wrong != "" {
		for _, f := range files {
			im.skip(filepath.Join(dir, f.Name()), "no mandator can be called like its directory: "+wrong)
		}
		return nil
	}
	mandator, known, err := im.enter(ctx, &branch{}, name)
	if err != nil {
		return err
	}
	return im.files(ctx, dir, files, mandator, known)
}

// sort parts files from directories and skips everything else.
func (im *importer) sort(dir string, entries []fs.DirEntry) (files, dirs []fs.DirEntry) {
	for _, e := range entries {
		switch {
		case e.Type().IsRegular():
			files = append(files, e)
		case e.IsDir():
			dirs = append(dirs, e)
		default:
			im.skip(filepath.Join(dir, e.Name()), kindOf(e.Type()))
		}
	}
	return files, dirs
}

// kindOf says what an entry is that is neither a file nor a directory.
func kindOf(mode fs.FileMode) string {
	switch {
	case mode&fs.ModeSymlink != 0:
		return "a symbolic link"
	case mode&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case mode&fs.ModeSocket != 0:
		return "a socket"
	}
	return "a device"
}

func (im *importer) directories(ctx context.Context, dir string, dirs []fs.DirEntry, in *branch) error {
	for _, d := range dirs {
		if err := im.directory(ctx, filepath.Join(dir, d.Name()), d, in); err != nil {
			return err
		}
	}
	return nil
}

// directory imports a directory as a folder, its files before what lies deeper.
func (im *importer) directory(ctx context.Context, path string, d fs.DirEntry, in *branch) error {
	if wrong := folderNameFault(d.Name()); wrong != "" {
		im.skip(path, "bad name: "+wrong)
		return nil
	}
	info, err := d.Info()
	if err != nil {
		im.skip(path, reason(err))
		return nil
	}
	if in.depth >= store.MaxDepth {
		im.skip(path, fmt.Sprintf("it lies more than %d directories deep", store.MaxDepth))
		return nil
	}
	if os.SameFile(info, im.own) {
		im.skip(path, "the archive's own data directory")
		return nil
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		im.skip(path, reason(err))
		return nil
	}
	at, known, err := im.enter(ctx, in, d.Name())
	if err != nil {
		return err
	}
	files, dirs := im.sort(path, entries)
	if err := im.files(ctx, path, files, at, known); err != nil {
		return err
	}
	return im.directories(ctx, path, dirs, at)
}

// enter finds a folder and what it holds, by name, or puts it into the batch.
func (im *importer) enter(ctx context.Context, in *branch, name string) (*branch, map[string][]store.NamedContent, error) {
	if im.batch.full() { // of folders alone
		if err := im.flush(ctx); err != nil {
			return nil, nil, err
		}
	}
	if in.id >= 0 {
		f, err := im.catalog.Child(ctx, in.id, name)
		switch {
		case err == nil:
			known, err := im.known(ctx, f.ID)
			return &branch{id: f.ID, depth: in.depth + 1}, known, err
		case archive.KindOf(err) != archive.KindNotFound:
			return nil, nil, err
		}
	}
	return im.batch.folder(in, name), nil, nil
}

func (im *importer) known(ctx context.Context, folder archive.ID) (map[string][]store.NamedContent, error) {
	contents, err := im.catalog.Contents(ctx, folder)
	if err != nil {
		return nil, err
	}
	known := make(map[string][]store.NamedContent, len(contents))
	for _, c := range contents {
		known[c.Name] = append(known[c.Name], c)
	}
	return known, nil
}

// files puts the files of a directory into the batch, and adds that whenever it is full.
func (im *importer) files(ctx context.Context, dir string, files []fs.DirEntry, in *branch, known map[string][]store.NamedContent) error {
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		if wrong := documentNameFault(f.Name()); wrong != "" {
			im.skip(path, "bad name: "+wrong)
			continue
		}
		info, err := f.Info()
		if err != nil {
			im.skip(path, reason(err))
			continue
		}
		im.batch.file(candidate{
			path: path, name: f.Name(), size: info.Size(), changed: info.ModTime(), in: in, known: known[f.Name()],
		})
		if im.batch.full() {
			if err := im.flush(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// skip leaves an entry out.
func (im *importer) skip(path, reason string) {
	im.Skipped++
	if im.told.Skipped != nil {
		im.told.Skipped(path, reason)
	}
}

// reason is an error of the file system without the path, which is told beside it.
func reason(err error) string {
	if at := new(fs.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}
