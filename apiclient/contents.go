package apiclient

import (
	"errors"
	"net/http"
	"sync/atomic"

	"github.com/archivefs/archivefs/archive"
)

// contents is a circuit breaker for contents alone: a service can lack what it keeps them in, as
// a bucket, while it answers all else. It trips when a request for a content is answered 503 to
// its last repetition, and is half-open from then on: each request for a content is sent, so
// that none is missed that can be had, but no 503 to it repeated, so that who reads many
// documents waits once. The first content that is had closes it. Its zero value is closed.
type contents struct{ tripped atomic.Bool }

// hopeless reports whether a request need not be repeated after err.
func (c *contents) hopeless(op Operation, err error) bool {
	return c.tripped.Load() && unavailable(op, err)
}

// missed notes the error of a call that has failed for good, and reports whether that tripped
// the breaker.
func (c *contents) missed(op Operation, err error) bool {
	return unavailable(op, err) && !c.tripped.Swap(true)
}

// had notes an answer that was accepted, and reports whether that closed the breaker.
func (c *contents) had(op Operation) bool { return op.ofContent() && c.tripped.Swap(false) }

// unavailable reports whether a content was asked for, and answered 503.
func unavailable(op Operation, err error) bool {
	var e *archive.Error
	return op.ofContent() && errors.As(err, &e) && e.Status == http.StatusServiceUnavailable
}
