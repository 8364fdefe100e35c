package fs

import (
	"context"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/xattr"
)

// change carries out the change of an attribute that was found to be allowed; a nil value
// removes it.
func (f *file) change(ctx context.Context, a xattr.Attr, value []byte) error {
	if up := f.pending(); up != nil {
		if a.Kind == xattr.KindRetry {
			return f.fs.staging.retry(up, string(value) == xattr.RetryIncomplete) //nolint:contextcheck // what begins here outlives the request
		}
		return f.changeLocal(up, a, value)
	}
	err := f.changeDocument(ctx, a, value)
	if archive.KindOf(err) == archive.KindUnsupported {
		return errno.Refuse(syscall.EPERM, err.Error())
	}
	return f.missed(err)
}

// changeLocal writes the attribute into the record, for the upload to take along.
func (f *file) changeLocal(up *spool.Upload, a xattr.Attr, value []byte) error {
	var r spool.Record
	if err := setField(&r, a, value); err != nil {
		return attrErr(err)
	}
	return up.Update(func(r *spool.Record) {
		_ = setField(r, a, value) // tried above
	})
}

func setField(r *spool.Record, a xattr.Attr, value []byte) (err error) {
	switch a.Kind {
	case xattr.KindKeywords:
		r.Keywords, err = xattr.ParseKeywords(value)
	case xattr.KindDocumentTypes:
		r.Types, err = xattr.ParseKeywords(value)
	case xattr.KindMetadata:
		r.Metadata, err = setKey(r.Metadata, a.Key, value)
	case xattr.KindExternalID:
		r.ExternalID, err = xattr.ParseText(value)
	case xattr.KindEmailImportOrder:
		r.EmailImportOrder, err = xattr.ParseEmailImportOrder(value)
	case xattr.KindForceNewDocument:
		r.ForceNew, err = xattr.ParseFlag(value)
	case xattr.KindAutoExport:
		var flag archive.Flag
		flag, err = xattr.ParseFlag(value)
		r.AutoExport = flag == archive.FlagTrue
	default:
		return errno.Refuse(syscall.EPERM, archive.Printable(a.Name())+" cannot be set")
	}
	return err
}

// changeDocument sends the change to the service; keywords of an inbox document are kept
// here until it is archived.
func (f *file) changeDocument(ctx context.Context, a xattr.Attr, value []byte) error {
	doc := *f.document()
	d, _ := f.place()
	if d == nil {
		return syscall.ENOENT
	}
	switch {
	case a.Kind == xattr.KindKeywords:
		keywords, err := xattr.ParseKeywords(value)
		if err != nil {
			return attrErr(err)
		}
		if d.kind == inboxDir {
			if value == nil {
				keywords = nil
			}
			return f.fs.opts.State.SetKeywords(doc.ID, keywords)
		}
		if err := f.fs.service.Archive.SetKeywords(ctx, doc.ID, keywords); err != nil {
			return err
		}
		doc.Keywords = keywords
	case value == nil:
		return errno.Refuse(syscall.EPERM, "the service has no operation that removes "+archive.Printable(a.Name()))
	case a.Kind == xattr.KindAutoExport:
		on, err := xattr.ParseBool(value)
		if err != nil {
			return attrErr(err)
		}
		if err := f.fs.service.Archive.SetAutoExport(ctx, doc.ID, on); err != nil {
			return err
		}
		doc.AutoExport = archive.FlagOf(on)
	case a.Kind == xattr.KindMetadata:
		metadata, err := setKey(doc.Metadata, a.Key, value)
		if err != nil {
			return attrErr(err)
		}
		text, err := xattr.ParseText(value)
		if err != nil {
			return attrErr(err)
		}
		if err := f.fs.service.Archive.SetMetadata(ctx, doc.ID, []archive.KeyValue{{Key: a.Key, Value: text}}); err != nil {
			return err
		}
		doc.Metadata = metadata
	default:
		return errno.Refuse(syscall.EPERM, archive.Printable(a.Name())+" cannot be set")
	}
	d.update(&doc)
	f.forgetData(doc.ID)
	return nil
}

// forgetData drops the cached document data, which tell the attributes too.
func (f *file) forgetData(doc archive.ID) {
	key := cache.Key{Document: doc, Representation: archive.Data}
	f.fs.content.Remove(key)
	f.fs.facts.Forget(key)
	f.fs.control.DataChanged(doc)
	if f.fs.reps.Of(doc) != archive.Data {
		return
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sized = false
}
