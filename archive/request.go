package archive

import (
	"io"
	"time"
)

// ListOptions narrow a document list (specification, endpoint 2).
type ListOptions struct {
	IncludeMetadata []string
	ExcludeMetadata []string
	WithAutoExport  bool
	CreatedAfter    time.Time // zero: no filter; only the date is sent
	Recursive       bool
}

// Upload describes a file to be archived or placed in an inbox (specification,
// endpoint 3).
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
	switch r {
	case Original:
		return "original"
	case PDF:
		return "pdf"
	case Data:
		return "data"
	case Text:
		return "text"
	case Preview:
		return "preview"
	case Annotated:
		return "annotated"
	}
	return "none"
}

// ContentRequest asks for a document's bytes.
type ContentRequest struct {
	// Document is a document; for a Preview, a page, which has an id of its own.
	Document       ID
	Representation Representation
	// Box is the longest side of a Preview in pixels; 0 for one that can be read.
	Box int
	// Offset is the first byte wanted. The service may still answer from the start: see
	// Content.Offset.
	Offset int64
	// Length is how many bytes from Offset on are wanted, 0 for all. A service that supports parts
	// sends no more.
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
	// Text are words and phrases that occur somewhere in a document; a phrase is in double
	// quotes.
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
