package fs

import (
	"slices"
	"strconv"
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/state"
	"github.com/archivefs/archivefs/xattr"
)

// stateKey is the number under which the state keeps what was said about a directory: its
// folder's id, and numbers that no folder has for the two that the service does not know.
func (d *dir) stateKey() archive.ID {
	const inboxes = -1
	if d.kind == inboxesDir {
		return inboxes
	}
	return d.id()
}

// node is the directory in the table of attributes.
func (d *dir) attrNode() xattr.Node {
	if d.kind == rootDir || d.kind == inboxesDir {
		return xattr.NodeRoot
	}
	return xattr.NodeDirectory
}

// attrs are the attributes of a directory.
func (d *dir) attrs() []xattr.Value {
	var all []xattr.Value
	if d.attrNode() == xattr.NodeDirectory {
		if d.kind != localDir && d.queuedAs() == nil {
			all = append(all, xattr.Value{Attr: xattr.Attr{Kind: xattr.KindID}, Data: strconv.AppendInt(nil, int64(d.id()), 10)})
		}
		all = append(all,
			xattr.Value{Attr: xattr.Attr{Kind: xattr.KindKind}, Data: []byte(d.kind.String())},
			xattr.Value{Attr: xattr.Attr{Kind: xattr.KindPath}, Data: []byte("/" + d.path())})
	}
	if d.kind == localDir || d.queuedAs() != nil {
		return all
	}
	return append(all, defaultAttrs(d.fs.opts.State.Defaults(d.stateKey()))...)
}

// defaultAttrs are the upload.* attributes of a directory.
func defaultAttrs(def state.Defaults) []xattr.Value {
	var all []xattr.Value
	add := func(kind xattr.Kind, key string, value []byte) {
		all = append(all, xattr.Value{Attr: xattr.Attr{Kind: kind, Key: key}, Data: value})
	}
	if len(def.Keywords) > 0 {
		add(xattr.KindUploadKeywords, "", xattr.FormatKeywords(def.Keywords))
	}
	for _, kv := range def.Metadata {
		add(xattr.KindUploadMetadata, kv.Key, []byte(kv.Value))
	}
	if len(def.Types) > 0 {
		add(xattr.KindUploadDocumentTypes, "", xattr.FormatKeywords(def.Types))
	}
	if def.EmailImportOrder != "" {
		add(xattr.KindUploadEmailImportOrder, "", []byte(def.EmailImportOrder))
	}
	if def.ForceNew != archive.FlagUnknown {
		add(xattr.KindUploadForceNewDocument, "", formatFlag(def.ForceNew))
	}
	return all
}

// changeAttr sets an attribute of a directory; a nil value removes it.
func (d *dir) changeAttr(name string, value []byte, flags uint32) error {
	if err := d.fs.mayChange(); err != nil {
		return err
	}
	a, err := xattr.Parse(name)
	if err != nil {
		return attrErr(err)
	}
	_, there := xattr.Find(d.attrs(), a)
	if ignore, err := admit(a, d.attrNode(), there, flags); ignore || err != nil {
		return err
	}
	if value != nil {
		if err := a.Check(value); err != nil {
			return attrErr(err)
		}
	}
	if d.queuedAs() != nil {
		return errno.Refuse(syscall.EBUSY, "the folder waits to be made, and defaults are kept by its id")
	}
	def := d.fs.opts.State.Defaults(d.stateKey())
	if err := setDefault(&def, a, value); err != nil {
		return attrErr(err)
	}
	return d.fs.opts.State.SetDefaults(d.stateKey(), def)
}

// setDefault changes one default; a nil value clears it.
func setDefault(def *state.Defaults, a xattr.Attr, value []byte) (err error) {
	switch a.Kind {
	case xattr.KindUploadKeywords:
		def.Keywords, err = xattr.ParseKeywords(value)
	case xattr.KindUploadDocumentTypes:
		def.Types, err = xattr.ParseKeywords(value)
	case xattr.KindUploadMetadata:
		def.Metadata, err = setKey(def.Metadata, a.Key, value)
	case xattr.KindUploadEmailImportOrder:
		def.EmailImportOrder, err = xattr.ParseEmailImportOrder(value)
	case xattr.KindUploadForceNewDocument:
		def.ForceNew, err = xattr.ParseFlag(value)
	default:
	}
	return err
}

// setKey sets the value of a key, or removes the key when value is nil.
func setKey(list []archive.KeyValue, key string, value []byte) ([]archive.KeyValue, error) {
	list = slices.DeleteFunc(slices.Clone(list), func(kv archive.KeyValue) bool { return kv.Key == key })
	if value == nil {
		return list, nil
	}
	text, err := xattr.ParseText(value)
	return append(list, archive.KeyValue{Key: key, Value: text}), err
}

// applyDefaults fills in what an upload into the directory takes along unless the file
// says otherwise: of each field the value of the nearest directory that has one.
func (d *dir) applyDefaults(r *spool.Record) {
	for at := d; at != nil; at = at.above() {
		def := d.fs.opts.State.Defaults(at.stateKey())
		if len(r.Keywords) == 0 {
			r.Keywords = def.Keywords
		}
		if len(r.Types) == 0 {
			r.Types = def.Types
		}
		if r.EmailImportOrder == "" {
			r.EmailImportOrder = def.EmailImportOrder
		}
		if r.ForceNew == archive.FlagUnknown {
			r.ForceNew = def.ForceNew
		}
		for _, kv := range def.Metadata {
			if !slices.ContainsFunc(r.Metadata, func(own archive.KeyValue) bool { return own.Key == kv.Key }) {
				r.Metadata = append(r.Metadata, kv)
			}
		}
	}
}
