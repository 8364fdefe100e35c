package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// lostContent is the error of a content that something refers to, and that is not there or not
// whole.
type lostContent struct {
	document archive.ID // 0 when none is known
	digest   string
	err      error
}

// Error implements error.
func (e *lostContent) Error() string { return e.err.Error() }

// Unwrap returns what is the matter.
func (e *lostContent) Unwrap() error { return e.err }

// told is what everybody may know.
func (e *lostContent) told() string {
	whose := "a document"
	if e.document != 0 {
		whose = fmt.Sprintf("document %d", e.document)
	}
	return "the content of " + whose + " is missing or damaged; archivefs admin verify shows which contents are, and a backup may have them"
}

// lost returns the error in err's chain that says that a content is lost, nil without one.
func lost(err error) *lostContent {
	var e *lostContent
	_ = errors.As(err, &e)
	return e
}

// errReplaced says that a document has another content than a moment ago.
var errReplaced = refuse(archive.KindBusy, "the document was replaced just now; try again")

// lostOf adds to the error of a lost content whose that is. One that was removed because its document
// was replaced, or removed, is none; other errors pass.
func lostOf(ctx context.Context, c documents, d store.Document, err error) error {
	e := lost(err)
	if e == nil {
		return err
	}
	now, failed := c.Document(ctx, d.ID)
	switch {
	case failed != nil:
		return failed
	case now.Digest != d.Digest:
		return errReplaced
	}
	return &lostContent{document: d.ID, digest: e.digest, err: err}
}

// note writes it down for who can bring the content back.
func (e *lostContent) note(log logrus.FieldLogger) {
	if e.document != 0 {
		log = log.WithField("document", int64(e.document))
	}
	log.WithField("content", e.digest).
		Error("the content of a document is missing or damaged; archivefs admin verify shows which contents are")
}

// measure returns an error unless a document's content has the size that it had when it came.
func measure(content io.Seeker, d store.Document) error {
	size, err := content.Seek(0, io.SeekEnd)
	if err == nil {
		_, err = content.Seek(0, io.SeekStart)
	}
	if err != nil {
		return fmt.Errorf("find out how long content %s is: %w", d.Digest, err)
	}
	if size != d.Size {
		return &lostContent{document: d.ID, digest: d.Digest, err: fmt.Errorf("content %s has %d bytes instead of %d", d.Digest, size, d.Size)}
	}
	return nil
}

// sending is a content on its way. It remembers what went wrong with it, which is not the client's
// doing: whoever copies it does not tell that apart.
type sending struct {
	io.ReadSeeker
	failed atomic.Pointer[error] // several ranges are read by a goroutine
}

// Read implements io.Reader.
func (s *sending) Read(p []byte) (int, error) {
	n, err := s.ReadSeeker.Read(p)
	if err != nil && !errors.Is(err, io.EOF) {
		s.failed.Store(&err)
	}
	return n, err
}

// err is what went wrong, if anything.
func (s *sending) err() error {
	if failed := s.failed.Load(); failed != nil {
		return *failed
	}
	return nil
}
