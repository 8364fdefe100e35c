package apiclient

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// statusKinds and kindOf are the only place that turns a status into a kind.
var statusKinds = map[int]archive.Kind{
	http.StatusBadRequest:                   archive.KindInvalid,
	http.StatusUnauthorized:                 archive.KindUnauthorized,
	http.StatusForbidden:                    archive.KindForbidden,
	http.StatusNotFound:                     archive.KindNotFound,
	http.StatusMethodNotAllowed:             archive.KindUnsupported,
	http.StatusNotAcceptable:                archive.KindInvalid,
	http.StatusRequestTimeout:               archive.KindInterrupted,
	http.StatusProxyAuthRequired:            archive.KindForeign,
	http.StatusConflict:                     archive.KindConflict,
	http.StatusGone:                         archive.KindNotFound,
	http.StatusPreconditionFailed:           archive.KindConflict,
	http.StatusRequestEntityTooLarge:        archive.KindTooLarge,
	http.StatusUnsupportedMediaType:         archive.KindInvalid,
	http.StatusRequestedRangeNotSatisfiable: archive.KindInvalid,
	http.StatusExpectationFailed:            archive.KindInvalid,
	http.StatusUnprocessableEntity:          archive.KindInvalid,
	http.StatusTooManyRequests:              archive.KindBusy,
	http.StatusNotImplemented:               archive.KindUnsupported,
	http.StatusServiceUnavailable:           archive.KindBusy,

	http.StatusBadGateway:                    archive.KindForeign,
	http.StatusGatewayTimeout:                archive.KindForeign,
	http.StatusNetworkAuthenticationRequired: archive.KindForeign, // of a captive portal (RFC 6585, section 6)
}

// kindOf returns the kind of a status. A redirect that was not followed, and 520 to 530, which proxies
// of large networks send for a service that they do not reach, are no answers of the service.
func kindOf(status int) archive.Kind {
	kind, known := statusKinds[status]
	switch {
	case known:
		return kind
	case status/100 == 3 && status != http.StatusNotModified, status >= 520 && status <= 530:
		return archive.KindForeign
	case status/100 == 5:
		return archive.KindServer
	}
	return archive.KindProtocol
}

// heard reports whether the service itself answered a request that ended with err. 503 is no such
// answer: a service without its database sends that, and a proxy without its service.
func heard(err error) bool {
	var e *archive.Error
	return err == nil || errors.As(err, &e) && e.Status != 0 && e.Status != http.StatusServiceUnavailable && e.Kind != archive.KindForeign
}

// refusal returns why resp is no answer that r can use, nil if it is one. Here the answers of the
// service are told from those of something in between: by the status (kindOf), where the top of the
// archive is said to be missing, and by a web page in place of what was asked for. Only an answer of
// another form than that of a listing is recognised later (unexpected).
func (s *sender) refusal(r *request, resp *http.Response, as *caller) error {
	var e *archive.Error
	switch {
	case !accepted(r, resp):
		e = refusal(r.op, resp, as)
		if e.Status == http.StatusUnauthorized && s.proxy != "" && s.base.Scheme == "http" { // through https only the service answers
			e.Err = errors.New("it may be the proxy that refuses them: --proxy takes USER:PASSWORD@ before the host")
		}
		if e.Kind == archive.KindForeign || e.Err != nil {
			e.Proxy = s.proxy
		}
		if lacks := e.Kind == archive.KindNotFound || e.Kind == archive.KindUnsupported; !lacks || !r.top {
			return e
		}
		e.Kind, e.Err = archive.KindForeign, errNoArchive
	case !r.page && isPage(r.op, resp):
		e = &archive.Error{Op: r.op.doing, Kind: archive.KindForeign, Status: resp.StatusCode, Err: errWebPage}
	default:
		return nil
	}
	if s.base.Port() == "" {
		e.Err = fmt.Errorf("%w; the interface of a service often has a port of its own: try %s://%s:8081%s",
			e.Err, s.base.Scheme, s.base.Host, s.base.Path)
	}
	return e
}

var (
	errWebPage   = errors.New("a web page: is the base URL right, or does a network or a proxy ask for a login?")
	errNoArchive = errors.New("there is no archive")
)

// isPage reports whether a successful answer is a web page instead of what op returns: by its type, or
// by its beginning. In place of a content JSON, or nothing, is like one. A document can be either, so that
// is asked for (service.exchange), unless the ETag is a SHA-256, as that of our own service.
func isPage(op Operation, resp *http.Response) bool {
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	page := media == "text/html" || media == "application/xhtml+xml"
	if op.is(returnsContent) {
		const digest = len(`""`) + 2*sha256.Size
		page = page || media == mediaJSON || resp.StatusCode == http.StatusNoContent
		return page && len(resp.Header.Get("ETag")) != digest && resp.StatusCode/100 == 2
	}
	body := bufio.NewReaderSize(resp.Body, 512)
	resp.Body = struct {
		io.Reader
		io.Closer
	}{body, resp.Body}
	_, _ = body.Peek(1) // an error shows when it is read
	start, _ := body.Peek(body.Buffered())
	return page || startsMarkup(trimBOM(start))
}

// statusOf returns the status of the answer that err is about, 0 for none.
func statusOf(err error) int {
	if e, ok := errors.AsType[*archive.Error](err); ok {
		return e.Status
	}
	return 0
}

// accepted reports whether resp is an answer that r can use.
func accepted(r *request, resp *http.Response) bool {
	if resp.StatusCode == http.StatusNotModified {
		return r.header.Get("If-None-Match") != ""
	}
	return resp.StatusCode >= 200 && resp.StatusCode <= 299
}

// refusal returns the error for an answer that is not accepted, with the message in its body.
func refusal(op Operation, resp *http.Response, as *caller) *archive.Error {
	e := &archive.Error{
		Op:         op.doing,
		Kind:       kindOf(resp.StatusCode),
		Status:     resp.StatusCode,
		Detail:     strings.TrimPrefix(detail(resp, as.redact), strconv.Itoa(resp.StatusCode)+" "),
		Err:        helps[resp.StatusCode],
		RetryAfter: retry.ParseRetryAfter(resp.Header.Get("Retry-After"), time.Now()),
	}
	if e.Kind == archive.KindUnauthorized || e.Kind == archive.KindForbidden {
		e.Person = as.person
	}
	if e.Status == http.StatusInsufficientStorage {
		e.RetryAfter = cmp.Or(e.RetryAfter, roomAfter)
	}
	if target, err := resp.Location(); err == nil && resp.StatusCode <= 399 {
		e.Err = &redirectError{"the service redirects a change, which is not followed, to " + origin(target)}
	}
	return e
}

// helps say what can be done about the answers that proxies give more often than services.
var helps = map[int]error{
	http.StatusRequestEntityTooLarge: errors.New("who runs the service, or a proxy before it, sets the limit"),
	http.StatusRequestTimeout:        errors.New("who runs the service, or a proxy before it, sets how long it waits for a request"),
	http.StatusGatewayTimeout:        errors.New("who runs the proxy sets how long it waits for the service"),
	http.StatusProxyAuthRequired:     errors.New("--proxy takes USER:PASSWORD@ before the host"),
}

// connected returns why a proxy makes no connection to the service, by its answer to CONNECT.
func connected(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	switch help := helps[resp.StatusCode]; {
	case resp.StatusCode == http.StatusOK:
		return nil
	case help != nil:
		return fmt.Errorf("it answered %s: %w", archive.Printable(resp.Status), help)
	}
	return errors.New("it answered " + archive.Printable(resp.Status))
}

// roomAfter is the Retry-After of a service that has no room (507) and sends none. It is longer
// than any call waits: only a person should repeat such a request (RFC 4918, section 11.5).
const roomAfter = time.Minute

const (
	errorBodyLimit = 16 << 10 // bytes of an error's body that are read
	detailLimit    = 4 << 10  // bytes of its message that are kept
)

// detail returns the message in the body of an error: without secrets, Printable, at most 4 KiB.
func detail(resp *http.Response, redact func(string) string) string {
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit)) // a broken body still says something
	return shorten(archive.Printable(redact(explain(body))))
}

// explain returns the message in the body of an error: a problem (RFC 9457) or another JSON
// object, a text, or a web page without its markup.
func explain(body []byte) string {
	body = bytes.TrimSpace(trimBOM(body))
	var value any
	switch {
	case startsMarkup(body):
		return pageText(body)
	case json.Unmarshal(body, &value) == nil:
		if said := strings.Join(messages(value, 0), ": "); said != "" {
			return said
		}
	}
	return strings.Join(strings.Fields(string(body)), " ")
}

// messageKeys are the members of an error's JSON that hold its message, in reading order: those
// of RFC 9457, then others that services commonly use.
var messageKeys = [...]string{
	"title", "error", "message", "detail", "error_description", "errormessage", "description", "name", "field", "errors", "reason",
}

// messages collects the texts of an error's JSON value.
func messages(value any, depth int) []string {
	const deepest, most = 4, 20
	if depth > deepest {
		return nil
	}
	var found []string
	add := func(texts ...string) {
		for _, t := range texts {
			if t = strings.TrimSpace(t); t != "" && len(found) < most && !says(found, t) {
				found = append(found, t)
			}
		}
	}
	switch v := value.(type) {
	case string:
		add(strings.Join(strings.Fields(v), " "))
	case []any:
		for _, element := range v {
			add(messages(element, depth+1)...)
		}
	case map[string]any:
		folded := make(map[string]any, len(v))
		for key, element := range v {
			folded[strings.ToLower(key)] = element
		}
		for _, key := range messageKeys {
			if element, ok := folded[key]; ok {
				add(messages(element, depth+1)...)
			}
		}
		if len(found) == 0 && depth > 0 {
			add(members(v, depth+1)...)
		}
	}
	return found
}

// says reports whether one of the texts is t, or contains it between colons and semicolons:
// the fields of a problem often repeat its detail.
func says(texts []string, t string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return text == t || slices.Contains(strings.Split(strings.ReplaceAll(text, "; ", ": "), ": "), t)
	})
}

// members returns the messages of an object from field names to messages, sorted by name.
func members(object map[string]any, depth int) []string {
	var texts []string
	for field, element := range object {
		if s := strings.Join(messages(element, depth), ", "); s != "" {
			texts = append(texts, field+" "+s)
		}
	}
	slices.Sort(texts)
	return texts
}

// pageText returns the text of a web page, without scripts, styles and what it says twice (title and heading).
func pageText(page []byte) string {
	var texts []string
	hidden := ""
	for tokens := html.NewTokenizer(bytes.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return strings.TrimSuffix(strings.Join(texts, " "), ".")
		case html.StartTagToken:
			if name, _ := tokens.TagName(); hidden == "" && (string(name) == "script" || string(name) == "style") {
				hidden = string(name)
			}
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.TextToken:
			text := strings.Join(strings.Fields(string(tokens.Text())), " ")
			if hidden == "" && text != "" && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
}

// shorten cuts s to detailLimit bytes without splitting a character.
func shorten(s string) string {
	if len(s) <= detailLimit {
		return s
	}
	end := detailLimit - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}

// ended returns the error of a request that the caller's context ended: archive.KindTimeout for a deadline,
// archive.KindOther for a cancellation. last, if not nil, is the error of the attempt before.
func ended(ctx context.Context, op Operation, last error) *archive.Error {
	e := &archive.Error{Op: op.doing, Kind: archive.KindOther, Err: ctx.Err()}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		e.Kind = archive.KindTimeout
	}
	if last != nil && !errors.Is(last, ctx.Err()) {
		e.Err = fmt.Errorf("%w, after %w", ctx.Err(), last)
	}
	return e
}

// stall says what the service has not done in a request that has ended because of that.
func (a *attempt) stall() string {
	switch {
	case a.answered.Load():
		return "nothing of the answer, or too little, came"
	case a.body != nil && !a.written.Load():
		return "the service took nothing, or too little,"
	}
	return "the service did not answer"
}

// failure returns the error for one of net/http. Its kind says whether the request may have reached the service.
func (a *attempt) failure(err error) *archive.Error {
	e := &archive.Error{Op: a.op.doing, Err: inWords(bare(err))}
	unsent := a.dialled.Load() && !a.connected.Load()
	var (
		redirect *redirectError
		distrust *tls.CertificateVerificationError
	)
	switch sending := a.body.failure(); {
	case a.caller.Err() != nil:
		return ended(a.caller, a.op, nil)
	case sending != nil:
		e.Kind, e.Err = archive.KindOther, fmt.Errorf("reading what is to be sent: %w", sending)
	case errors.As(err, &redirect):
		e.Kind = archive.KindForeign
	case errors.As(err, &distrust):
		e.Kind, e.Err = archive.KindUnreachable, fmt.Errorf("the service's certificate is not trusted: %w", distrust)
	case errors.Is(context.Cause(a.ctx), errPaused):
		e.Kind, e.Err, e.Unsent = archive.KindInterrupted, errPaused, unsent
		if unsent {
			e.Kind = archive.KindUnreachable
		}
	case errors.Is(context.Cause(a.ctx), errStalled) && unsent:
		e.Kind, e.Err = archive.KindUnreachable, fmt.Errorf("no connection within %s", a.sender.config.Stall)
	case errors.Is(context.Cause(a.ctx), errStalled):
		e.Kind, e.Err = archive.KindTimeout, fmt.Errorf("%s for %s; a longer --timeout waits for it", a.stall(), a.sender.config.Stall)
	case unsent:
		e.Kind = archive.KindUnreachable
	case a.op.is(bulky) && a.body != nil && !a.written.Load():
		e.Kind, e.Err = archive.KindInterrupted, fmt.Errorf("%w while it was sent, as a proxy with a limit does: who runs it can tell", e.Err)
	default:
		e.Kind = archive.KindInterrupted
	}
	if e.Kind != archive.KindOther && !errors.Is(e.Err, errPaused) {
		e.Proxy = a.sender.proxy
	}
	return e
}

// bare removes the URL from an error of net/http: its query does not belong in a log.
func bare(err error) error {
	for {
		quoting, ok := err.(*url.Error) //nolint:errorlint // only the outermost one quotes the address
		if !ok {
			return err
		}
		err = quoting.Err
	}
}

// transportError is an error of net/http in plain words, without the socket addresses that the cause quotes.
type transportError struct {
	words string
	cause error
}

func inWords(err error) *transportError { return &transportError{words: plain(err), cause: err} }

func (e *transportError) Error() string { return e.words }

// Unwrap returns the error of net/http.
func (e *transportError) Unwrap() error { return e.cause }

// closings are the errors of a connection that the other side has closed. net.ErrClosed is one:
// the transport closes its own side while a write is in progress.
var closings = []error{io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNABORTED}

func plain(err error) string {
	var (
		name  *net.DNSError
		slow  net.Error
		cause syscall.Errno
		op    *net.OpError
	)
	isOp := errors.As(err, &op)
	switch {
	case isOp && op.Op == "proxyconnect":
		return plain(op.Err)
	case errors.As(err, &name):
		return "the name " + name.Name + " cannot be looked up: " + name.Err
	case slices.ContainsFunc(closings, func(end error) bool { return errors.Is(err, end) }):
		return "the other side closed the connection"
	case errors.As(err, &slow) && slow.Timeout():
		return "no answer in time"
	case errors.As(err, &cause):
		return cause.Error()
	case isOp && (op.Source != nil || op.Addr != nil):
		return plain(op.Err)
	}
	return err.Error()
}
