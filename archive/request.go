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

// Blob is a body that can be sent: bytes of a known length that can be read again.
type Blob interface {
	io.ReaderAt
	// Size is the length in bytes; it does not change while the blob is sent.
	Size() int64
}

// ArchiveTarget says where an inbox document goes (specification, endpoint 6).
type ArchiveTarget struct {
	Folder ID
	// Name is sent only when it is not empty; without it the document keeps its name.
	Name     string
	Keywords []string
}

// Representation says which bytes of a document are meant. The first three may stand for
// it.
type Representation uint8

// The representations of a document.
const (
	Original Representation = iota + 1 // as it was uploaded
	PDF                                // the PDF rendition
	Data                               // the JSON of document data
	Text                               // the text that was recognised
	Preview                            // a picture of one page
)

// String names the representation as the --content option and cache files do.
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
	}
	return "none"
}

// ContentRequest asks for a document's bytes.
type ContentRequest struct {
	// Document is a document, or of a Preview the page: those have ids of their own.
	Document       ID
	Representation Representation
	// Offset is the first byte wanted. With an Offset the service may still answer
	// from the start: see Content.Offset.
	Offset int64
	// Length is how many bytes from Offset on are wanted, 0 for all. A service that answers
	// parts answers no more than these.
	Length int64
	// Match, when set, is the ETag that a partial answer must carry; where the
	// content has changed the answer starts at offset 0.
	Match string
	// NoneMatch, when set, is the ETag of what the caller has: an unchanged content
	// is answered by Content.NotModified without a body.
	NoneMatch string
}

// Content is an answer to a ContentRequest. Body is nil when NotModified is set and
// for ContentInfo; otherwise the caller closes it.
type Content struct {
	Body io.ReadCloser
	// Offset is the position of the first byte of Body in the content.
	Offset int64
	// Size is the length of the whole content, or SizeUnknown.
	Size        int64
	ETag        string // with its quotes, empty when the service sends none
	ContentType string
	NotModified bool
}

// OperationStats counts what was asked of the service under one operation.
type OperationStats struct {
	Operation string        `json:"operation"`
	Requests  int64         `json:"requests"`
	Failures  int64         `json:"failures"`
	Retries   int64         `json:"retries"`
	Total     time.Duration `json:"total-ns"`
	Latency   Latency       `json:"latency"`
	Sent      int64         `json:"sent"`     // bytes of bodies
	Received  int64         `json:"received"` // bytes of bodies
}
