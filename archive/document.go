// Package archive defines the terms of the domain: mandators, folders, inboxes, documents, the operations on them, and
// the kinds of errors of an archive service. It imports only the standard library; every other package uses its types.
package archive

import (
	"encoding/binary"
	"encoding/json"
	"hash/fnv"
	"io"
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

// ID identifies a folder, an inbox folder or a document at the service. A folder and a document may have the same ID.
// The zero value means "none" or "unknown"; what the service calls 0 is another ID, which only NewID and String know.
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

// Folder is a node of the folder tree: a mandator (top level), a folder below it, or a folder of an inbox.
type Folder struct {
	ID   ID
	Name string
	// Children are the sub-folders; valid only if ChildrenKnown is set.
	Children []Folder
	// ChildrenKnown is false if the answer left out the children, as a lazy archive structure does.
	ChildrenKnown bool
}

// Structure is the answer of the archive structure operation (specification, endpoint 1).
type Structure struct {
	// Free says whether clients may create folders (free-archive-structure); true if the service does not say.
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
	// Free says whether clients may create folders in inboxes (free-inbox-structure); true if the service does not say.
	Free    bool
	Inboxes []Inbox
}

// ListOptions narrow a document list (specification, endpoint 2).
type ListOptions struct {
	IncludeMetadata []string
	ExcludeMetadata []string
	WithAutoExport  bool
	CreatedAfter    time.Time // zero: no filter; only the date is sent
	Recursive       bool
}

// Upload describes a file to be archived or placed in an inbox (specification, endpoint 3).
type Upload struct {
	// Folder is the target: a folder of the archive, or an inbox folder.
	Folder ID
	Name   string
	Attributes
}

// Blob is data of a known length that can be sent again.
type Blob interface {
	io.ReaderAt
	// Size is the length in bytes; it does not change while the blob is sent.
	Size() int64
}

// ArchiveTarget says where an inbox document is archived (specification, endpoint 6).
type ArchiveTarget struct {
	Folder ID
	// Name is the new name of the document; empty: it keeps its name.
	Name     string
	Keywords []string
}

// Representation is a form in which a document is read. A file can show any of the first three.
type Representation uint8

// The representations of a document.
const (
	Original  Representation = iota + 1 // as it was uploaded
	PDF                                 // the PDF rendition
	Data                                // the JSON of document data
	Text                                // the recognised text
	Preview                             // a picture of one page
	Annotated                           // the PDF rendition with stamps, texts, symbols and notes
)

// String names the representation as the --content option and the names of cache files do.
func (r Representation) String() string {
	names := [...]string{"none", Original: "original", PDF: "pdf", Data: "data", Text: "text", Preview: "preview", Annotated: "annotated"}
	if int(r) < len(names) {
		return names[r]
	}
	return names[0]
}

// ContentRequest asks for a document's bytes.
type ContentRequest struct {
	// Document is a document; for a Preview, a page, which has an id of its own.
	Document       ID
	Representation Representation
	// Box is the longest side of a Preview in pixels; 0 for one that can be read.
	Box int
	// Offset is the first byte wanted. The service may still answer from the start: see Content.Offset.
	Offset int64
	// Length is how many bytes from Offset on are wanted, 0 for all. A service that supports parts sends no more.
	Length int64
	// Match, if set, is the ETag that a partial answer must have; if the content has changed the
	// answer starts at offset 0.
	Match string
	// NoneMatch, if set, is the ETag of the caller's copy: for an unchanged content the answer is
	// Content.NotModified without a body.
	NoneMatch string
}

// Content is the answer to a ContentRequest. Body is nil if NotModified is set, and for
// ContentInfo; otherwise the caller closes it.
type Content struct {
	Body io.ReadCloser
	// Offset is the position of the first byte of Body in the content.
	Offset int64
	// Size is the length of the whole content, or SizeUnknown.
	Size        int64
	ETag        string // with its quotes, empty if the service sends none
	ContentType string
	NotModified bool
}

// OperationStats counts the requests of one operation.
type OperationStats struct {
	Operation string        `json:"operation"`
	Requests  int64         `json:"requests"`
	Failures  int64         `json:"failures"`
	Retries   int64         `json:"retries"`
	Total     time.Duration `json:"total-ns"`
	Latency   Latency       `json:"latency"`
	Waited    time.Duration `json:"waited-ns"` // before, until it could be sent
	Waits     Latency       `json:"waits"`
	Sent      int64         `json:"sent"`     // bytes of bodies
	Received  int64         `json:"received"` // bytes of bodies
	// Silent is how long the service has taken and sent nothing, of the request in flight in which that is longest. 0: it
	// is not waited for.
	Silent time.Duration `json:"silent-ns,omitempty"`
}

// LatencyBounds are the upper bounds of the buckets of Latency, in order. The last bucket has none.
var LatencyBounds = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 50 * time.Second,
}

// Latency counts requests by duration. Bucket i counts those that took at most LatencyBounds[i] and
// longer than the bound before it; the last bucket counts all others.
type Latency [len(LatencyBounds) + 1]int64

// Add counts one request.
func (l *Latency) Add(took time.Duration) {
	i := 0
	for i < len(LatencyBounds) && took > LatencyBounds[i] {
		i++
	}
	l[i]++
}

// Within returns the smallest bound within which the share of the requests, 0 to 1, was answered.
// False: there was no request, or no bound is large enough.
func (l *Latency) Within(share float64) (time.Duration, bool) {
	var all, counted int64
	for _, n := range l {
		all += n
	}
	for i, bound := range LatencyBounds {
		counted += l[i]
		if all > 0 && float64(counted) >= share*float64(all) {
			return bound, true
		}
	}
	return 0, false
}

// Search describes the documents to find: those that match all of it.
type Search struct {
	// Text are words and phrases that occur somewhere in a document; a phrase is in double quotes.
	Text []string
	// Name are words that occur in the name.
	Name     []string
	Keywords []string
	// Notes are words that occur in a note, Stamps the titles of stamps.
	Notes, Stamps []string
	// Type is a document type.
	Type string
	// From and To are the first and the last day; zero: none. Only the date counts.
	From, To time.Time
	// Folder is the folder in or below which the documents are; 0: anywhere.
	Folder ID
}

// Hit is a document that a search found.
type Hit struct {
	Document ID
	Name     string
	Pages    int
	Created  time.Time
	// Folder is the folder of the document, 0 if the answer does not say.
	Folder ID
	// Mandator is the name of its mandator: see InInbox.
	Mandator string
}

// InInbox reports whether a document, whose mandator has this name, lies in an inbox: the service
// names a mandator for documents of the archive alone.
func InInbox(mandator string) bool { return mandator == "" }

// Hits is the result of a search.
type Hits struct {
	List []Hit
	// Total is how many documents match. List may have only the first ones.
	Total int
}
