// Package control serves the directory .archivefs: read-only, reachable by name, never listed.
//
//	.archivefs/status.json     requests, caches, uploads, health
//	.archivefs/uploads/        pending and failed files, each as "ID NAME"
//	.archivefs/documents/ID/   what the service has of a document
//	.archivefs/by-id/ID        a link to the document's file
//	.archivefs/search/QUERY/   links to the files of the documents that match
//	.archivefs/by-keyword/WORD/  links to those with a keyword; a document moved there gets it
//
// The last four list nothing: open their entries by name.
//
// A Tree describes the directory by nodes of three types, Dir, File and Link, which the caller
// translates for the kernel. A Mount provides what they show. The files of documents and uploads
// are nodes of the Mount: their contents are opened and cached there.
package control

import (
	"context"
	"encoding/json"
	"fmt"
	iofs "io/fs"
	"path"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/sirupsen/logrus"

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
	byKeywordName = "by-keyword"
)

// Mount provides what the control directory shows.
type Mount interface {
	// Status returns the content of status.json for the user of a request.
	Status(ctx context.Context) any
	// Whose names the credentials of the user: hits of one name are not for another one.
	Whose(ctx context.Context) string
	// Sees returns nil if the user sees a document, wherever it lies.
	Sees(ctx context.Context, doc archive.ID) error
	// RereadSearches reads the saved searches again, and passes them to SetSearches.
	RereadSearches() error

	// Data and Search ask the archive service.
	Data(ctx context.Context, doc archive.ID) (archive.DocumentData, error)
	Search(ctx context.Context, s archive.Search, limit int) (archive.Hits, error)
	// WithKeyword returns the inbox documents for which the mount keeps a keyword.
	WithKeyword(word string) []archive.ID

	// Listed returns a document as the listing of its folder has it, nil if that is not known. archived reports that
	// the folder is not an inbox, known that the folder was looked up before. It sends no request.
	Listed(folder, id archive.ID) (doc *archive.Document, archived, known bool)
	// FolderNamed returns the id of the folder at a path from the top of the mount, 0 for all of the archive.
	FolderNamed(ctx context.Context, path []string) (archive.ID, error)
	// Locate returns the wanted folders by id. wanted maps the id of each to the name of its mandator, empty for an
	// inbox. Folders that are not found are left out; even with an error the found ones are returned.
	Locate(ctx context.Context, wanted map[archive.ID]string) (map[archive.ID]Folder, error)

	// Rendition returns the file of a rendition: the same one while the kernel knows it.
	Rendition(r Rendition, doc *archive.Document) Measured
	// Representation returns the representation in which the folder's file shows a document.
	Representation() archive.Representation
	// Evict drops a content from the cache.
	Evict(key cache.Key)

	// Pending returns the pending and failed files, oldest first.
	Pending() []Upload
	// Upload returns a pending or failed file, or a local one that is not empty, by its id.
	Upload(id string) (up Upload, ok bool)
	// UploadFile returns the file with its bytes, or ENOENT.
	UploadFile(id string) (Node, error)
	// Discard removes an upload and its bytes.
	Discard(id string) error
}

// Folder is a folder that the mount shows.
type Folder interface {
	// PathOf returns the path of a document in the folder from the top of the mount, empty if the
	// document is not shown. Its errors are like those of nodes.
	PathOf(ctx context.Context, doc archive.ID) (string, error)
}

// Measured is a file whose existence the service has not confirmed yet.
type Measured interface {
	Node
	// Measure asks the service whether the content exists, and for its length. The error is the service's.
	Measure(ctx context.Context) error
}

// Upload is one file that is not archived. Name is its name in the directory uploads.
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
	saved    atomic.Pointer[[]Saved]
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
		named{searchName, t.queries()},
		named{byKeywordName, t.keywords()})
	root.SetAttr = t.setAttr
	return root
}

// InvalidateAll drops all cached answers of the service.
func (t *Tree) InvalidateAll() {
	t.abouts.InvalidateAll()
	t.searches.InvalidateAll()
}

func (t *Tree) status(ctx context.Context) ([]byte, error) {
	text, err := json.MarshalIndent(t.mount.Status(ctx), "", "  ")
	if err != nil {
		return nil, failed("status", Name, fmt.Errorf("status: %w", err))
	}
	return append(text, '\n'), nil
}

func (t *Tree) setAttr(attr string, _ []byte) error {
	if attr == rereadAttr {
		return t.mount.RereadSearches()
	}
	return syscall.ENOTSUP
}

// failed returns an error that is logged with its operation and path.
func failed(op, path string, err error) error { return &iofs.PathError{Op: op, Path: path, Err: err} }

// Node is a directory entry: a *Dir, a *File, a *Link, or a file that the Mount returned.
type Node interface {
	// Number is the inode number.
	Number() uint64
}

// Attr are the attributes of a node. A zero Time stands for the start of the mount.
type Attr struct {
	Ino  uint64
	Mode uint32 // type and permissions, as in stat(2), before the umask
	Size int64  // bytes; of a directory the number of entries, or 0
	Time time.Time
}

// Entry is a name in the listing of a directory, with the type bits of its mode.
type Entry struct {
	Name string
	Mode uint32
	Ino  uint64 // 0 if the listing does not know it
}

// Dir is a directory. Nothing can be created or renamed in it. Errors of nodes are an
// *fs.PathError, which is logged, or a bare syscall.Errno, which is not.
type Dir struct {
	Ino uint64
	// Lookup returns ENOENT for a name that does not exist.
	Lookup func(ctx context.Context, name string) (Node, error)
	// List is nil if the directory lists nothing.
	List func(ctx context.Context) ([]Entry, error)
	// Remove is nil if nothing can be removed.
	Remove func(name string) error
	// SetAttr sets an extended attribute; it is nil if none can be set.
	SetAttr func(attr string, value []byte) error
	// GetAttr reads an extended attribute; it is nil if there is none.
	GetAttr func(ctx context.Context, attr string) ([]byte, error)
	// Size is the number of entries, as far as it is known without a request; nil stands for 0.
	Size func() int64
	// Keyword is the keyword that a document gets when it is moved into the directory; empty for none.
	Keyword string
	// Path is the path from the top of the mount, for messages.
	Path string
}

// File is a file whose content is generated by each open, as a snapshot. Its modification time is the current time.
type File struct {
	Ino     uint64
	Path    string // from the top of the mount
	Now     func() time.Time
	Content func(ctx context.Context) ([]byte, error)
}

// Link is a symbolic link. Its target is resolved each time it is read.
type Link struct {
	Ino    uint64
	Size   int64 // length of the target; 0, as in /proc, if that takes requests
	Time   time.Time
	Target func(ctx context.Context) (string, error)
}

// Number is the inode number.
func (d *Dir) Number() uint64 { return d.Ino }

// Number is the inode number.
func (f *File) Number() uint64 { return f.Ino }

// Number is the inode number.
func (l *Link) Number() uint64 { return l.Ino }

// Attr returns the attributes and no error.
func (d *Dir) Attr(context.Context) (Attr, error) {
	a := Attr{Ino: d.Ino, Mode: syscall.S_IFDIR | 0o555}
	if d.Keyword != "" {
		a.Mode |= 0o222
	}
	if d.Size != nil {
		a.Size = d.Size()
	}
	return a, nil
}

// Attr returns the attributes, or the error of Content, which it calls for the length.
func (f *File) Attr(ctx context.Context) (Attr, error) {
	content, err := f.Content(ctx)
	return Attr{Ino: f.Ino, Mode: syscall.S_IFREG | 0o444, Size: int64(len(content)), Time: f.Now()}, err
}

// Attr returns the attributes and no error.
func (l *Link) Attr(context.Context) (Attr, error) {
	return Attr{Ino: l.Ino, Mode: syscall.S_IFLNK | 0o777, Size: l.Size, Time: l.Time}, nil
}

type named struct {
	name string
	node Node
}

// dirOf is a directory of fixed nodes.
func dirOf(ino uint64, nodes ...named) *Dir {
	d := &Dir{Ino: ino}
	d.Lookup = func(_ context.Context, name string) (Node, error) {
		for _, n := range nodes {
			if n.name == name {
				return n.node, nil
			}
		}
		return nil, syscall.ENOENT
	}
	d.List = func(context.Context) ([]Entry, error) {
		var list []Entry
		for _, n := range nodes {
			mode := uint32(syscall.S_IFDIR)
			if _, file := n.node.(*File); file {
				mode = syscall.S_IFREG
			}
			list = append(list, Entry{Name: n.name, Mode: mode, Ino: n.node.Number()})
		}
		return list, nil
	}
	return d
}

// below returns a path in the control directory, from the top of the mount.
func below(names ...string) string {
	return path.Join(append([]string{Name}, names...)...)
}
