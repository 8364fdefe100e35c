//go:build linux

package suite

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// The folders in each folder of a scale archive, by level: areas in a mandator, partners in an area,
// years of a partner. A whole mandator has 10,001 folders.
const (
	scaleAreas    = 16
	scalePartners = 48
	scaleYears    = 12
)

// fillScale makes an archive of so many folders, with perFolder documents in each. All documents have
// the same content: none is read.
func fillScale(ctx context.Context, dir string, folders int) (err error) {
	db, err := store.Open(ctx, filepath.Join(dir, "archive.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	f := &scaleFiller{archive: db.Tenant(store.DefaultTenant), left: folders}
	if err := f.publish(ctx, filepath.Join(dir, "contents")); err != nil {
		return err
	}
	for mandator := 1; f.left > 0; mandator++ {
		if err := f.mandator(ctx, mandator); err != nil {
			return err
		}
	}
	for more := true; more && err == nil; { // or the service would do it while it is measured
		more, err = db.Index.IndexSaid(ctx)
	}
	return err
}

// scaleFiller adds folders until none are left, an area at a time.
type scaleFiller struct {
	archive store.Archive
	left    int // folders that are still to be added
	content store.Document
	batch   []store.Folder
	added   []store.Document // with batch
	number  int              // of the last document
}

// publish keeps the content of all documents.
func (f *scaleFiller) publish(ctx context.Context, dir string) error {
	files, err := blob.OpenFiles(dir)
	if err != nil {
		return err
	}
	staged, err := files.Stage(ctx, strings.NewReader("Rechnung\n"))
	if err != nil {
		return err
	}
	f.content = store.Document{Pages: 1, Size: staged.Size(), ContentType: "text/plain", Digest: staged.Digest(), Keywords: []string{"Rechnung", "Buchhaltung"}}
	return errors.Join(files.Publish(ctx, staged), staged.Discard())
}

func (f *scaleFiller) mandator(ctx context.Context, number int) error {
	id, err := f.archive.AddFolder(ctx, store.Folder{Name: fmt.Sprintf("Mandant %d", number)})
	if err != nil {
		return err
	}
	f.left--
	f.documents(id)
	for area := range scaleAreas {
		at := f.folder(id, fmt.Sprintf("Bereich %d", area+1))
		for partner := range scalePartners {
			of := f.folder(at, fmt.Sprintf("Partner %d", partner+1))
			for year := range scaleYears {
				f.folder(of, fmt.Sprint(2014+year))
			}
		}
		if len(f.added) == 0 {
			return nil
		}
		if _, err := f.archive.AddBatch(ctx, f.batch, f.added); err != nil {
			return err
		}
		f.batch, f.added = nil, nil
	}
	return nil
}

// folder adds a folder with its documents to the batch, if one is left.
func (f *scaleFiller) folder(parent archive.ID, name string) archive.ID {
	if f.left == 0 {
		return 0
	}
	f.left--
	f.batch = append(f.batch, store.Folder{Parent: parent, Name: name})
	id := archive.ID(-len(f.batch)) // of this batch
	f.documents(id)
	return id
}

func (f *scaleFiller) documents(folder archive.ID) {
	for range perFolder {
		f.number++
		d := f.content
		d.Folder, d.Name = folder, fmt.Sprintf("Rechnung 2019-%06d.pdf", f.number)
		d.Created = time.Unix(1_400_000_000+int64(f.number)*300, 0)
		d.Archived = d.Created.Add(time.Hour)
		f.added = append(f.added, d)
	}
}
