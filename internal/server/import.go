package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Import says which files become documents, and who is told about them.
type Import struct {
	// Dir is the directory: those in it become mandators, those further down folders,
	// and files documents. Files in Dir itself go to a mandator of Dir's name.
	Dir string
	// Skipped, when set, is told of each entry that stays out, and why.
	Skipped func(path, reason string)
	// Done, when set, is told of each file that was dealt with, in bytes. It may be called
	// concurrently.
	Done func(size int64)
}

// Imported is what came of an import.
type Imported struct {
	Folders, Documents int
	Bytes              int64 // of the documents
	Present            int   // documents that were in the archive before
	Skipped            int   // entries that stay out; a directory is one, with all in it
}

// Import adds a directory tree. A document is called like its file, was created when that
// was changed last, and is archived now; the rules for it are those of an upload. What is
// in the archive already, in the same folder by the same name with the same content, is
// not added again, so that an import that was interrupted is finished by another one.
//
// Entries that cannot be documents are skipped: links, devices, what cannot be read, is too
// large or has a name that the archive does not take. Any other error ends the import.
// Documents are added some hundred at a time, all or none of them across a crash. Imported
// counts what was added, also beside an error. Nothing else may change the archive meanwhile.
func (f *furnisher) Import(ctx context.Context, what Import) (Imported, error) {
	dir, err := filepath.Abs(what.Dir)
	if err != nil {
		return Imported{}, fmt.Errorf("import: %w", err)
	}
	data, err := os.Stat(f.data)
	if err != nil {
		return Imported{}, fmt.Errorf("import: %w", err)
	}
	if err := outside(dir, data); err != nil {
		return Imported{}, fmt.Errorf("import: %w", err)
	}
	im := &importer{furnisher: f, told: what, own: data}
	err = im.root(ctx, dir)
	if err == nil {
		err = im.flush(ctx)
	}
	if err != nil {
		err = fmt.Errorf("import %s: %w", dir, err)
	}
	return im.Imported, err
}

// outside refuses a directory that lies in the archive's own.
func outside(dir string, data os.FileInfo) error {
	dir, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return err
	}
	for ; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		if err != nil {
			return err
		}
		if os.SameFile(info, data) {
			return errors.New("it lies in the archive's own data directory")
		}
		if dir == filepath.Dir(dir) {
			return nil
		}
	}
}
