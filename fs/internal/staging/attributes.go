package staging

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/attrs"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// The table of package xattr lists the attributes and who may set them. The types below say where
// their values are: with a document, in the record of an upload, or with a directory.

// FileAttrs returns the attributes of a file: those in the record of its staged bytes, else those of its document.
func FileAttrs(f *File) attrs.Node {
	if up := f.Pending(); up != nil {
		return localAttrs{f, up}
	}
	return documentAttrs{f}
}

type documentAttrs struct{ f *File }

func (n documentAttrs) Kind() xattr.Node {
	if n.f.Archived() {
		return xattr.NodeArchived
	}
	return xattr.NodeInbox
}

// Subject implements attrs.Node. It lists the folder again if the document was made here and is not listed yet.
func (n documentAttrs) Subject(ctx context.Context) (xattr.Subject, error) {
	if d, _ := n.f.Place(); d != nil {
		if err := d.Tree.LoadDetails(ctx, d, n.f.Document()); err != nil {
			return xattr.Subject{}, err
		}
	}
	doc := *n.f.Document()
	if kept, ok := n.f.s.State.Keywords(doc.ID); ok {
		doc.Keywords = slices.Concat(doc.Keywords, Added(doc.Keywords, kept))
	}
	s := n.Here()
	s.ID, s.Document = doc.ID, &doc
	return s, nil
}

// Added returns the keywords that a document lacks: a service adds those that go along with an inbox
// document to its own, and may not look for doubles.
func Added(has, keywords []string) []string {
	added := []string{}
	for _, word := range keywords {
		if !slices.Contains(has, word) && !slices.Contains(added, word) {
			added = append(added, word)
		}
	}
	return added
}

func (n documentAttrs) Here() xattr.Subject {
	d, _ := n.f.Place()
	return xattr.Subject{State: n.f.state(), Cached: n.f.cached(), Keep: n.f.s.Keeper.OfDocument(n.f.Document().ID, d)}
}

func (f *File) cached() xattr.Cached {
	switch whole, part := f.Cached(); {
	case whole:
		return xattr.CachedWhole
	case part:
		return xattr.CachedPart
	}
	return xattr.CachedNot
}

// keeps reports whether a value of the attribute keep, which was checked, marks something; nil removes it.
func keeps(value []byte) bool {
	text, _ := xattr.ParseText(value)
	return text == xattr.KeepOn
}

func (n documentAttrs) Data(ctx context.Context) (archive.DocumentData, error) {
	data, err := n.f.s.Service.Archive.Data(ctx, n.f.Document().ID)
	return data, n.f.Missed(err)
}

// Change implements attrs.Node. It sends the change to the service, or keeps the keywords of an
// inbox document until that is archived.
func (n documentAttrs) Change(ctx context.Context, a xattr.Attr, value []byte) error {
	f, doc := n.f, *n.f.Document()
	d, _ := f.Place()
	if d == nil {
		return syscall.ENOENT
	}
	if a.Name() == xattr.Keep {
		return f.s.Keeper.SetDocument(doc.ID, d, keeps(value))
	}
	if a.On(n.Kind()) == xattr.Kept {
		keywords, err := xattr.ParseKeywords(value)
		if err != nil {
			return err
		}
		if len(keywords) > 0 {
			keywords = Added(doc.Keywords, keywords)
		}
		f.s.State.SetChanged(doc.ID, f.s.Service.Now())
		return f.s.State.SetKeywords(doc.ID, keywords)
	}
	err := a.Change(ctx, f.s.Service.Archive, &doc, value)
	switch {
	case archive.KindOf(err) == archive.KindUnsupported:
		return errno.Refuse(syscall.EPERM, err.Error())
	case err != nil:
		return f.Missed(err)
	}
	f.s.State.SetChanged(doc.ID, f.s.Service.Now())
	d.Update(&doc)
	f.ForgetData(doc.ID)
	return nil
}

// keywordsAttr is the attribute with the keywords of a file.
const keywordsAttr = xattr.Prefix + "keywords"

// AddKeyword gives a document a keyword, unless it has it. That of an inbox document is kept until it is
// archived, as if the attribute had been set.
func AddKeyword(ctx context.Context, f *File, word string) error {
	if f.Pending() != nil {
		return errno.Refuse(syscall.EPERM, "the file is not archived yet, and gets keywords by its attribute "+keywordsAttr)
	}
	n := documentAttrs{f}
	value, err := attrs.Get(ctx, n, keywordsAttr)
	if err != nil && !errors.Is(err, attrs.ErrAbsent) {
		return err
	}
	keywords, err := xattr.ParseKeywords(value)
	if err != nil || slices.Contains(keywords, word) {
		return err
	}
	return attrs.Set(ctx, n, keywordsAttr, xattr.FormatKeywords(append(keywords, word)), 0)
}

// localAttrs are the attributes of a file whose bytes are staged. They are in its record and go along with the upload.
type localAttrs struct {
	f  *File
	up *spool.Upload
}

func (localAttrs) Kind() xattr.Node { return xattr.NodeLocal }

func (n localAttrs) Subject(context.Context) (xattr.Subject, error) {
	r := n.up.Record()
	return xattr.Subject{State: n.f.state(), Cached: n.f.cached(), Error: archive.Printable(WhyWaits(n.f.s.Spool, &r)), Draft: draftOf(&r)}, nil
}

func (n localAttrs) Change(_ context.Context, a xattr.Attr, value []byte) error {
	switch a.Name() {
	case xattr.Send:
		return n.f.s.Send(n.up)
	case xattr.Retry:
		return n.f.s.retry(n.up, string(value) == xattr.RetryIncomplete)
	}
	return n.up.Update(func(r *spool.Record) {
		_ = draftOf(r).Set(a, value) // the value was checked
	})
}

func (n localAttrs) Foreign() map[string][]byte { return n.up.Record().Xattrs }

func (n localAttrs) SetForeign(name string, value []byte) error {
	return n.up.Update(func(r *spool.Record) {
		all := map[string][]byte{}
		maps.Copy(all, r.Xattrs)
		if value == nil {
			delete(all, name)
		} else {
			all[name] = value
		}
		r.Xattrs = all
	})
}

func draftOf(r *spool.Record) xattr.Draft {
	return xattr.Draft{Attributes: &r.Attributes, AutoExport: &r.AutoExport}
}

func (f *File) state() xattr.State {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	if f.Up != nil && f.Up.State() != spool.Confirmed {
		switch r := f.Up.Record(); {
		case r.State.IsFailed(), r.State.InQueue():
			return stateOf(f.Up)
		case r.State == spool.Created, r.State == spool.Local,
			r.State.Due() && f.Doc == nil && f.Dir != nil && (r.Temporary || f.Dir.StaysLocal(f.Entry.Name)):
			return xattr.StateLocal
		}
		return xattr.StatePending
	}
	if f.Dir != nil && f.Dir.Kind() == tree.InboxDir || f.As != nil && f.As.Inbox {
		return xattr.StateInbox
	}
	return xattr.StateArchived
}

// stateOf returns the value of the attribute state for what is queued or failed.
func stateOf(up *spool.Upload) xattr.State {
	if up.State().IsFailed() {
		return xattr.StateFailed
	}
	return xattr.StatePending
}

// DirAttrs returns the attributes of a directory.
func DirAttrs(s *Area, d *tree.Dir) attrs.Node { return dirAttributes{d, s} }

type dirAttributes struct {
	d *tree.Dir
	s *Area
}

func (n dirAttributes) Kind() xattr.Node {
	if n.d.Kind() == tree.RootDir || n.d.Kind() == tree.InboxesDir {
		return xattr.NodeRoot
	}
	return xattr.NodeDirectory
}

func (n dirAttributes) Subject(context.Context) (s xattr.Subject, err error) {
	d, known := n.d, n.d.Kind() != tree.LocalDir && n.d.QueuedAs() == nil
	if n.Kind() == xattr.NodeDirectory {
		s.Kind, s.Path, s.Keep = d.Kind().String(), "/"+d.Path(), n.s.Keeper.OfFolder(d)
		if up := d.QueuedAs(); up != nil {
			s.State = stateOf(up)
		}
		if known {
			s.ID = d.ID()
		}
	}
	if known {
		defaults := n.s.State.Defaults(stateKey(d))
		s.Defaults.Attributes = &defaults
	}
	return s, nil
}

func (n dirAttributes) Change(ctx context.Context, a xattr.Attr, value []byte) error {
	d := n.d
	switch a.Name() {
	case xattr.Send:
		return n.send()
	case xattr.Keep:
		return n.s.Keeper.SetFolder(d, keeps(value))
	}
	if err := n.s.Folders.MakeNow(ctx, d); err != nil { // its defaults are stored by its id
		return err
	}
	defaults := n.s.State.Defaults(stateKey(d))
	if err := (xattr.Draft{Attributes: &defaults}).Set(a, value); err != nil {
		return err
	}
	return n.s.State.SetDefaults(stateKey(d), defaults)
}

// send ends the time of grace of everything in and below the directory.
func (n dirAttributes) send() error {
	var all []error
	for _, up := range n.s.Spool.List() {
		if r := up.Record(); Rests(&r) && within(n.d.Path(), path.Join(r.Path, r.Name)) {
			all = append(all, n.s.Send(up))
		}
	}
	return errors.Join(all...)
}

// within reports whether a path is that of a directory, or one below it. That of the root is empty.
func within(dir, path string) bool {
	return dir == "" || path == dir || strings.HasPrefix(path, dir+"/")
}

// stateKey returns the key of a directory's settings in the state: the id of its folder, or a
// number that no folder has for the two directories that the service does not know.
func stateKey(d *tree.Dir) archive.ID {
	const inboxes = -1
	if d.Kind() == tree.InboxesDir {
		return inboxes
	}
	return d.ID()
}
