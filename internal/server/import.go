package server

import (
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
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/catalog"
	"github.com/archivefs/archivefs/internal/server/limits"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/server/turns"
)

// furnisher adds to the archive of the default tenant without a request.
type furnisher struct {
	catalog catalog.Catalog
	intake  *intake
	data    string // the archive's own directory
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
	// Skipped, if set, is called for each skipped entry with the reason.
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

// Import adds a directory tree. A document gets the name of its file, is created at the file's
// modification time, and archived now; the rules of an upload apply. A document with the same name
// and content in the same folder is not added again, so an interrupted import can be repeated.
//
// Entries that cannot be documents are skipped: links, devices, unreadable files, files that are
// too large or have an invalid name. Any other error ends the import. Documents are added in
// batches of some hundred, each all or nothing across a crash. Imported has the numbers even if
// there is an error. Nothing else may change the archive meanwhile.
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
	im := &importer{furnisher: f, options: what, own: data}
	err = im.root(ctx, dir)
	if err == nil {
		err = im.flush(ctx)
	}
	if err != nil {
		err = fmt.Errorf("import %s: %w", dir, err)
	}
	return im.Imported, err
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

// importer walks a tree and adds it in batches. Its methods belong to one goroutine.
type importer struct {
	Imported
	*furnisher
	options Import
	own     os.FileInfo // of the archive's own directory
	batch   batch
}

// branch is a folder of the archive for files. Its id is 0 above the mandators, and negative while
// the folder is in the batch: see store.AddBatch.
type branch struct {
	id    archive.ID
	depth int // 1 for a mandator
}

// root imports the directory itself. Its own files come first and are added at once: a directory in
// it may have the name of their mandator.
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
	if wrong := limits.FolderName(name); wrong != "" {
		for _, f := range files {
			im.skip(filepath.Join(dir, f.Name()), "its directory cannot name a mandator: "+wrong)
		}
		return nil
	}
	mandator, known, err := im.enter(ctx, &branch{}, name)
	if err != nil {
		return err
	}
	return im.files(ctx, dir, files, mandator, known)
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

// enter finds a folder and its entries by name, or adds the folder to the batch.
func (im *importer) enter(ctx context.Context, in *branch, name string) (*branch, map[string][]store.NamedContent, error) {
	if im.batch.full() { // of folders
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

// files adds the files of a directory to the batch, and flushes a full batch.
func (im *importer) files(ctx context.Context, dir string, files []fs.DirEntry, in *branch, known map[string][]store.NamedContent) error {
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
	if im.options.Skipped != nil {
		im.options.Skipped(path, reason)
	}
}

// reason is an error of the file system without the path, which is reported beside it.
func reason(err error) string {
	if at := new(fs.PathError); errors.As(err, &at) {
		return at.Err.Error()
	}
	return err.Error()
}

// The limits of a batch: large enough to wait for the disk rarely. Each document of it holds a file
// open.
const (
	batchDocuments = 512
	batchFolders   = 4096
	batchBytes     = 256 << 20
)

// batch is added in one transaction.
type batch struct {
	folders    []store.Folder
	branches   []*branch // of the folders
	candidates []candidate
	bytes      int64
}

func (b *batch) folder(in *branch, name string) *branch {
	b.folders = append(b.folders, store.Folder{Parent: in.id, Name: name})
	made := &branch{id: -archive.ID(len(b.folders)), depth: in.depth + 1}
	b.branches = append(b.branches, made)
	return made
}

func (b *batch) file(c candidate) {
	b.candidates = append(b.candidates, c)
	b.bytes += c.size
}

func (b *batch) full() bool {
	return len(b.candidates) >= batchDocuments || len(b.folders) >= batchFolders || b.bytes >= batchBytes
}

// flush adds the batch, all or nothing of it, and begins a new one.
func (im *importer) flush(ctx context.Context) error {
	defer im.intake.activity.change()
	defer im.intake.activity.begin()()
	b := im.batch
	im.batch = batch{}
	outcomes, err := im.receive(ctx, b.candidates)
	defer func() {
		for _, o := range outcomes {
			if o.received != nil {
				im.intake.discard(*o.received)
			}
		}
	}()
	if err != nil {
		return err
	}
	now := time.Now()
	var staged []blob.Staged
	var documents []store.Document
	added := Imported{Folders: len(b.folders)}
	for i, c := range b.candidates {
		switch o := outcomes[i]; {
		case o.skipped != "":
			im.skip(c.path, o.skipped)
		case o.received == nil:
			added.Present++
		default:
			staged = append(staged, o.received.Staged)
			documents = append(documents, o.received.describe(c.document(now)))
			added.Documents++
			added.Bytes += o.received.Size()
		}
	}
	if err := im.add(ctx, b, staged, documents); err != nil {
		return err
	}
	im.Folders, im.Documents = im.Folders+added.Folders, im.Documents+added.Documents
	im.Present, im.Bytes = im.Present+added.Present, im.Bytes+added.Bytes
	return nil
}

// add makes the contents durable and then adds folders and documents in one transaction.
func (im *importer) add(ctx context.Context, b batch, staged []blob.Staged, documents []store.Document) error {
	if len(b.folders)+len(documents) == 0 {
		return nil
	}
	ctx = context.WithoutCancel(ctx) // a batch is finished once it is begun
	return im.intake.vault.keep(ctx, staged, func(ctx context.Context) error {
		ids, err := im.catalog.AddBatch(ctx, b.folders, documents)
		if err != nil {
			return err
		}
		for i, made := range b.branches {
			made.id = ids[i]
		}
		return nil
	})
}

// receive reads the files, several at a time. The outcomes are in the order of the files; after an
// error only some are set.
func (im *importer) receive(ctx context.Context, candidates []candidate) ([]fileOutcome, error) {
	outcomes := make([]fileOutcome, len(candidates))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(2 * runtime.GOMAXPROCS(0)) // some read while others wait for the disk
	for i, c := range candidates {
		group.Go(func() (err error) {
			outcomes[i], err = im.take(ctx, c)
			if im.options.Done != nil && err == nil {
				im.options.Done(c.size)
			}
			return err
		})
	}
	err := group.Wait()
	return outcomes, err
}

// candidate is a file that may become a document.
type candidate struct {
	path, name string
	size       int64 // when it was found
	changed    time.Time
	in         *branch
	known      []store.NamedContent // the documents of its name in its folder
}

// fileOutcome is the outcome of a candidate. The zero value: the document exists already.
type fileOutcome struct {
	received *receipt
	skipped  string // why it is skipped
}

// document describes the new document. A modification time in the future, or before 1970, is
// ignored.
func (c candidate) document(now time.Time) store.Document {
	created := c.changed
	if created.After(now) || created.Unix() <= 0 {
		created = now
	}
	return store.Document{Folder: c.in.id, Name: c.name, Created: created, Archived: now}
}

// take receives a file like an upload, unless its folder has it already. A problem of the file is
// in the outcome; an error is the archive's or the context's.
func (f *furnisher) take(ctx context.Context, c candidate) (fileOutcome, error) {
	file, err := openRegular(c.path)
	if err != nil {
		return fileOutcome{skipped: reason(err)}, nil
	}
	defer func() { _ = file.Close() }()
	if slices.ContainsFunc(c.known, func(k store.NamedContent) bool { return k.Size == c.size }) {
		sum := sha256.New()
		if _, err := io.Copy(sum, interruptible{ctx, file}); err != nil {
			return spoilt(ctx, err)
		}
		digest := hex.EncodeToString(sum.Sum(nil))
		if slices.ContainsFunc(c.known, func(k store.NamedContent) bool { return k.Digest == digest }) {
			return fileOutcome{}, nil
		}
		if _, err := file.Seek(0, io.SeekStart); err != nil {
			return spoilt(ctx, err)
		}
	}
	content := &bounded{Reader: interruptible{ctx, file}, left: f.intake.most, limit: f.intake.most}
	received, err := f.intake.receive(ctx, turns.Nobody, content, c.name, "")
	switch {
	case err == nil:
		return fileOutcome{received: &received}, nil
	case archive.KindOf(err) == archive.KindTooLarge:
		return fileOutcome{skipped: "larger than " + limits.Amount(f.intake.most)}, nil
	case content.failed != nil:
		return spoilt(ctx, content.failed)
	}
	return fileOutcome{}, err
}

// spoilt is the outcome of a file that cannot be read, unless ctx has ended.
func spoilt(ctx context.Context, err error) (fileOutcome, error) {
	if ctx.Err() != nil {
		return fileOutcome{}, ctx.Err()
	}
	return fileOutcome{skipped: reason(err)}, nil
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
