package apiclient

import (
	"cmp"
	"net/http"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// statusKinds is the one place that turns a status into a kind; what is not in it is
// KindServer from 500 on, else KindProtocol.
var statusKinds = map[int]archive.Kind{
	http.StatusBadRequest:                   archive.KindInvalid,
	http.StatusUnauthorized:                 archive.KindUnauthorized,
	http.StatusForbidden:                    archive.KindForbidden,
	http.StatusNotFound:                     archive.KindNotFound,
	http.StatusMethodNotAllowed:             archive.KindUnsupported,
	http.StatusRequestTimeout:               archive.KindInterrupted,
	http.StatusConflict:                     archive.KindConflict,
	http.StatusGone:                         archive.KindNotFound,
	http.StatusPreconditionFailed:           archive.KindConflict,
	http.StatusRequestEntityTooLarge:        archive.KindTooLarge,
	http.StatusUnsupportedMediaType:         archive.KindInvalid,
	http.StatusRequestedRangeNotSatisfiable: archive.KindInvalid,
	http.StatusUnprocessableEntity:          archive.KindInvalid,
	http.StatusTooManyRequests:              archive.KindBusy,
	http.StatusNotImplemented:               archive.KindUnsupported,
	http.StatusServiceUnavailable:           archive.KindBusy,
}

func kindOf(status int) archive.Kind {
	if kind, ok := statusKinds[status]; ok {
		return kind
	}
	if status >= 500 && status <= 599 {
		return archive.KindServer
	}
	return archive.KindProtocol
}

// accepted reports whether resp is an answer that r can use.
func accepted(r *request, resp *http.Response) bool {
	if resp.StatusCode == http.StatusNotModified {
		return r.header.Get("If-None-Match") != ""
	}
	return resp.StatusCode >= 200 && resp.StatusCode <= 299
}

// refusal turns an answer of any other status into an error, with what the service
// said in its body.
func (c *Client) refusal(op Operation, resp *http.Response) *archive.Error {
	e := &archive.Error{
		Op:         string(op),
		Kind:       kindOf(resp.StatusCode),
		Status:     resp.StatusCode,
		Detail:     c.detail(resp),
		RetryAfter: retry.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	if e.Status == http.StatusInsufficientStorage {
		e.RetryAfter = cmp.Or(e.RetryAfter, roomAfter)
	}
	if target, err := resp.Location(); err == nil && resp.StatusCode <= 399 {
		e.Err = &redirectError{"the service redirects a change, which is not followed, to " + origin(target)}
	}
	return e
}

// roomAfter is what a service asks to wait that has no room (507) and does not say how long: it
// is for a person to repeat that (RFC 4918, section 11.5), and longer than any call waits.
const roomAfter = time.Minute
