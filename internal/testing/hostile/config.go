package hostile

import "time"

// DefaultBasePath is where the service lives unless Config says otherwise: not at the
// root, since real deployments are not either.
const DefaultBasePath = "/customer/x/api/v2"

// Config says how a deployment fills in what the specification leaves open. The zero
// value is the public service with every operation and every comfort.
type Config struct {
	// BasePath replaces DefaultBasePath; it starts with a slash and ends without.
	BasePath string
	// Credentials are what every request must carry; zero: anything but a mix of the
	// sets.
	Credentials Credentials
	// Now is the clock for what is created here; nil: time.Now.
	Now func() time.Time

	// OnlyEight leaves nothing but the eight operations of the specification.
	OnlyEight bool
	// Without names further operations that are missing, as "POST /document/{id}/rename".
	Without []string
	// WithoutStatus answers missing operations: 404 (when 0), 405 or 501.
	WithoutStatus int

	Structure StructureShape
	Inboxes   InboxShape
	List      ListShape
	Data      DataShape
	Upload    UploadShape
	Content   ContentShape
	Search    SearchShape

	// ArchiveKeepsID lets a document keep its id when it is archived.
	ArchiveKeepsID bool
	// Negotiates answers 406, and does nothing, where the request accepts no type that the
	// operation produces, as a JAX-RS resource does.
	Negotiates bool
	// NoExpect answers 417 to every request with Expect, as old proxies do.
	NoExpect bool
	// WriteStatus is the status of a successful change; 0 means 200. With 204 no body
	// is sent.
	WriteStatus int
	// Errors is the body of the service's own refusals.
	Errors ErrorBody

	// ExtraFields adds unknown fields to every object.
	ExtraFields bool
	// Singles writes an array of one object as that object, in inboxes, external
	// metadata, pages, notes, stamps, workflows and hits.
	Singles bool
	// NullEntries adds a null to each array that Singles is about.
	NullEntries bool
	// LowIDs is by how much all ids are lower than Document and Folder say: with 1 the first of each
	// is 0, with 2 it is -1.
	LowIDs int64
	// StringIDs writes ids as strings.
	StringIDs bool
	// Numbers writes external ids and metadata values that look like a number as one.
	Numbers bool
	// BOM puts a byte order mark before JSON.
	BOM bool
	// JSONType is the Content-Type of JSON; empty: application/json;charset=UTF-8.
	JSONType string
	// Gzip says when bodies are compressed.
	Gzip Gzip
	// CloseConnections ends the connection after every answer.
	CloseConnections bool
}

// Credentials are the values of the credential headers. Set A is APIKey, User and
// Password; set B is CloudID and APIKey; APIKey may stand alone.
type Credentials struct {
	APIKey, CloudID, User, Password string
}

// StructureShape shapes the archive structure (specification, endpoint 1).
type StructureShape struct {
	// Parent says what an answer with parent-folder-id holds.
	Parent ParentShape
	// LazyChildren writes the children that a lazy answer leaves out: [], null or not
	// at all.
	LazyChildren Presence
	// LazyIgnored answers the whole tree to a lazy request too.
	LazyIgnored bool
	// Leaf writes the children of a folder that has none.
	Leaf Presence
	// Free is free-archive-structure; FreeFalse makes folder/create answer 403.
	Free Freedom
}

// InboxShape shapes the inbox list (specification, endpoint 5).
type InboxShape struct {
	// Folders names the array "folders" instead of "inboxes".
	Folders bool
	// Bare lists the folders themselves instead of {"user-id", "folder"}.
	Bare bool
	// Leaf writes the children of a folder that has none.
	Leaf Presence
	// Free is free-inbox-structure; FreeFalse makes folder/create in an inbox answer 403.
	Free Freedom
}

// ListShape shapes the document list (specification, endpoint 2).
type ListShape struct {
	// Dates is the form of creation-date and archiving-date.
	Dates DateForm
	// NeverArchived writes the archiving-date of a document that was never archived:
	// Null, or not at all for every other value.
	NeverArchived Presence
	FolderID      Presence
	Keywords      KeywordForm
	// AutoExport names the auto-export status; empty: autoexport-status.
	AutoExport string
	// AutoExportText writes it as the string "true" or "false".
	AutoExportText bool
	Metadata       MetadataForm
	// Sizes adds content-length and content-type, SizeSkew is added to the length.
	Sizes    bool
	SizeSkew int64
	// EmptyNull answers null instead of an empty array.
	EmptyNull bool
	// NotRecursive lists no documents of sub-folders, whatever is asked.
	NotRecursive bool
	// Unfiltered lists documents whatever date is asked for.
	Unfiltered bool
}

// DataShape shapes document data (specification, endpoint 8).
type DataShape struct {
	Dates DateForm
	// HideExternalID leaves the external id out.
	HideExternalID bool
	External       Presence
	Pages          Presence
	Keywords       KeywordForm
	FolderID       Presence
}

// UploadShape shapes the file upload (specification, endpoint 3).
type UploadShape struct {
	// Answer is the body of a successful upload.
	Answer UploadAnswer
	// VisibleAfter is how many listings that should show a new document leave it out.
	VisibleAfter int
	// SameExternalID says what happens when a document with the external id exists and
	// force-new-document is not true.
	SameExternalID SameExternalID
	// SplitMail makes of an uploaded message one document each for itself and its
	// attachments, as email-import-order says.
	SplitMail bool
}

// ContentShape shapes the content of documents (GET and HEAD /document/{id}/pdf).
type ContentShape struct {
	// Chunked sends no Content-Length, neither for GET nor for HEAD.
	Chunked bool
	ETag    ETagForm
	Range   RangeForm
	// HeadStatus refuses HEAD with 404, 405 or 501; 0 serves it.
	HeadStatus int
	// OriginalStatus refuses original=true with this status; the PDF is still served.
	OriginalStatus int
}

// SearchShape shapes the search.
type SearchShape struct {
	// NoTotal leaves out how many hits there are.
	NoTotal bool
	// PageLimit is the most hits of one page, whatever is asked for; 0: as asked.
	PageLimit int
	// FirstPage answers the first page whatever page is asked for.
	FirstPage bool
	// EmptyNull answers null instead of an empty array.
	EmptyNull bool
}
