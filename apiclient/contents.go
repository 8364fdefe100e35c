package apiclient

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/archivefs/archivefs/archive"
)

// contents knows whether the service lacks what it keeps contents in, as a bucket, while it
// answers all else. So it is from a request for a content on that was answered 503 to its last
// repetition, until a content is had. Meanwhile each request for one is sent, so that none is
// missed that can be had, and no 503 is waited for: who reads many documents waits once. Its
// zero value is a service that has them.
type contents struct{ away atomic.Bool }

// hopeless reports whether a request need not be repeated after err.
func (c *contents) hopeless(op Operation, err error) bool {
	return c.away.Load() && unavailable(op, err)
}

// missed notes the error of a call that has failed for good, and reports whether the contents
// are away since then.
func (c *contents) missed(op Operation, err error) bool {
	return unavailable(op, err) && !c.away.Swap(true)
}

// had notes an answer that was accepted, and reports whether the contents were away until then.
func (c *contents) had(op Operation) bool { return op.ofContent() && c.away.Swap(false) }

// unavailable reports whether a content was asked for, and answered 503.
func unavailable(op Operation, err error) bool {
	var e *archive.Error
	return op.ofContent() && errors.As(err, &e) && e.Status == http.StatusServiceUnavailable
}
