package archive

import (
	"math"
	"strconv"
)

// ID identifies a folder, an inbox folder or a document at the service. A folder and a document may
// have the same ID. The zero value means "none" or "unknown"; what the service calls 0 is another ID,
// which only NewID and String know.
type ID int64

const (
	zeroID  ID    = math.MinInt64 // what the service calls 0
	leastID int64 = -1 << 62
)

// NewID returns the ID of what the service calls n. Numbers below -1<<62, which no service gives out,
// are free for other uses, and give none.
func NewID(n int64) ID {
	switch {
	case n == 0:
		return zeroID
	case n < leastID:
		return 0
	}
	return ID(n)
}

// String is the number that the service knows it by, 0 for none, too.
func (id ID) String() string {
	if id == zeroID {
		id = 0
	}
	return strconv.FormatInt(int64(id), 10)
}

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
