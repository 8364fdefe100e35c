package xattr

// Kind says which attribute it is.
type Kind uint8

// The attributes.
const (
	KindID Kind = iota + 1
	KindName
	KindCreated
	KindArchived
	KindPages
	KindState
	KindAutoExport
	KindKeywords
	KindMetadata // metadata.KEY
	KindDocumentTypes
	KindExternalID
	KindEmailImportOrder
	KindForceNewDocument
	KindNotes
	KindStamps
	KindData
	KindError
	KindRetry // sends a failed file again when it is set; it has no value
	KindKind
	KindPath
	KindUploadKeywords
	KindUploadMetadata // upload.metadata.KEY
	KindUploadDocumentTypes
	KindUploadEmailImportOrder
	KindUploadForceNewDocument

	kindEnd // keep last
)

// RetryIncomplete is the value of KindRetry for a file that is to be sent although it is not whole.
const RetryIncomplete = "incomplete"

// Node is what an attribute can be on.
type Node uint8

// The nodes of the tree, as far as attributes differ.
const (
	NodeArchived  Node = iota // a document of the archive
	NodeInbox                 // a document in an inbox
	NodeLocal                 // a file that was put in here and is no document yet: local, pending or failed
	NodeDirectory             // a mandator, a folder or an inbox
	NodeRoot                  // a directory that the service does not have: the root, and that of the inboxes

	nodeEnd // keep last
)

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
	// Writable: it can be set and removed, on a document as far as the service has the
	// operation.
	Writable
)

// rule is what the table says of an attribute.
type rule struct {
	// name follows Prefix; with keyed, an escaped key follows it.
	name  string
	keyed bool
	// unlisted keeps the attribute out of listings.
	unlisted bool
	access   [nodeEnd]Access
}

// Lines of the table that several attributes share, by NodeArchived, NodeInbox, NodeLocal,
// NodeDirectory, NodeRoot.
var (
	ofDocument = [nodeEnd]Access{ReadOnly, ReadOnly, Ignored}
	ofService  = [nodeEnd]Access{ReadOnly, ReadOnly}
	ofUpload   = [nodeEnd]Access{ReadOnly, ReadOnly, Writable}
	ofFile     = [nodeEnd]Access{Writable, Writable, Writable}
	ofDefault  = [nodeEnd]Access{NodeDirectory: Writable, NodeRoot: Writable}
)

// rules is the table of attributes.
var rules = [kindEnd]rule{
	KindID:               {name: "id", access: [nodeEnd]Access{ReadOnly, ReadOnly, Ignored, ReadOnly}},
	KindName:             {name: "name", access: ofDocument},
	KindCreated:          {name: "created", access: ofDocument},
	KindArchived:         {name: "archived", access: ofDocument},
	KindPages:            {name: "pages", access: ofDocument},
	KindState:            {name: "state", access: ofDocument},
	KindAutoExport:       {name: "auto-export", access: ofFile},
	KindKeywords:         {name: "keywords", access: ofFile},
	KindMetadata:         {name: "metadata.", keyed: true, access: ofFile},
	KindDocumentTypes:    {name: "document-types", access: ofUpload},
	KindExternalID:       {name: "external-id", access: ofUpload},
	KindEmailImportOrder: {name: "email-import-order", access: ofUpload},
	KindForceNewDocument: {name: "force-new-document", access: ofUpload},
	KindNotes:            {name: "notes", unlisted: true, access: ofService},
	KindStamps:           {name: "stamps", unlisted: true, access: ofService},
	KindData:             {name: "data", unlisted: true, access: ofService},
	KindError:            {name: "error", access: ofDocument},
	KindRetry:            {name: "retry", unlisted: true, access: ofUpload},
	KindKind:             {name: "kind", access: [nodeEnd]Access{NodeDirectory: ReadOnly}},
	KindPath:             {name: "path", access: [nodeEnd]Access{NodeDirectory: ReadOnly}},

	KindUploadKeywords:         {name: "upload.keywords", access: ofDefault},
	KindUploadMetadata:         {name: "upload.metadata.", keyed: true, access: ofDefault},
	KindUploadDocumentTypes:    {name: "upload.document-types", access: ofDefault},
	KindUploadEmailImportOrder: {name: "upload.email-import-order", access: ofDefault},
	KindUploadForceNewDocument: {name: "upload.force-new-document", access: ofDefault},
}
