// Package control is the directory .archivefs: read-only, reachable by name, never listed.
//
//	.archivefs/status.json     requests, caches, uploads, health
//	.archivefs/uploads/        pending and failed files, each as "ID NAME"
//	.archivefs/documents/ID/   what the service has of a document
//	.archivefs/by-id/ID        a link to the document's file
//	.archivefs/search/QUERY/   links to the files of the documents that match
//
// The last three list nothing: a name exists in them once somebody looks it up.
//
// A Tree describes the directory by nodes of three types, Dir, File and Link, which the caller
// translates for the kernel. What they show comes from a Mount. Its files, those of documents and
// of uploads, are nodes as well: their contents are opened and cached elsewhere.
package control

import (
	"context"
	"encoding/json"
	"fmt"
	iofs "io/fs"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/inode"
)

// Name is the name of the control directory at the top of the mount.
const Name = ".archivefs"

const (
	statusName    = "status.json"
	uploadsName   = "uploads"
	documentsName = "documents"
	byIDName      = "by-id"
	searchName    = "search"
)

// Mount is what the control directory shows of its mount.
type Mount interface {
	Service
	Folders
	Files
	Uploads
	// Status is what status.json holds, as JSON.
	Status() any
}

// Service is what is asked of the archive service.
type Service interface {
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	Search(ctx context.Context, s archive.Search, limit int) (archive.Hits, error)
}

// Folders are the folders that the mount shows.
type Folders interface {
	// Listed returns what the listing of a folder says of a document, nil where that is not known.
	// archived says that the folder belongs to the archive, and is no inbox; known, that somebody
	// has looked at the folder. It sends no request.
	Listed(folder, id archive.ID) (doc *archive.Document, archived, known bool)
	// FolderNamed returns the id of the folder that a path leads to from the top of the mount,
	// 0 for an empty path.
	FolderNamed(ctx context.Context, path []string) (archive.ID, error)
	// Locate returns the wanted folders, by their ids. wanted has the name of the mandator of
	// each, empty for an inbox. A folder that is not found is left out; beside an error the folders
	// that were found are returned, too.
	Locate(ctx context.Context, wanted map[archive.ID]string) (map[archive.ID]Folder, error)
}

// Folder is a folder that the mount shows.
type Folder interface {
	// PathOf returns the path of a document in the folder, from the top of the mount; empty where
	// the document is not shown. Errors are as those of nodes.
	PathOf(ctx context.Context, doc archive.ID) (string, error)
}

// Files opens and caches what the service has of documents.
type Files interface {
	// Rendition returns the file that holds a rendition: the same one while the kernel knows it.
	Rendition(r Rendition, doc *archive.Document) Measured
	// Representation is what the file of a document in its folder holds.
	Representation() archive.Representation
	// Evict drops a content from the cache.
	Evict(key cache.Key)
}

// Measured is a file that may turn out not to exist.
type Measured interface {
	Node
	// Measure asks the service whether it has what the file holds, and for the length. The error
	// is that of the service.
	Measure(ctx context.Context) error
}

// Uploads are the files that are not archived.
type Uploads interface {
	// Pending returns the pending and failed ones, oldest first.
	Pending() []Upload
	// Upload returns a pending or failed one, or a local file that is not empty, by its id.
	Upload(id string) (up Upload, ok bool)
	// UploadFile returns the file with its bytes, or ENOENT.
	UploadFile(id string) (Node, error)
	// Discard removes an upload and its bytes.
	Discard(id string) error
}

// Upload is one file that is not archived. Name is what it is called in uploads.
type Upload struct {
	ID, Name string
	Changed  time.Time
}

// Tree is the control directory of a mount. It is safe for concurrent use.
type Tree struct {
	mount    Mount
	log      logrus.FieldLogger
	now      func() time.Time
	ttl      time.Duration
	abouts   *cache.Listings[archive.ID, about]
	searches *cache.Listings[string, *found]
	waited   atomic.Bool
}

// New makes a Tree that trusts answers of the service for ttl. It sends no request.
func New(mount Mount, log logrus.FieldLogger, now func() time.Time, ttl time.Duration) *Tree {
	return &Tree{
		mount: mount, log: log, now: now, ttl: ttl,
		abouts:   cache.NewListings[archive.ID, about](maxAbouts, ttl, now),
		searches: cache.NewListings[string, *found](maxSearches, ttl, now),
	}
}

// Root is the control directory.
func (t *Tree) Root() *Dir {
	root := dirOf(inode.Control,
		named{statusName, &File{Ino: inode.Status, Path: below(statusName), Now: t.now, Content: t.status}},
		named{uploadsName, t.uploads()},
		named{documentsName, t.documents()},
		named{byIDName, t.byID()},
		named{searchName, t.queries()})
	root.SetAttr = t.setAttr
	return root
}

// InvalidateAll forgets all answers of the service.
func (t *Tree) InvalidateAll() {
	t.abouts.InvalidateAll()
	t.searches.InvalidateAll()
}

func (t *Tree) status(context.Context) ([]byte, error) {
	text, err := json.MarshalIndent(t.mount.Status(), "", "  ")
	if err != nil {
		return nil, failed("status", Name, fmt.Errorf("status: %w", err))
	}
	return append(text, '\n'), nil
}

// waitedAttr is set on the control directory by an unmount that has waited for the uploads, so
// that the end of the mount need not wait as long again.
const waitedAttr = "user.archive.waited"

// NoteWaited tells the mount at dir that its uploads were waited for before an unmount, or that it
// stays mounted after all.
func NoteWaited(dir string, waited bool) error {
	if err := unix.Setxattr(filepath.Join(dir, Name), waitedAttr, strconv.AppendBool(nil, waited), 0); err != nil {
		return fmt.Errorf("tell the mount that it ends: %w", err)
	}
	return nil
}

// Waited reports whether the uploads were waited for before the unmount.
func (t *Tree) Waited() bool { return t.waited.Load() }

func (t *Tree) setAttr(attr string, value []byte) error {
	waited, err := strconv.ParseBool(string(value))
	switch {
	case attr != waitedAttr:
		return syscall.ENOTSUP
	case err != nil:
		return syscall.EINVAL
	}
	t.waited.Store(waited)
	return nil
}

// failed is an error that is logged with its operation and path.
func failed(op, path string, err error) error { return &iofs.PathError{Op: op, Path: path, Err: err} }
