package fs

import (
	"context"
	"fmt"
	"io"
	iofs "io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/control"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/names"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// Kept is a spool that no mount uses. It lists and discards uploads as the control directory of a
// mount does, except for what requires the archive service.
type Kept struct{ Spool *spool.Spool }

// List returns what the archive does not have, or may not have, oldest first. It includes local files
// (StateLocal), because without a mount no folder shows them.
func (k Kept) List() []UploadInfo {
	list := []UploadInfo{}
	for _, up := range k.Spool.List() {
		r := up.Record()
		switch {
		case holdsHere(up, &r):
			list = append(list, localInfo(k.Spool, up, &r))
		case listed(&r):
			list = append(list, uploadInfo(k.Spool, up, &r))
		}
	}
	return list
}

// Open opens the bytes of an upload. name and modified are its name and time in the control directory of a mount.
func (k Kept) Open(id string) (bytes io.ReadSeekCloser, name string, modified time.Time, err error) {
	up, err := k.find(id)
	if err != nil {
		return nil, "", time.Time{}, err
	}
	if err := up.Open(); err != nil {
		return nil, "", time.Time{}, err
	}
	r := up.Record()
	return keptBytes{io.NewSectionReader(up, 0, up.Size()), up}, uploadName(&r), staging.ModifiedOf(&r), nil
}

type keptBytes struct {
	*io.SectionReader
	io.Closer
}

// Discard removes an upload and its bytes. A queued folder must be empty. Because nothing is being
// sent, it also removes uploads that the archive may have.
func (k Kept) Discard(id string) error {
	up, err := k.find(id)
	switch {
	case err != nil:
		return err
	case up.Record().Directory && staging.HoldsUploads(k.Spool, up):
		return errno.ErrHoldsUploads
	}
	return up.Remove()
}

func (k Kept) find(id string) (*spool.Upload, error) {
	up, there := k.Spool.Get(id)
	if !there {
		return nil, fmt.Errorf("upload %s: %w", id, os.ErrNotExist)
	}
	return up, nil
}

// listed reports whether a file of the spool waits for the archive or for a decision. Local files do not.
func listed(r *spool.Record) bool {
	return r.State != spool.Confirmed && (!r.State.Written() || r.State.InQueue())
}

// holdsHere reports whether it is a local file with content, which may be somebody's work.
func holdsHere(up *spool.Upload, r *spool.Record) bool {
	return r.State == spool.Local && up.Size() > 0
}

// Reasons of local files that have none of their own.
const (
	temporaryStays = "its name, or that of a directory it lies in, is a temporary one, and such a file stays on this machine"
	takenForOne    = "it was taken for a temporary file: under another name it is archived"
)

func localInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	info := uploadInfo(s, up, r)
	info.State, info.HeldBack = StateLocal, staging.IsHeldBack(up)
	switch {
	case !r.Forgotten.IsZero():
		info.Error = "a temporary file, long unchanged and no longer in its folder: its bytes are kept until " + staging.GoneOn(r).Format(time.DateOnly)
	case info.Error != "":
	case staging.StaysHere(r):
		info.Error = temporaryStays
	default:
		info.Error = takenForOne
	}
	return info
}

// uploadName returns the name of an upload in the control directory.
func uploadName(r *spool.Record) string {
	return names.Prefixed(r.ID, r.Name)
}

func uploadInfo(s *spool.Spool, up *spool.Upload, r *spool.Record) UploadInfo {
	state, reason := StatePending, staging.WhyWaits(s, r)
	if r.State.IsFailed() {
		state = "failed"
	}
	why := reason
	if why == "" && r.State.InFlight() && up.Sent() == 0 { // cut off: nobody has looked for it yet
		why = "it was being sent, and the archive may have it already"
	}
	return UploadInfo{
		ID: r.ID, State: state, Path: archive.Printable(r.Path + "/" + r.Name), Size: up.Size(),
		Changed: r.Changed, Directory: r.Directory, Inbox: r.Inbox, Incomplete: r.Incomplete(), Never: neverSent(up, r),
		Rests: staging.Rests(r), Waits: r.State.InQueue() && reason != "" && !staging.Rests(r), InDoubt: r.WaitsInDoubt(), Error: archive.Printable(why),
	}
}

// neverSent returns why an upload cannot be sent as it is, empty where it can.
func neverSent(up *spool.Upload, r *spool.Record) string {
	switch {
	case r.State == spool.Unusable:
		return "only its bytes are left"
	case staging.StaysHere(r):
		return "its name is a temporary one"
	case r.Incomplete() && up.Size() == 0:
		return spool.ErrEmpty.Error()
	}
	return ""
}

// controlMount gives package control access to the mount.
type controlMount struct {
	f *FileSystem

	mu sync.Mutex
	// kept holds the files of uploads by id.
	kept map[string]*staging.File // +checklocks:mu
}

// ErrSearches is the error of RereadSearches if the mount cannot read its configuration.
const ErrSearches = syscall.EIO

// RereadSearches makes the mount at dir read the saved searches of its configuration again. Other errors
// than ErrSearches say that there is no mount, or none of this user.
func RereadSearches(dir string) error { return control.RereadSearches(dir) }

var _ control.Mount = (*controlMount)(nil)

func (m *controlMount) Status(ctx context.Context) any {
	if _, everything, err := m.f.kernel.Guard.Judge.Everything(ctx); err != nil || !everything {
		return m.f.publicStatus()
	}
	return m.f.Status()
}

func (m *controlMount) Whose(ctx context.Context) string { return m.f.kernel.Guard.Judge.Whose(ctx) }

func (m *controlMount) Sees(ctx context.Context, doc archive.ID) error {
	return m.f.kernel.Guard.Judge.Anywhere(ctx, doc)
}

func (m *controlMount) RereadSearches() error {
	if m.f.opts.ReadSearches == nil {
		return syscall.ENOTSUP
	}
	if err := m.f.RereadSearches(); err != nil {
		m.f.log.Warnf("the saved searches stay as they are: %v", err)
		return ErrSearches
	}
	return nil
}

func (m *controlMount) Data(ctx context.Context, id archive.ID) (archive.DocumentData, error) {
	data, err := m.f.Service.Archive.Data(ctx, id)
	return data, m.f.Service.Answered(err)
}

func (m *controlMount) Search(ctx context.Context, search archive.Search, limit int) (archive.Hits, error) {
	hits, err := m.f.Service.Archive.Search(ctx, search, limit)
	return hits, m.f.Service.Answered(err)
}

func (m *controlMount) WithKeyword(word string) []archive.ID { return m.f.opts.State.WithKeyword(word) }

func (m *controlMount) Listed(folder, id archive.ID) (doc *archive.Document, archived, known bool) {
	d := m.f.staging.Folder(folder)
	if d == nil {
		return nil, false, false
	}
	return d.Document(id), d.Kind().Archives(), true
}

func (m *controlMount) FolderNamed(ctx context.Context, path []string) (archive.ID, error) {
	d, err := folderAt(ctx, m.f.Root.Tree.Top.Load(), path)
	if err != nil {
		return 0, err
	}
	if d.Kind() == tree.InboxesDir && len(path) > 0 {
		return 0, errno.Refuse(syscall.EINVAL, "in:"+tree.InboxesName+" is followed by the name of an inbox: in:"+tree.InboxesName+" in:NAME")
	}
	return d.ID(), nil
}

func folderAt(ctx context.Context, d *tree.Dir, path []string) (*tree.Dir, error) {
	for _, name := range path {
		if err := d.Tree.LoadFolders(ctx, d, tree.NeedNames); err != nil {
			return nil, err
		}
		e := d.Reach(name)
		if e == nil || e.Dir == nil || e.Dir.IsLocal() {
			return nil, errno.Refuse(syscall.ENOENT, "the archive has no folder "+archive.Printable(d.PathOf(name)))
		}
		d = e.Dir
	}
	return d, nil
}

func (m *controlMount) Locate(ctx context.Context, wanted map[archive.ID]string) (map[archive.ID]control.Folder, error) {
	m.f.Service.Work.Begin()
	defer m.f.Service.Work.End()
	dirs, err := m.f.Locate(ctx, wanted)
	folders := make(map[archive.ID]control.Folder, len(dirs))
	for id, d := range dirs {
		folders[id] = locatedDir{id, d, m.f}
	}
	return folders, err
}

// locatedDir is the directory of a located folder.
type locatedDir struct {
	id archive.ID
	d  *tree.Dir
	fs *FileSystem
}

// PathOf returns the path of a document in the directory, empty if it is not shown. If d is not shown
// any more, it uses the directory that has the id by then.
func (l locatedDir) PathOf(ctx context.Context, doc archive.ID) (string, error) {
	d := l.d
	if !d.IsShown() {
		d = l.fs.staging.Folder(l.id) // nil: it is not shown at all
	}
	if !tree.Shows(d) {
		return "", nil
	}
	if err := d.Tree.LoadDocuments(ctx, d, tree.NeedNames); err != nil {
		return "", &iofs.PathError{Op: "readlink", Path: d.Path(), Err: err}
	}
	name := d.ShownAs(doc)
	if name == "" {
		return "", nil
	}
	return tree.FromTop(d.Tree, d.PathOf(name)), nil
}

func (m *controlMount) Rendition(r control.Rendition, doc *archive.Document) control.Measured {
	return m.f.kernel.Rendition(r, doc)
}

func (m *controlMount) Representation() archive.Representation { return m.f.Reps.Order()[0] }

func (m *controlMount) Evict(key cache.Key) { m.f.Content.Remove(key) }

func (m *controlMount) Pending() []control.Upload {
	var list []control.Upload
	for _, up := range m.f.staging.Spool.List() {
		if r := up.Record(); listed(&r) {
			list = append(list, shownUpload(&r))
		}
	}
	return list
}

func shownUpload(r *spool.Record) control.Upload {
	return control.Upload{ID: r.ID, Name: uploadName(r), Changed: r.Changed}
}

func (m *controlMount) Upload(id string) (control.Upload, bool) {
	up, ok := m.f.staging.Spool.Get(id)
	if !ok {
		return control.Upload{}, false
	}
	r := up.Record()
	return shownUpload(&r), listed(&r) || holdsHere(up, &r)
}

// UploadFile returns the same file, with the same inode number, as long as the upload exists.
func (m *controlMount) UploadFile(id string) (control.Node, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for id := range m.kept {
		if _, there := m.f.staging.Spool.Get(id); !there {
			delete(m.kept, id)
		}
	}
	up, ok := m.f.staging.Spool.Get(id)
	if !ok {
		return nil, syscall.ENOENT
	}
	if m.kept[id] == nil {
		m.kept[id] = staging.NewFile(m.f.staging, m.f.Inodes.Local(), nil, nil, nil, up)
	}
	return m.kept[id], nil
}

func (m *controlMount) Discard(id string) error {
	if err := m.f.staging.MayChange(); err != nil {
		return err
	}
	up, ok := m.f.staging.Spool.Get(id)
	if !ok {
		return syscall.ENOENT
	}
	return staging.Forget(m.f.staging, up)
}
