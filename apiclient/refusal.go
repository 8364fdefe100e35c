package apiclient

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/net/html"

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
func refusal(op Operation, resp *http.Response, redact func(string) string) *archive.Error {
	e := &archive.Error{
		Op:         string(op),
		Kind:       kindOf(resp.StatusCode),
		Status:     resp.StatusCode,
		Detail:     detail(resp, redact),
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

// What is read of an error's body, and what is kept of it, in bytes.
const (
	errorBodyLimit = 16 << 10
	detailLimit    = 4 << 10
)

// detail returns what the service said in the body of an error: without secrets that
// it repeats, Printable, at most 4 KiB.
func detail(resp *http.Response, redact func(string) string) string {
	// An error's body that breaks off still says something.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, errorBodyLimit))
	return shorten(archive.Printable(redact(explain(body))))
}

// explain returns the message in the body of an error: of a problem (RFC 9457) or any
// JSON object with a usual member, of a text, or of a web page without its markup.
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

// messageKeys are the members of an error's JSON that speak to a person, in the order
// of reading: RFC 9457, then what services commonly write.
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

// says reports whether one of the texts is t, or has it between its colons and semicolons:
// problems repeat in their fields what their detail said.
func says(texts []string, t string) bool {
	return slices.ContainsFunc(texts, func(text string) bool {
		return text == t || slices.Contains(strings.Split(strings.ReplaceAll(text, "; ", ": "), ": "), t)
	})
}

// members returns the texts of an object from field names to messages, by name.
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

// pageText returns the text of a web page, without scripts and styles.
func pageText(page []byte) string {
	var words []string
	hidden := ""
	for tokens := html.NewTokenizer(bytes.NewReader(page)); ; {
		switch tokens.Next() {
		case html.ErrorToken:
			return strings.Join(words, " ")
		case html.StartTagToken:
			if name, _ := tokens.TagName(); hidden == "" && (string(name) == "script" || string(name) == "style") {
				hidden = string(name)
			}
		case html.EndTagToken:
			if name, _ := tokens.TagName(); string(name) == hidden {
				hidden = ""
			}
		case html.TextToken:
			if hidden == "" {
				words = append(words, strings.Fields(string(tokens.Text()))...)
			}
		}
	}
}

// shorten cuts s to detailLimit bytes at a character.
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
