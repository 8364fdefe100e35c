package archive

// ID identifies a folder, an inbox folder or a document at the service.
// Folders and documents are numbered separately, so a folder and a document may
// share an ID. Zero means "none" or "not known".
type ID int64

// Folder is a node of the folder tree: a mandator (top level), a folder below it,
// or a folder of an inbox.
type Folder struct {
	ID   ID
	Name string
	// Children are the sub-folders; meaningful only when ChildrenKnown is set.
	Children []Folder
	// ChildrenKnown tells an empty folder from one whose children the answer left
	// out, as a lazy archive structure does.
	ChildrenKnown bool
}

// Structure is the answer of the archive structure operation (specification,
// endpoint 1).
type Structure struct {
	// Free says whether clients may create folders (free-archive-structure); a
	// service that does not say is taken as free.
	Free bool
	// Folders are the mandators, or the children of the parent that was asked for.
	Folders []Folder
}

// Inbox is one inbox with its folder tree.
type Inbox struct {
	UserID int64
	Folder Folder
}

// Inboxes is the answer of the inbox list operation (specification, endpoint 5).
type Inboxes struct {
	// Free says whether clients may create folders in inboxes
	// (free-inbox-structure); a service that does not say is taken as free.
	Free    bool
	Inboxes []Inbox
}
