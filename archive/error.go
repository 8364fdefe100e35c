package archive

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Kind classifies the errors of an archive service by what a caller can do about them.
type Kind uint8

// The kinds of errors.
const (
	// KindOther is any other error.
	KindOther Kind = iota
	// KindInvalid: the service found the request malformed (400), or not one that it can answer (406,
	// 415, 417). It did nothing.
	KindInvalid
	// KindUnauthorized: the credentials are missing or wrong (401).
	KindUnauthorized
	// KindForbidden: the credentials do not allow it (403).
	KindForbidden
	// KindNotFound: the folder or document does not exist (404).
	KindNotFound
	// KindConflict: a folder or document of that name or state exists already (409, 412).
	KindConflict
	// KindTooLarge: the body is larger than the service accepts (413).
	KindTooLarge
	// KindBusy: the service asks the client to come back later (429, 503).
	KindBusy
	// KindServer: the service failed (other 5xx). The request may have taken effect.
	KindServer
	// KindUnreachable: no connection could be made; the service did not see the request.
	KindUnreachable
	// KindInterrupted: the connection broke after the request was sent; it may have taken effect.
	KindInterrupted
	// KindTimeout: the service stopped making progress; the request may have taken effect.
	KindTimeout
	// KindUnsupported: the deployment lacks the operation (404, 405 or 501 on the route).
	KindUnsupported
	// KindProtocol: the answer is not one that the operation is specified to have.
	KindProtocol
	// KindForeign: the answer is not one of the service, but of something in between: a proxy whose
	// service is away, a login page, another server. The request may have taken effect.
	KindForeign

	KindEnd // no kind: all are below it
)

var kindNames = [...]string{
	KindOther:        "failed",
	KindInvalid:      "refused as invalid",
	KindUnauthorized: "credentials refused",
	KindForbidden:    "not permitted",
	KindNotFound:     "not found",
	KindConflict:     "conflict",
	KindTooLarge:     "too large",
	KindBusy:         "service busy",
	KindServer:       "service failed",
	KindUnreachable:  "service unreachable",
	KindInterrupted:  "connection lost",
	KindTimeout:      "timed out",
	KindUnsupported:  "not supported by this service",
	KindProtocol:     "unexpected answer",
	KindForeign:      "no answer of the service",
}

// String is the kind in words.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return kindNames[KindOther]
}

// Error is a failed operation of the archive service. Its text contains no secret, and texts of the
// service in it are Printable.
type Error struct {
	// Op is the operation in plain words: "list the folders".
	Op   string
	Kind Kind
	// Status is the HTTP status, 0 without an answer.
	Status int
	// Detail is the service's message, Printable, at most 4 KiB.
	Detail string
	// Proxy is that through which it was sent, without its credentials, where that may be why; empty for none.
	Proxy string
	// RetryAfter is the wait that the service asked for, 0 for none.
	RetryAfter time.Duration
	// Person is the user of this machine with whose credentials it was refused, Printable; empty for
	// those that everything else is sent with.
	Person string
	// Unsent: the request was not sent, because the circuit breaker is open or the machine sleeps.
	Unsent bool
	// Err is the cause, if any.
	Err error
}

// Error implements error. The text is for people.
func (e *Error) Error() string {
	s := e.Kind.String()
	if e.Op != "" {
		s = e.Op + ": " + s
	}
	if e.Person != "" {
		s += " for the user " + e.Person + " of this machine"
	}
	if e.Proxy != "" {
		s += " through the proxy " + e.Proxy
	}
	if e.Status != 0 {
		s += fmt.Sprintf(" (HTTP %d)", e.Status)
	}
	if e.Detail != "" {
		s += ": " + e.Detail
	}
	if e.Err != nil {
		s += ": " + e.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the kind of the first *Error in err's chain, KindOther without one.
func KindOf(err error) Kind {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Kind
	}
	return KindOther
}

// Whose returns the user of this machine whose credentials the service refuses; empty if err says
// nothing of that kind, or says it of those that everything else is sent with.
func Whose(err error) string {
	if e, ok := errors.AsType[*Error](err); ok && e.Kind == KindUnauthorized {
		return e.Person
	}
	return ""
}

// RetryAfter is the wait that the service asked for in the first *Error of err's chain, 0 for none.
func RetryAfter(err error) time.Duration {
	if e, ok := errors.AsType[*Error](err); ok {
		return e.RetryAfter
	}
	return 0
}

// statusTooMany rejects a request before it is looked at (RFC 6585, section 4).
const statusTooMany = 429

// Doubtful reports whether a change that failed with err may have taken effect at the service. A
// change that was not sent, or was rejected with 429, has not.
func Doubtful(err error) bool {
	if err == nil {
		return false
	}
	if e, ok := errors.AsType[*Error](err); ok && (e.Unsent || e.Status == statusTooMany) {
		return false
	}
	return slices.Contains([]Kind{KindServer, KindInterrupted, KindTimeout, KindProtocol, KindForeign, KindOther, KindBusy}, KindOf(err))
}

// Away reports whether err says that the service cannot answer, so that cached answers may be shown.
func Away(err error) bool {
	return slices.Contains([]Kind{KindBusy, KindServer, KindUnreachable, KindInterrupted, KindTimeout, KindForeign}, KindOf(err))
}

// Printable returns s with control characters, bidirectional controls and invalid
// UTF-8 replaced by Go escapes (\n, \u202e, \xff), so that a name or a service's text
// cannot move the cursor, forge a line or turn text around where it is printed.
func Printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return r == utf8.RuneError || !safe(r) }) {
		return s
	}
	var b strings.Builder
	for i, w := 0, 0; i < len(s); i += w {
		var r rune
		r, w = utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && w == 1:
			b.WriteString(`\x` + strconv.FormatUint(uint64(s[i]), 16))
		case safe(r):
			b.WriteRune(r)
		default:
			q := strconv.QuoteRuneToASCII(r)
			b.WriteString(q[1 : len(q)-1])
		}
	}
	return b.String()
}

// safe reports whether r is printed as itself: it is no control (C0, C1), no format character that reorders text
// (UAX #9: LRM, RLM, ALM, embeddings, overrides, isolates), no line or paragraph separator.
func safe(r rune) bool {
	return !unicode.IsControl(r) && !unicode.Is(unicode.Bidi_Control, r) && r != '\u2028' && r != '\u2029' && r != '\ufeff'
}

// Invisible reports whether r is not seen and may stand within a word: a soft hyphen, a joiner, a byte order
// mark or a mark of direction. Searches take no notice of it.
func Invisible(r rune) bool {
	return r == '\u00ad' || r == '\u061c' || r >= '\u200b' && r <= '\u200f' || r >= '\u202a' && r <= '\u202e' || r >= '\u2060' && r <= '\u2069' || r == '\ufeff'
}
