package archive

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"math"
	"strconv"
	"time"
)

// SizeUnknown is an unknown length in bytes.
const SizeUnknown int64 = -1

// PagesUnknown is the number of pages of a document that was just made or replaced here, until a list shows it.
const PagesUnknown = -1

// Flag is a boolean that may be unknown.
type Flag uint8

// The states of a Flag.
const (
	FlagUnknown Flag = iota
	FlagFalse
	FlagTrue
)

// FlagOf turns a boolean into a known Flag.
func FlagOf(b bool) Flag {
	if b {
		return FlagTrue
	}
	return FlagFalse
}

// String is true or false, empty if the flag is unknown.
func (f Flag) String() string {
	switch f {
	case FlagFalse:
		return "false"
	case FlagTrue:
		return "true"
	}
	return ""
}

// KeyValue is one entry of a document's external metadata, in the service's order.
type KeyValue struct {
	Key   string
	Value string
}

// Document is an element of a document list (specification, endpoint 2).
type Document struct {
	ID       ID
	Name     string
	Pages    int       // or PagesUnknown
	Created  time.Time // zero when absent
	Archived time.Time // zero for a document never archived
	// Folder is the folder of the document, 0 if the answer does not say.
	Folder     ID
	Keywords   []string
	Metadata   []KeyValue
	AutoExport Flag
	// Size is the length of the original in bytes, or SizeUnknown.
	Size int64
	// ContentType is the media type of the original, empty if unknown.
	ContentType string
}

// Listed reports whether the service has shown the document in a list. Otherwise it is known from what was sent.
func (d *Document) Listed() bool { return d.Pages != PagesUnknown }

// Fingerprint tells states of a document's content apart by what a list says of them: number of pages, dates,
// size and media type. An archived document can change at the service, too: pages are added to it, or it is split.
// 0 stands for a content that may change while its list stays the same.
type Fingerprint uint64

// Unlisted is the fingerprint of a document that no list has shown since it was made here.
const Unlisted Fingerprint = 1

// Fingerprint returns the fingerprint of the document's content, Unlisted or a higher number.
func (d *Document) Fingerprint() Fingerprint {
	if !d.Listed() {
		return Unlisted
	}
	said := make([]byte, 0, 64)
	for _, n := range []int64{int64(d.Pages), d.Created.Unix(), d.Archived.Unix(), d.Size} {
		said = binary.BigEndian.AppendUint64(said, uint64(n)) //nolint:gosec // the bits are kept
	}
	sum := fnv.New64a()
	_, _ = sum.Write(append(said, d.ContentType...)) // a hash takes all
	return max(Fingerprint(sum.Sum64()), Unlisted+1)
}

// DocumentData is the extended document (specification, endpoint 8).
type DocumentData struct {
	ID         ID
	Name       string
	Pages      []Page
	NumPages   int
	Mandator   string
	Folder     ID
	FolderPath string
	Created    time.Time
	CreatorID  int64
	Creator    string
	Keywords   []string
	// Types are the document types ("classification").
	Types      []string
	ExternalID string
	Metadata   []KeyValue // sorted by key
	Workflows  []Workflow
	// Text says whether the text could be read; only the embedded service does.
	Text string
	// Raw is the service's answer, valid JSON, unchanged.
	Raw json.RawMessage
}

// Page is one page of a document with its annotations.
type Page struct {
	ID     ID      `json:"id"`
	Notes  []Note  `json:"notes,omitempty"`
	Stamps []Stamp `json:"stamps,omitempty"`
}

// Note is a note on a page. Date is in the service's own form.
type Note struct {
	Text    string `json:"text"`
	Date    string `json:"date,omitempty"`
	Creator string `json:"creator,omitempty"`
}

// Stamp is a stamp on a page. Date is in the service's own form.
type Stamp struct {
	Title   string `json:"title,omitempty"`
	Text    string `json:"text,omitempty"`
	Date    string `json:"date,omitempty"`
	Creator string `json:"creator,omitempty"`
}

// Workflow is a workflow that a document is or was part of.
type Workflow struct {
	Name     string `json:"name"`
	State    string `json:"state,omitempty"`
	Started  string `json:"started,omitempty"`
	Finished string `json:"finished,omitempty"`
}

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
