package fs

import (
	"context"
	"errors"
	"maps"
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// attrNode is the file in the table of attributes.
func (f *file) attrNode() xattr.Node {
	switch {
	case f.pending() != nil:
		return xattr.NodeLocal
	case f.archived():
		return xattr.NodeArchived
	}
	return xattr.NodeInbox
}

// attrs are the attributes that are known without a request of their own. A document that
// changed here is listed again first.
func (f *file) attrs(ctx context.Context) ([]xattr.Value, error) {
	if up := f.pending(); up != nil {
		return f.localAttrs(up), nil
	}
	if d, _ := f.place(); d != nil {
		if err := d.loadDocuments(ctx, needListing); err != nil {
			return nil, err
		}
	}
	doc := *f.document()
	if kept, ok := f.fs.opts.State.Keywords(doc.ID); ok {
		doc.Keywords = kept
	}
	return xattr.Values(doc, f.state()), nil
}

// localAttrs are the attributes of a file whose bytes are in the spool.
func (f *file) localAttrs(up *spool.Upload) []xattr.Value {
	r := up.Record()
	var all []xattr.Value
	add := func(kind xattr.Kind, key string, value []byte) {
		all = append(all, xattr.Value{Attr: xattr.Attr{Kind: kind, Key: key}, Data: value})
	}
	add(xattr.KindState, "", []byte(f.state()))
	if reason := whyWaits(f.fs.staging.spool, &r); reason != "" {
		add(xattr.KindError, "", []byte(archive.Printable(reason)))
	}
	if len(r.Keywords) > 0 {
		add(xattr.KindKeywords, "", xattr.FormatKeywords(r.Keywords))
	}
	for _, kv := range r.Metadata {
		add(xattr.KindMetadata, kv.Key, []byte(kv.Value))
	}
	if len(r.Types) > 0 {
		add(xattr.KindDocumentTypes, "", xattr.FormatKeywords(r.Types))
	}
	if r.ExternalID != "" {
		add(xattr.KindExternalID, "", []byte(r.ExternalID))
	}
	if r.EmailImportOrder != "" {
		add(xattr.KindEmailImportOrder, "", []byte(r.EmailImportOrder))
	}
	if r.ForceNew != archive.FlagUnknown {
		add(xattr.KindForceNewDocument, "", formatFlag(r.ForceNew))
	}
	if r.AutoExport {
		add(xattr.KindAutoExport, "", xattr.FormatBool(true))
	}
	return all
}

// getAttr returns the value of an attribute.
func (f *file) getAttr(ctx context.Context, name string) ([]byte, error) {
	a, err := xattr.Parse(name)
	if errors.Is(err, xattr.ErrForeign) {
		if up := f.pending(); up != nil {
			if v, ok := up.Record().Xattrs[name]; ok {
				return v, nil
			}
		}
		return nil, errNoAttr
	}
	if err != nil {
		return nil, errno.Of(attrErr(err)) // desktops ask for all kinds of names
	}
	if f.pending() == nil {
		switch a.Kind {
		case xattr.KindNotes, xattr.KindStamps, xattr.KindData:
			return f.dataAttr(ctx, a.Kind)
		default:
		}
	}
	all, err := f.attrs(ctx)
	if err != nil {
		return nil, err
	}
	value, ok := xattr.Find(all, a)
	if !ok {
		return nil, errNoAttr
	}
	value, err = xattr.Sized(value)
	return value, attrErr(err)
}

// dataAttr asks for the document data (specification, endpoint 8).
func (f *file) dataAttr(ctx context.Context, kind xattr.Kind) ([]byte, error) {
	data, err := f.fs.service.Archive.Data(ctx, f.document().ID)
	if err != nil {
		return nil, f.missed(err)
	}
	var value []byte
	switch kind {
	case xattr.KindNotes:
		value, err = xattr.Notes(data)
	case xattr.KindStamps:
		value, err = xattr.Stamps(data)
	default:
		value, err = xattr.Data(data)
	}
	return value, attrErr(err)
}

// listAttrs returns the names of the attributes that have a value, but for those that
// cost a request each.
func (f *file) listAttrs(ctx context.Context) ([]string, error) {
	all, err := f.attrs(ctx)
	if err != nil {
		return nil, err
	}
	names := xattr.Names(all)
	if up := f.pending(); up != nil {
		names = append(names, slices.Sorted(maps.Keys(up.Record().Xattrs))...)
	}
	return names, nil
}

// setAttr sets an attribute: of a local file in its record, of a document at the service.
func (f *file) setAttr(ctx context.Context, name string, value []byte, flags uint32) error {
	if err := f.fs.mayChange(); err != nil {
		return err
	}
	a, err := xattr.Parse(name)
	if errors.Is(err, xattr.ErrForeign) {
		return f.setForeign(name, value, flags)
	}
	if err != nil {
		return attrErr(err)
	}
	all, err := f.attrs(ctx)
	if err != nil {
		return err
	}
	_, there := xattr.Find(all, a)
	if ignore, err := admit(a, f.attrNode(), there, flags); ignore || err != nil {
		return err
	}
	if err := a.Check(value); err != nil {
		return attrErr(err)
	}
	return f.change(ctx, a, value)
}

// removeAttr removes an attribute.
func (f *file) removeAttr(ctx context.Context, name string) error {
	if err := f.fs.mayChange(); err != nil {
		return err
	}
	a, err := xattr.Parse(name)
	if errors.Is(err, xattr.ErrForeign) {
		if _, err := f.getAttr(ctx, name); err != nil {
			return err
		}
		return f.setForeign(name, nil, 0)
	}
	if err != nil {
		return attrErr(err)
	}
	all, err := f.attrs(ctx)
	if err != nil {
		return err
	}
	if _, there := xattr.Find(all, a); !there {
		return errNoAttr
	}
	if ignore, err := admit(a, f.attrNode(), true, 0); ignore || err != nil {
		return err
	}
	return f.change(ctx, a, nil)
}

// setForeign keeps another program's attribute with a local file; nil removes it.
// Documents have no place for it.
func (f *file) setForeign(name string, value []byte, flags uint32) error {
	up := f.pending()
	if up == nil {
		return errno.Refuse(syscall.ENOTSUP, "documents keep no attributes of other programs")
	}
	_, there := up.Record().Xattrs[name]
	if err := expected(there, flags); err != nil {
		return err
	}
	if _, err := xattr.Sized(value); err != nil {
		return attrErr(err)
	}
	return up.Update(func(r *spool.Record) {
		r.Xattrs = maps.Clone(r.Xattrs)
		if value == nil {
			delete(r.Xattrs, name)
			return
		}
		if r.Xattrs == nil {
			r.Xattrs = map[string][]byte{}
		}
		r.Xattrs[name] = slices.Clone(value)
	})
}
