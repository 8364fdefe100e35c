package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// furnisher adds to the archive of the default tenant without a request.
type furnisher struct {
	catalog wholeArchive
	intake  *intake
	data    string // the archive's own directory
}

// wholeArchive is the archive of a tenant, with what no request asks for.
type wholeArchive interface {
	catalog.Catalog
	Contents(ctx context.Context, folder archive.ID) ([]store.NamedContent, error)
	Empty(ctx context.Context) (bool, error)
}

// AddMandator adds a mandator. The error is KindConflict for a name that exists, KindInvalid for
// one that a folder cannot have; AddInbox and AddFolder have the same errors.
func (f *furnisher) AddMandator(ctx context.Context, name string) (archive.ID, error) {
	return f.addFolder(ctx, store.Folder{Name: name})
}

// AddInbox adds a user's inbox.
func (f *furnisher) AddInbox(ctx context.Context, userID int64, name string) (archive.ID, error) {
	return f.addFolder(ctx, store.Folder{Name: name, Inbox: true, UserID: userID})
}

// AddFolder adds a folder to a folder or an inbox, whether the structure is free or not.
func (f *furnisher) AddFolder(ctx context.Context, parent archive.ID, name string) (archive.ID, error) {
	if parent == 0 {
		return 0, refusal.Invalid("parent-folder-id", "a folder needs a parent")
	}
	return f.addFolder(ctx, store.Folder{Parent: parent, Name: name})
}

func (f *furnisher) addFolder(ctx context.Context, folder store.Folder) (archive.ID, error) {
	if wrong := limits.FolderName(folder.Name); wrong != "" {
		return 0, refusal.Invalid("name", "%s", wrong)
	}
	return f.catalog.AddFolder(ctx, folder)
}

// NewDocument describes a document to add to the archive or to an inbox.
type NewDocument struct {
	Folder     archive.ID
	Name       string
	Created    time.Time
	Archived   time.Time // zero in an inbox, and only there
	Keywords   []string
	Types      []string
	Metadata   []archive.KeyValue
	ExternalID string
	AutoExport bool
	Notes      []archive.Note  // on page 1
	Stamps     []archive.Stamp // on page 1
}

// AddDocument adds a document with the dates and annotations of another archive. It reads the whole
// content, from which it takes page count and content type.
func (f *furnisher) AddDocument(ctx context.Context, d NewDocument, content io.Reader) (archive.ID, error) {
	if wrong := limits.DocumentName(d.Name); wrong != "" {
		return 0, refusal.Invalid("name", "%s", wrong)
	}
	received, err := f.intake.receive(ctx, turns.Nobody, content, d.Name, "")
	if err != nil {
		return 0, err
	}
	defer f.intake.discard(received)
	document := received.describe(store.Document{
		Folder: d.Folder, Name: d.Name, Created: d.Created, Archived: d.Archived,
		Keywords: d.Keywords, Types: d.Types, Metadata: d.Metadata,
		ExternalID: d.ExternalID, AutoExport: d.AutoExport, Notes: d.Notes, Stamps: d.Stamps,
	})
	ids, err := f.intake.keep(ctx, f.catalog, []receipt{received}, []store.Document{document}, false)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Empty reports whether the archive has no mandator and no inbox yet.
func (f *furnisher) Empty(ctx context.Context) (bool, error) {
	return f.catalog.Empty(ctx)
}

// Import describes an import.
type Import struct {
	// Dir is the directory: directories in it become mandators, deeper ones folders, and files
	// documents. Files in Dir itself go to a mandator of Dir's name.
	Dir string
	// Skipped, if set, is called for each skipped entry with the reason, one at a time.
	Skipped func(path, reason string)
	// Done, if set, is called with the bytes of each processed file. It may be called concurrently.
	Done func(size int64)
}

// Imported is the result of an import.
type Imported struct {
	Folders, Documents int
	Bytes              int64 // of the documents
	Present            int   // documents that were in the archive before
	Skipped            int   // skipped entries; a directory is one, with everything in it
}

// filesAtATime is how many files are added concurrently: those that arrive together share the syncs of the disk.
const filesAtATime = 64

// Import adds a directory tree. A document gets the name of its file, is created at the file's
// modification time, and archived now; the rules of an upload apply. A document with the same name
// and content in the same folder is not added again, so an interrupted import can be repeated.
//
// Entries that cannot be documents are skipped: links, devices, unreadable files, files that are
// too large or have an invalid name. Any other error ends the import. Each document is added like an
// uploaded one. Imported has the numbers even if there is an error.
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
	im := &importer{furnisher: f, options: what, own: data, reading: make(chan struct{}, 2*runtime.GOMAXPROCS(0))}
	err = im.root(ctx, dir)
	if err != nil {
		err = fmt.Errorf("import %s: %w", dir, err)
	}
	return im.made, err
}

// outside refuses a directory inside the archive's own.
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

// importer walks a tree, and adds its files beside that.
type importer struct {
	*furnisher
	options Import
	own     os.FileInfo // of the archive's own directory
	group   *errgroup.Group
	reading chan struct{} // a place for each file that is being read; the others wait for the disk

	mu   sync.Mutex
	made Imported // +checklocks:mu
}

// branch is a folder of the archive for files; the zero branch is above the mandators.
type branch struct {
	id    archive.ID
	depth int // 1 for a mandator
	// known are the documents that it had before, by their names.
	known map[string][]store.NamedContent
}

// count changes the numbers of the result.
func (im *importer) count(change func(made *Imported)) {
	im.mu.Lock()
	defer im.mu.Unlock()
	change(&im.made)
}

// root imports the directory itself. Its own files come first: a directory in it may have the name of
// their mandator.
func (im *importer) root(ctx context.Context, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	files, dirs := im.sort(dir, entries)
	if len(files) > 0 {
		err = im.walk(ctx, func(ctx context.Context) error { return im.ownFiles(ctx, dir, files) })
	}
	if err != nil {
		return err
	}
	return im.walk(ctx, func(ctx context.Context) error { return im.directories(ctx, dir, dirs, &branch{}) })
}

// walk calls do, and waits until the files are added that it has found.
func (im *importer) walk(ctx context.Context, do func(ctx context.Context) error) error {
	group, within := errgroup.WithContext(ctx)
	group.SetLimit(filesAtATime)
	im.group = group
	err := do(within)
	return cmp.Or(group.Wait(), err) // a failure of a file ends do, too
}

// ownFiles imports the files of the directory itself, into a mandator of its name.
func (im *importer) ownFiles(ctx context.Context, dir string, files []fs.DirEntry) error {
	name := filepath.Base(dir)
	if wrong := limits.FolderName(name); wrong != "" {
		for _, f := range files {
			im.skip(filepath.Join(dir, f.Name()), "its directory cannot name a mandator: "+wrong)
		}
		return nil
	}
	mandator, err := im.enter(ctx, &branch{}, name)
	if err == nil {
		im.files(ctx, dir, files, mandator)
	}
	return err
}

// sort separates files from directories and skips everything else.
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

// kindOf names the kind of an entry that is neither a file nor a directory.
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

// directory imports a directory as a folder: its files, then its directories.
func (im *importer) directory(ctx context.Context, path string, d fs.DirEntry, in *branch) error {
	if wrong := limits.FolderName(d.Name()); wrong != "" {
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
	at, err := im.enter(ctx, in, d.Name())
	if err != nil {
		return err
	}
	files, dirs := im.sort(path, entries)
	im.files(ctx, path, files, at)
	return im.directories(ctx, path, dirs, at)
}

// enter finds a folder and its documents, or adds the folder.
func (im *importer) enter(ctx context.Context, in *branch, name string) (*branch, error) {
	at := &branch{depth: in.depth + 1, known: map[string][]store.NamedContent{}}
	f, err := im.catalog.Child(ctx, in.id, name)
	if archive.KindOf(err) == archive.KindNotFound {
		if at.id, err = im.addFolder(ctx, store.Folder{Parent: in.id, Name: name}); err == nil {
			im.count(func(made *Imported) { made.Folders++ })
		}
		return at, err
	}
	if err != nil {
		return nil, err
	}
	at.id = f.ID
	contents, err := im.catalog.Contents(ctx, f.ID)
	for _, c := range contents {
		at.known[c.Name] = append(at.known[c.Name], c)
	}
	return at, err
}

// files adds the files of a directory in the background.
func (im *importer) files(ctx context.Context, dir string, files []fs.DirEntry, in *branch) {
	for _, f := range files {
		path := filepath.Join(dir, f.Name())
		if wrong := limits.DocumentName(f.Name()); wrong != "" {
			im.skip(path, "bad name: "+wrong)
			continue
		}
		info, err := f.Info()
		if err != nil {
			im.skip(path, reason(err))
			continue
		}
		im.group.Go(func() error {
			err := im.add(ctx, path, info, in)
			if err == nil && im.options.Done != nil {
				im.options.Done(info.Size())
			}
			return err
		})
	}
}

// skip leaves an entry out.
func (im *importer) skip(path, reason string) {
	im.count(func(made *Imported) {
		made.Skipped++
		if im.options.Skipped != nil {
			im.options.Skipped(path, reason)
		}
	})
}

// reason is an error of the file system without the path, which is reported beside it.
func reason(err error) string {
	if at := new(fs.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// add adds a file like an upload, unless its folder has it already. A problem of the file skips it; the
// error is the archive's or the context's.
func (im *importer) add(ctx context.Context, path string, info fs.FileInfo, in *branch) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	file, err := openRegular(path)
	if err != nil {
		im.skip(path, reason(err))
		return nil
	}
	defer func() { _ = file.Close() }()
	received, present, err := im.read(ctx, interruptible{ctx, file}, info, in.known[info.Name()])
	if err == nil && !present {
		defer im.intake.discard(received)
	}
	spoilt := new(spoiltError)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case present:
		im.count(func(made *Imported) { made.Present++ })
		return nil
	case errors.As(err, &spoilt):
		im.skip(path, spoilt.reason)
		return nil
	case err != nil:
		return err
	}
	now := time.Now()
	created := info.ModTime()
	if created.After(now) || created.Unix() <= 0 { // nobody knows
		created = now
	}
	document := received.describe(store.Document{Folder: in.id, Name: info.Name(), Created: created, Archived: now})
	// What has begun is finished.
	if _, err := im.intake.keep(context.WithoutCancel(ctx), im.catalog, []receipt{received}, []store.Document{document}, false); err != nil {
		return err
	}
	im.count(func(made *Imported) { made.Documents, made.Bytes = made.Documents+1, made.Bytes+received.Size() })
	return nil
}

// spoiltError says why a file cannot be a document.
type spoiltError struct{ reason string }

func (e *spoiltError) Error() string { return e.reason }

// read receives a file, unless it is one of the documents of its name.
func (im *importer) read(ctx context.Context, file interruptible, info fs.FileInfo, known []store.NamedContent) (received receipt, present bool, err error) {
	im.reading <- struct{}{}
	defer func() { <-im.reading }()
	if slices.ContainsFunc(known, func(k store.NamedContent) bool { return k.Size == info.Size() }) {
		sum := sha256.New()
		_, err := io.Copy(sum, file)
		digest := hex.EncodeToString(sum.Sum(nil))
		if err == nil && slices.ContainsFunc(known, func(k store.NamedContent) bool { return k.Digest == digest }) {
			return receipt{}, true, nil
		}
		if err == nil {
			_, err = file.file.Seek(0, io.SeekStart)
		}
		if err != nil {
			return receipt{}, false, &spoiltError{reason(err)}
		}
	}
	content := &bounded{Reader: file, left: im.intake.most, limit: im.intake.most}
	received, err = im.intake.receive(ctx, turns.Nobody, content, info.Name(), "")
	switch {
	case archive.KindOf(err) == archive.KindTooLarge:
		err = &spoiltError{"larger than " + limits.Amount(im.intake.most)}
	case err != nil && content.failed != nil:
		err = &spoiltError{reason(content.failed)}
	}
	return received, false, err
}

// openRegular opens a file that was regular when its directory was read, and still is.
func openRegular(path string) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0) //nolint:gosec // the operator names the tree
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: syscall.EINVAL}
	}
	if err != nil {
		_ = file.Close()
		return nil, err
	}
	return file, nil
}

// interruptible is a reader that ends with its context.
type interruptible struct {
	ctx  context.Context // lives as long as one copy
	file *os.File
}

// Read implements io.Reader.
func (r interruptible) Read(p []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.file.Read(p)
}
