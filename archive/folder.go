package archive

// ID identifies a folder, an inbox folder or a document at the service. A folder and a document may
// have the same ID. Zero means "none" or "unknown".
type ID int64

// Folder is a node of the folder tree: a mandator (top level), a folder below it,
// or a folder of an inbox.
type Folder struct {
	ID   ID
	Name string
	// Children are the sub-folders; valid only if ChildrenKnown is set.
	Children []Folder
	// ChildrenKnown is false if the answer left out the children, as a lazy archive structure does.
	ChildrenKnown bool
}

// Structure is the answer of the archive structure operation (specification,
// endpoint 1).
type Structure struct {
	// Free says whether clients may create folders (free-archive-structure); true if the service
	// does not say.
	Free bool
	// Folders are the mandators, or the children of the requested parent.
	Folders []Folder
}

// Inbox is one inbox with its folder tree.
type Inbox struct {
	UserID int64
	Folder Folder
}

// Inboxes is the answer of the inbox list operation (specification, endpoint 5).
type Inboxes struct {
	// Free says whether clients may create folders in inboxes (free-inbox-structure); true if the
	// service does not say.
	Free    bool
	Inboxes []Inbox
}
