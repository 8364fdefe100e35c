package server

import (
	"net/http"
	"regexp"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
)

// maxRanges is how many ranges are answered at a time; a viewer asks for a few.
const maxRanges = 16

// tooManyRanges reports whether more are asked for (RFC 9110, 14.2).
func tooManyRanges(r *request) bool {
	return strings.Count(r.Header.Get("Range"), ",") >= maxRanges
}

// bytesOnly drops a Range of another unit: a server that does not understand the unit
// answers the whole (RFC 9110, 14.2), while net/http would refuse it.
func bytesOnly(r *request) {
	unit, _, _ := strings.Cut(r.Header.Get("Range"), "=")
	if !strings.EqualFold(strings.TrimSpace(unit), "bytes") {
		r.Header.Del("Range")
	}
}

// oneRange is a Range of one range.
var oneRange = regexp.MustCompile(`^bytes=([0-9]{1,18}-[0-9]{0,18}|-[0-9]{1,18})$`)

// wanted is what will be read of a content for a request, unless a condition has it otherwise: who
// knows the content already is most often told that it has not changed.
func wanted(r *request) blob.Part {
	switch ranges := r.Header.Get("Range"); {
	case r.Method == http.MethodHead, r.Header.Get("If-None-Match") != "":
		return blob.Nothing
	case ranges == "":
		return blob.Whole
	case oneRange.MatchString(ranges):
		return blob.Part(ranges)
	}
	return blob.Nothing // one range after the other
}

// ranged passes on what net/http answers to a request for a range, and replaces the text
// of its refusal with a problem.
type ranged struct {
	*response
	refused bool
}

// WriteHeader implements http.ResponseWriter.
func (w *ranged) WriteHeader(status int) {
	if status != http.StatusRequestedRangeNotSatisfiable {
		w.response.WriteHeader(status)
		return
	}
	w.refused = true
	w.Header().Del("Content-Length")
	w.unsatisfiable("the content has no such bytes")
}

// unsatisfiable refuses the ranges of a request.
func (w *response) unsatisfiable(why string) {
	const status = http.StatusRequestedRangeNotSatisfiable
	w.problem(status, describe(problemType("range"), status, refuse(archive.KindInvalid, "Range: %s", why)))
}

// Write implements io.Writer.
func (w *ranged) Write(p []byte) (int, error) {
	if w.refused {
		return len(p), nil
	}
	return w.response.Write(p)
}
