package xattr

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// Retry is the name of the attribute that retries a failed file when it is set; it has no value.
// RetryIncomplete is the value that retries a file which is incomplete.
const (
	Retry           = Prefix + "retry"
	RetryIncomplete = "incomplete"
)

// Send is the name of the attribute that ends the time of grace of a file, or of everything in and below
// a directory, when it is set; it has no value.
const Send = Prefix + "send"

// Keep is the name of the attribute that keeps the contents of a document, or of all documents in and
// below a directory, on this machine. KeepOn and KeepOff are the values that can be set, KeepAbove is
// read if it is set on a directory above.
const (
	Keep      = Prefix + "keep"
	KeepOn    = "1"
	KeepOff   = "0"
	KeepAbove = "inherited"
)

// Node is a kind of file or directory, as far as attributes differ.
type Node uint8

// The kinds of nodes.
const (
	NodeArchived  Node = iota // a document of the archive
	NodeInbox                 // a document in an inbox
	NodeLocal                 // a file that is no document yet: local, pending or failed
	NodeDirectory             // a mandator, a folder, an inbox or a local directory
	NodeRoot                  // a directory that the service does not know: the root, and that of the inboxes

	nodeEnd // must be the last
)

// IsDirectory reports whether n is a directory.
func (n Node) IsDirectory() bool { return n >= NodeDirectory }

// Access says what can be done with an attribute on a node.
type Access uint8

// The accesses.
const (
	// None: such a node does not have the attribute.
	None Access = iota
	// ReadOnly: the attribute cannot be set, whether or not it has a value. Attributes of an upload
	// are read-only on a document.
	ReadOnly
	// Ignored: setting the attribute succeeds without effect, so that copying a document or a folder
	// with its attributes works. It may have a value, such as the state of a local file.
	Ignored
	// Writable: the attribute can be set and removed. On a document it is changed at the service,
	// if that has the operation.
	Writable
	// Kept: the attribute can be set and removed, and is stored on this machine: keywords until the
	// document is archived.
	Kept
)

// row is an attribute in the table.
type row struct {
	// name follows Prefix; if keyed, a dot and an escaped key follow it.
	name  string
	keyed bool
	// unlisted keeps the attribute out of listings.
	unlisted bool
	// here says that this machine knows the attribute, whatever the service says.
	here   bool
	access [nodeEnd]Access

	// value reads the attribute from a Subject that is no draft; nil: it has none. If keyed, entries does.
	value   func(*Subject) []byte
	entries func(*Subject) []archive.KeyValue
	// data reads the attribute from document data, which costs a request.
	data func(archive.DocumentData) ([]byte, error)

	// The Draft of a file to be uploaded has the attribute under the row's name. If inherited,
	// directories have a default of it: upload.NAME.
	inherited bool
	// check refuses wrong values; nil: those that the draft does not accept, and those that are not text.
	check func(value []byte) error

	// change sets the attribute of a document, there and at the service; nil removes it, if removable is set.
	change    func(ctx context.Context, s Service, d *archive.Document, key string, value []byte) error
	removable bool
}

// Accesses that several attributes share, by NodeArchived, NodeInbox, NodeLocal, NodeDirectory, NodeRoot.
var (
	ofDocument = [nodeEnd]Access{ReadOnly, ReadOnly, Ignored}
	ofService  = [nodeEnd]Access{ReadOnly, ReadOnly}
	ofUpload   = [nodeEnd]Access{ReadOnly, ReadOnly, Writable}
	ofFile     = [nodeEnd]Access{Writable, Writable, Writable}
)

// table has all attributes, in the order of a listing.
var table = []row{
	{name: "id", access: [nodeEnd]Access{ReadOnly, ReadOnly, Ignored, Ignored}, value: func(s *Subject) []byte { return number(s.ID) }},
	{name: "name", access: ofDocument, value: document(func(d *archive.Document) []byte { return []byte(d.Name) })},
	{name: "created", access: ofDocument, value: document(func(d *archive.Document) []byte { return date(d.Created) })},
	{name: "archived", access: ofDocument, value: document(func(d *archive.Document) []byte { return date(d.Archived) })},
	{name: "pages", access: ofDocument, value: document(pages)},
	{name: "state", here: true, access: [nodeEnd]Access{ReadOnly, ReadOnly, Ignored, Ignored}, value: func(s *Subject) []byte { return text(s.State) }},
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
	{name: "text", unlisted: true, access: ofService, data: Text},
	{name: "data", unlisted: true, access: ofService, data: Data},
	{name: "retry", unlisted: true, access: ofUpload, check: checkRetry},
	{name: "send", unlisted: true, access: [nodeEnd]Access{Ignored, Ignored, Writable, Writable, Writable}, check: func([]byte) error { return nil }},
	{
		name: "keep", unlisted: true, here: true, access: [nodeEnd]Access{Kept, Kept, Ignored, Kept},
		value: func(s *Subject) []byte { return text(s.Keep) }, check: checkKeep,
	},
	{name: "cached", unlisted: true, here: true, access: ofDocument, value: func(s *Subject) []byte { return text(s.Cached) }},
	{name: "kind", access: [nodeEnd]Access{NodeDirectory: Ignored}, value: func(s *Subject) []byte { return text(s.Kind) }},
	{name: "path", access: [nodeEnd]Access{NodeDirectory: Ignored}, value: func(s *Subject) []byte { return text(s.Path) }},
}

// pageNote is a note with its page number, from 1 on.
type pageNote struct {
	Page int `json:"page"`
	archive.Note
}

// pageStamp is a stamp with its page number, from 1 on.
type pageStamp struct {
	Page int `json:"page"`
	archive.Stamp
}

// Notes returns the notes of a document (specification, endpoint 8) as a JSON array, page by page:
// [{"page":1,"text":...,"date":...,"creator":...}]. The error wraps ErrTooBig if it is longer than MaxValue.
func Notes(data archive.DocumentData) ([]byte, error) {
	notes := []pageNote{}
	for i, p := range data.Pages {
		for _, n := range p.Notes {
			notes = append(notes, pageNote{Page: i + 1, Note: n})
		}
	}
	return encode(notes)
}

// Stamps returns the stamps of a document as Notes returns its notes:
// [{"page":1,"title":...,"text":...,"date":...,"creator":...}].
func Stamps(data archive.DocumentData) ([]byte, error) {
	stamps := []pageStamp{}
	for i, p := range data.Pages {
		for _, s := range p.Stamps {
			stamps = append(stamps, pageStamp{Page: i + 1, Stamp: s})
		}
	}
	return encode(stamps)
}

// Text says whether the text could be read, nil if the service does not say so.
func Text(data archive.DocumentData) ([]byte, error) { return text(data.Text), nil }

// Data returns the service's own JSON. The error wraps ErrTooBig if it is longer than MaxValue.
func Data(data archive.DocumentData) ([]byte, error) { return Sized(data.Raw) }

// encode writes v as JSON on one line. <, > and & are not escaped.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode document data: %w", err)
	}
	return Sized(bytes.TrimSuffix(b.Bytes(), []byte("\n")))
}
