//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// folderSize is how many documents each folder has.
	folderSize = 1000
	// contentSize is how many bytes each document has.
	contentSize = 1 << 20
	// distinct is how many contents all documents share: what is measured is the service, and
	// not the disk.
	distinct = 64
	// batch is how many folders are added in one transaction.
	batch = 5
)

// fill brings an archive to a number of documents: one mandator, folders of a thousand.
// Nothing else may use it.
func fill(ctx context.Context, dir string, documents int) (err error) {
	files, err := blob.OpenFiles(filepath.Join(dir, "contents"))
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, filepath.Join(dir, "archive.db"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	a := db.Tenant(store.DefaultTenant)
	digests, err := publish(ctx, files)
	if err != nil {
		return err
	}
	mandator, present, err := extent(ctx, a)
	if err != nil {
		return err
	}
	for first := present; first < documents/folderSize; first += batch {
		if err := add(ctx, db, a, mandator, first, min(first+batch, documents/folderSize), digests); err != nil {
			return err
		}
	}
	return nil
}

// extent returns the mandator, which it makes, and how many folders are there.
func extent(ctx context.Context, a store.Archive) (mandator archive.ID, folders int, err error) {
	found, err := a.Child(ctx, 0, "Muster GmbH")
	if archive.KindOf(err) == archive.KindNotFound {
		mandator, err = a.AddFolder(ctx, store.Folder{Name: "Muster GmbH"})
		return mandator, 0, err
	}
	if err != nil {
		return 0, 0, err
	}
	below, err := a.Children(ctx, found.ID)
	return found.ID, len(below) - 1, err // without that of uploads
}

// publish keeps the contents that all documents share.
func publish(ctx context.Context, files *blob.Files) (digests []string, err error) {
	for n := range distinct {
		staged, err := files.Stage(ctx, bytes.NewReader(pdf(contentSize, uint64(n))))
		if err != nil {
			return nil, err
		}
		if err := errors.Join(files.Publish(ctx, staged), staged.Discard()); err != nil {
			return nil, err
		}
		digests = append(digests, staged.Digest())
	}
	return digests, nil
}

// add adds the folders from first to before last, with their documents, in one transaction.
func add(ctx context.Context, db *store.Store, a store.Archive, mandator archive.ID, first, last int, digests []string) error {
	return db.Together(ctx, func(one store.Scope) error {
		a := a.In(one)
		if first == 0 {
			if _, err := a.AddFolder(ctx, store.Folder{Parent: mandator, Name: "uploads"}); err != nil {
				return err
			}
		}
		for f := first; f < last; f++ {
			id, err := a.AddFolder(ctx, store.Folder{Parent: mandator, Name: fmt.Sprintf("folder %06d", f)})
			if err != nil {
				return err
			}
			for d := range folderSize {
				n := f*folderSize + d
				created := time.Unix(1_600_000_000+int64(n)*60, 0)
				_, err := a.AddDocuments(ctx, []store.Document{{
					Folder: id, Name: fmt.Sprintf("Rechnung %07d.pdf", n), Created: created, Archived: created,
					Pages: 1, Size: contentSize, ContentType: "application/pdf", Digest: digests[n%distinct], Keywords: []string{"paid", fmt.Sprint(created.Year())},
					Types: []string{"invoice"}, Metadata: []archive.KeyValue{{Key: "number", Value: fmt.Sprint(n)}}, ExternalID: fmt.Sprint(n),
				}}, false)
				if err != nil {
					return err
				}
			}
		}
		return nil
	})
}
