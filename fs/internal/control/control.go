// Package control is the directory .archivefs: reachable by name, never listed, read-only.
//
//	.archivefs/status.json     requests, caches, uploads, health
//	.archivefs/uploads/        pending and failed files, each as "ID NAME"
//	.archivefs/documents/ID/   what the service has of a document
//	.archivefs/by-id/ID        a link to the document's file
//	.archivefs/search/QUERY/   links to the files of the documents that are found
//
// The last three list nothing: a name in them exists when somebody asks for it.
//
// A Tree describes the directory with the nodes Dir, File and Link; whoever speaks to the kernel
// translates them. The files of documents and of uploads are handed in as they are: their
// contents are cached and opened elsewhere.
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

// Folders is the tree of folders that the mount shows.
type Folders interface {
	// Listed is what is known of a document in a folder without a request. There is no folder
	// where known is false, and no listing with the document where doc is nil. archived says
	// that the folder is one of the archive, and no inbox.
	Listed(folder, id archive.ID) (doc *archive.Document, archived, known bool)
	// FolderNamed returns the id of the folder that a path leads to from the top of the mount,
	// 0 for an empty path.
	FolderNamed(ctx context.Context, path []string) (archive.ID, error)
	// Locate returns the folders of these ids, each with the name of its mandator, empty in an
	// inbox. It leaves out what it cannot find, also beside an error.
	Locate(ctx context.Context, wanted map[archive.ID]string) (map[archive.ID]Folder, error)
}

// Folder is a folder that the mount shows.
type Folder interface {
	// PathOf is where a document of the folder is shown, from the top of the mount; empty where
	// it is not.
	PathOf(ctx context.Context, doc archive.ID) (string, error)
}

// Files are the files that hold what the service has of documents.
type Files interface {
	// Rendition is the file that holds a rendition: the same one for as long as somebody uses it.
	Rendition(r Rendition, doc *archive.Document) Measured
	// Representation is what the file of a document in its folder holds.
	Representation() archive.Representation
	// Evict drops a content that has changed.
	Evict(key cache.Key)
}

// Measured is a file whose existence and length the service may have to tell.
type Measured interface {
	Node
	// Measure returns nil where the service has what the file holds.
	Measure(ctx context.Context) error
}

// Uploads are the files that the archive does not have.
type Uploads interface {
	// Pending are the pending and failed ones, oldest first.
	Pending() []Upload
	// Upload is the one of that id, which may also be a local file that holds something.
	Upload(id string) (up Upload, ok bool)
	// UploadFile is the file with its bytes.
	UploadFile(id string) (Node, error)
	// Discard removes it, and its bytes.
	Discard(id string) error
}

// Upload is one file that the archive does not have.
type Upload struct {
	ID, Name string // the name is that of the file in uploads
	Changed  time.Time
}

// Options configure a Tree.
type Options struct {
	Mount Mount
	Log   logrus.FieldLogger
	Now   func() time.Time
	// TTL is how long answers of the service are trusted.
	TTL time.Duration
}

// Tree is the control directory of a mount. It is safe for concurrent use.
type Tree struct {
	mount    Mount
	log      logrus.FieldLogger
	now      func() time.Time
	abouts   *cache.Listings[archive.ID, about]
	searches *cache.Listings[string, *found]
	waited   atomic.Bool
}

// New makes a Tree. It asks nothing.
func New(o Options) *Tree {
	return &Tree{
		mount: o.Mount, log: o.Log, now: o.Now,
		abouts:   cache.NewListings[archive.ID, about](maxAbouts, o.TTL, o.Now),
		searches: cache.NewListings[string, *found](maxSearches, o.TTL, o.Now),
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

// InvalidateAll has the service asked again for everything.
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

// waitedAttr of the control directory says whether somebody who unmounts has waited for the
// uploads, so that the end of the mount need not wait as long once more.
const waitedAttr = "user.archive.waited"

// NoteWaited tells the mount at dir that somebody has waited for its uploads and unmounts it,
// or that it stays mounted.
func NoteWaited(dir string, waited bool) error {
	if err := unix.Setxattr(filepath.Join(dir, Name), waitedAttr, strconv.AppendBool(nil, waited), 0); err != nil {
		return fmt.Errorf("tell the mount that it ends: %w", err)
	}
	return nil
}

// Waited reports whether somebody has waited for the uploads before the unmount.
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

// failed is an error to be logged with its operation and path.
func failed(op, path string, err error) error { return &iofs.PathError{Op: op, Path: path, Err: err} }
