package xattr

import (
	"context"
	"strconv"

	"github.com/archivefs/archivefs/archive"
)

// Retry is the name of the attribute that sends a failed file again when it is set; it has no
// value. RetryIncomplete is what it is set to for a file that is not whole.
const (
	Retry           = Prefix + "retry"
	RetryIncomplete = "incomplete"
)

// Node is what an attribute can be on.
type Node uint8

// The nodes of the tree, as far as attributes differ.
const (
	NodeArchived  Node = iota // a document of the archive
	NodeInbox                 // a document in an inbox
	NodeLocal                 // a file that was put in here and is no document yet: local, pending or failed
	NodeDirectory             // a mandator, a folder, an inbox or a directory that stays local
	NodeRoot                  // a directory that the service does not have: the root, and that of the inboxes

	nodeEnd // keep last
)

// IsDirectory reports whether it is one.
func (n Node) IsDirectory() bool { return n >= NodeDirectory }

// Access says what can be done with an attribute on a node.
type Access uint8

// The accesses.
const (
	// None: it is nothing that such a node has.
	None Access = iota
	// ReadOnly: none can be set, whether it has a value or not. What describes an upload is
	// that on a document, for which it comes too late.
	ReadOnly
	// Ignored: setting it succeeds without effect, so that copying a document with its
	// attributes does. It can have a value all the same, as the state of a local file.
	Ignored
	// Writable: it can be set and removed. Of a document it is changed at the service, as far
	// as that has the operation.
	Writable
	// Kept: it can be set and removed, and is kept here until the document is archived.
	Kept
)

// row is what the table says of an attribute.
type row struct {
	// name follows Prefix; with keyed, a dot and an escaped key follow it.
	name  string
	keyed bool
	// unlisted keeps the attribute out of listings.
	unlisted bool
	access   [nodeEnd]Access

	// value reads the attribute of what is no draft; nil where there is none. entries does so
	// for one that is keyed.
	value   func(*Subject) []byte
	entries func(*Subject) []archive.KeyValue
	// data reads it of document data, which costs a request.
	data func(archive.DocumentData) ([]byte, error)

	// A file that is to be uploaded has the attribute in its Draft under the row's name. With
	// inherited, directories have a default of it: upload.NAME.
	inherited bool
	// check refuses what is no value; nil: what the draft does not take, and what is no text.
	check func(value []byte) error

	// change sets the attribute of a document, there and at the service; nil removes it where it
	// is removable.
	change    func(ctx context.Context, s Service, d *archive.Document, key string, value []byte) error
	removable bool
}

// Accesses that several attributes share, by NodeArchived, NodeInbox, NodeLocal, NodeDirectory,
// NodeRoot.
var (
	ofDocument = [nodeEnd]Access{ReadOnly, ReadOnly, Ignored}
	ofService  = [nodeEnd]Access{ReadOnly, ReadOnly}
	ofUpload   = [nodeEnd]Access{ReadOnly, ReadOnly, Writable}
	ofFile     = [nodeEnd]Access{Writable, Writable, Writable}
)

// table has all attributes, in the order of a listing.
var table = []row{
	{name: "id", access: [nodeEnd]Access{ReadOnly, ReadOnly, Ignored, ReadOnly}, value: func(s *Subject) []byte { return number(s.ID) }},
	{name: "name", access: ofDocument, value: document(func(d *archive.Document) []byte { return []byte(d.Name) })},
	{name: "created", access: ofDocument, value: document(func(d *archive.Document) []byte { return date(d.Created) })},
	{name: "archived", access: ofDocument, value: document(func(d *archive.Document) []byte { return date(d.Archived) })},
	{name: "pages", access: ofDocument, value: document(func(d *archive.Document) []byte { return strconv.AppendInt(nil, int64(d.Pages), 10) })},
	{name: "state", access: ofDocument, value: func(s *Subject) []byte { return text(s.State) }},
	{name: "error", access: ofDocument, value: func(s *Subject) []byte { return text(s.Error) }},
	{
		name: "auto-export", access: ofFile,
		value:  document(func(d *archive.Document) []byte { return text(d.AutoExport.String()) }),
		change: changeAutoExport,
	},
	{
		name: "keywords", access: [nodeEnd]Access{Writable, Kept, Writable}, inherited: true,
		value:  document(func(d *archive.Document) []byte { return text(FormatKeywords(d.Keywords)) }),
		change: changeKeywords, removable: true,
	},
	{
		name: "metadata", keyed: true, access: ofFile, inherited: true,
		entries: metadata,
		change:  changeMetadata,
	},
	{name: "document-types", access: ofUpload, inherited: true},
	{name: "external-id", access: ofUpload},
	{name: "email-import-order", access: ofUpload, inherited: true},
	{name: "force-new-document", access: ofUpload, inherited: true},
	{name: "notes", unlisted: true, access: ofService, data: Notes},
	{name: "stamps", unlisted: true, access: ofService, data: Stamps},
	{name: "data", unlisted: true, access: ofService, data: Data},
	{name: "retry", unlisted: true, access: ofUpload, check: checkRetry},
	{name: "kind", access: [nodeEnd]Access{NodeDirectory: ReadOnly}, value: func(s *Subject) []byte { return text(s.Kind) }},
	{name: "path", access: [nodeEnd]Access{NodeDirectory: ReadOnly}, value: func(s *Subject) []byte { return text(s.Path) }},
}
