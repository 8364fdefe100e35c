//go:build linux

package suite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver "sqlite"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// The folders in each folder of a growing archive, by level: areas in a mandator, partners in an
// area, years of a partner. A whole mandator has 10,001 folders.
const (
	growthAreas    = 16
	growthPartners = 48
	growthYears    = 12
)

// fillGrowth makes an archive of so many folders, with perFolder documents in each. Folders and the
// first document come through the store. All others are copies of that one, made by SQLite itself: the
// store would take an hour for ten million.
func fillGrowth(ctx context.Context, dir string, folders int) error {
	file := filepath.Join(dir, "archive.db")
	if err := addFolders(ctx, dir, file, folders); err != nil {
		return err
	}
	if err := copyDocuments(ctx, file, folders); err != nil {
		return err
	}
	return settle(file)
}

// addFolders adds the folders, and a document in the first one.
func addFolders(ctx context.Context, dir, file string, folders int) (err error) {
	d, err := publishGrowth(ctx, filepath.Join(dir, "contents"))
	if err != nil {
		return err
	}
	db, err := store.Open(ctx, file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	all := db.Tenant(store.DefaultTenant)
	f := &growthFiller{left: folders}
	for mandator := 1; f.left > 0; mandator++ {
		var id archive.ID
		err := db.Together(ctx, func(one store.Scope) (err error) {
			f.archive = all.In(one)
			id, err = f.mandator(ctx, mandator)
			return err
		})
		if err != nil {
			return err
		}
		if mandator > 1 {
			continue
		}
		d.Folder = id
		if _, err := all.AddDocuments(ctx, []store.Document{d}, false); err != nil {
			return err
		}
	}
	return nil
}

// publishGrowth keeps the content that all documents share, as none is read, and returns the first one.
func publishGrowth(ctx context.Context, dir string) (d store.Document, err error) {
	files, err := blob.OpenFiles(dir)
	if err != nil {
		return d, err
	}
	staged, err := files.Stage(ctx, strings.NewReader("Rechnung\n"))
	if err != nil {
		return d, err
	}
	created := time.Unix(1_400_000_000, 0)
	d = store.Document{
		Name: "Rechnung 2019-00000001.pdf", Created: created, Archived: created.Add(time.Hour),
		Pages: 1, Size: staged.Size(), ContentType: "text/plain", Digest: staged.Digest(), Keywords: []string{"Rechnung", "Buchhaltung"},
	}
	return d, errors.Join(files.Publish(ctx, staged), staged.Discard())
}

// growthFiller adds folders until none are left.
type growthFiller struct {
	archive store.Archive
	left    int // folders that are still to be added
}

// mandator adds a mandator with its folders.
func (f *growthFiller) mandator(ctx context.Context, number int) (archive.ID, error) {
	id, err := f.folder(ctx, 0, fmt.Sprintf("Mandant %d", number))
	for area := 0; area < growthAreas && err == nil; area++ {
		var at archive.ID
		at, err = f.folder(ctx, id, fmt.Sprintf("Bereich %d", area+1))
		for partner := 0; partner < growthPartners && err == nil; partner++ {
			var of archive.ID
			of, err = f.folder(ctx, at, fmt.Sprintf("Partner %d", partner+1))
			for year := 0; year < growthYears && err == nil; year++ {
				_, err = f.folder(ctx, of, fmt.Sprint(2014+year))
			}
		}
	}
	return id, err
}

// folder adds a folder, if one is left.
func (f *growthFiller) folder(ctx context.Context, parent archive.ID, name string) (archive.ID, error) {
	if f.left == 0 {
		return 0, nil
	}
	f.left--
	return f.archive.AddFolder(ctx, store.Folder{Parent: parent, Name: name})
}

// insertCopies adds documents k to ? to a folder. Everything but the folder, and what the number n
// makes different, is that of the first one. Each index gets its entries in its order.
const insertCopies = `
	WITH RECURSIVE nth (k) AS (SELECT ? UNION ALL SELECT k + 1 FROM nth WHERE k < ?)
	INSERT INTO document (tenant, folder, name, created, archived, pages, size, content_type, keywords, metadata, auto_export,
		digest, types, creator, creator_id, archiver_id, said, pairs)
	SELECT tenant, ?, format('Rechnung 2019-%08d.pdf', k), created + 300 * k, archived + 300 * k, pages, size, content_type, keywords, metadata, auto_export,
		digest, types, creator, creator_id, archiver_id, said, pairs
	FROM nth CROSS JOIN document WHERE id = 1`

// copyDocuments gives each folder its documents. Nothing searches: the index of metadata stays empty,
// and counts as complete, or the service would fill it while it is measured.
func copyDocuments(ctx context.Context, file string, folders int) (err error) {
	db, err := sql.Open("sqlite", "file:"+file+"?_pragma=journal_mode(OFF)&_pragma=synchronous(OFF)&_pragma=cache_size(-262144)")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	insert, err := tx.PrepareContext(ctx, insertCopies)
	if err != nil {
		return err
	}
	for folder := range folders { // their ids are 1, 2, ...
		first := max(2, folder*perFolder+1) // the first document is there
		if _, err := insert.ExecContext(ctx, first, (folder+1)*perFolder, folder+1); err != nil {
			return err
		}
	}
	if _, err := tx.ExecContext(ctx, "UPDATE indexed_to SET id = (SELECT max(id) FROM document)"); err != nil {
		return err
	}
	return tx.Commit()
}

// settle waits until the database is on the disk, which would else be written while it is measured.
func settle(file string) error {
	f, err := os.Open(file) //nolint:gosec // below the scratch directory
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}
