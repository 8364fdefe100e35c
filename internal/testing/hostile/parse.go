package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// call is a request as its operation sees it.
type call struct {
	r   *http.Request
	cfg Config
	id  int64 // of the path
	// values are the parameters, wherever they were sent.
	values   url.Values
	file     []byte
	fileName string
	body     []byte // JSON
	hide     int    // listings that a new document is left out of
}

func (c *call) has(name string) bool    { return c.values.Has(name) }
func (c *call) text(name string) string { return c.values.Get(name) }
func (c *call) flag(name string) bool   { return c.values.Get(name) == "true" }

// number returns an integer parameter, 0 when it is missing.
func (c *call) number(name string) int64 {
	n, err := strconv.ParseInt(c.values.Get(name), 10, 64)
	switch {
	case err != nil:
		return 0
	case strings.HasSuffix(name, "-id"):
		return n + c.cfg.LowIDs
	}
	return n
}

// parser judges a request and its body by the operation's line in the table.
type parser struct {
	op       *operation
	rec      *Request // learns what the body holds
	call     *call
	problems []string
}

func (p *parser) wrong(format string, args ...any) {
	p.problems = append(p.problems, fmt.Sprintf(format, args...))
}

// parse fills the call and notes every problem.
func (p *parser) parse(body []byte) {
	r := p.call.r
	p.call.values = url.Values{}
	if p.op.json && !accepts(r, "application/json") {
		p.wrong("does not accept application/json")
	}
	for i, segment := range strings.Split(p.op.path, "/") {
		if !strings.HasPrefix(segment, "{") {
			continue
		}
		id, err := strconv.ParseInt(strings.Split(p.rec.Path, "/")[i], 10, 64)
		if err != nil {
			p.wrong("the id in the path is no integer")
		}
		p.call.id = id + p.call.cfg.LowIDs
	}
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		p.wrong("the query is malformed")
	}
	p.take("query parameter", query, p.op.query)
	p.parseBody(body)
}

// parseBody reads the body in the encoding that the operation takes.
func (p *parser) parseBody(body []byte) {
	media, attrs, err := mime.ParseMediaType(p.call.r.Header.Get("Content-Type"))
	if err != nil {
		media = ""
	}
	expect := func(want string) bool {
		if media != want {
			p.wrong("Content-Type is %q instead of %s", media, want)
		}
		return media == want
	}
	switch p.op.body {
	case bodyNone:
		if len(body) > 0 {
			p.wrong("a body where none is taken")
		}
	case bodyForm:
		if expect("application/x-www-form-urlencoded") {
			form, err := url.ParseQuery(string(body))
			if err != nil {
				p.wrong("the form is malformed")
			}
			p.takeForm(form)
		}
	case bodyMultipart:
		if expect("multipart/form-data") {
			p.takeForm(p.multipart(body, attrs["boundary"]))
		}
	case bodyJSON:
		if expect("application/json") {
			p.call.body, p.rec.Body = body, body
		}
	}
}

func (p *parser) takeForm(form url.Values) {
	p.rec.Form = form
	p.take("form field", form, p.op.form)
}

// take judges the parameters sent in one place and takes those that belong there.
func (p *parser) take(place string, sent url.Values, known []param) {
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		i := slices.IndexFunc(known, func(k param) bool { return k.name == name })
		switch {
		case i < 0:
			p.wrong("unknown %s %q", place, name)
			continue
		case len(sent[name]) > 1:
			p.wrong("%s %q is sent %d times", place, name, len(sent[name]))
		case !known[i].valid(sent.Get(name)):
			p.wrong("%s %q has a value of the wrong type", place, name)
		}
		p.call.values[name] = sent[name]
	}
	for _, k := range known {
		if k.required && !sent.Has(k.name) {
			p.wrong("%s %q is missing", place, k.name)
		}
	}
}

// multipart takes the file and returns the other fields.
func (p *parser) multipart(body []byte, boundary string) url.Values {
	form := url.Values{}
	parts := multipart.NewReader(bytes.NewReader(body), boundary)
	for {
		part, err := parts.NextRawPart()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			p.wrong("the multipart body is malformed")
			return form
		}
		value, err := io.ReadAll(part)
		if err != nil {
			p.wrong("a part of the multipart body is malformed")
			return form
		}
		switch {
		case part.FormName() != "upload-data":
			form.Add(part.FormName(), string(value))
		case part.FileName() == "":
			p.wrong("upload-data is no file")
		case p.rec.FileSize >= 0:
			p.wrong("upload-data is sent twice")
		default:
			p.call.file, p.call.fileName = value, part.FileName()
			p.rec.FileName, p.rec.FileSize = p.call.fileName, int64(len(value))
		}
	}
	if p.rec.FileSize < 0 {
		p.wrong("upload-data is missing")
	}
	return form
}

// media is the type that the operation answers, empty if it answers none or any.
func (op *operation) media() string {
	if op.json {
		return "application/json"
	}
	return op.produces
}

// acceptable reports whether r accepts an answer of a media type (RFC 9110, section 12.5.1): of
// several ranges that hold it the most specific one counts.
func acceptable(r *http.Request, media string) bool {
	kind, _, _ := strings.Cut(media, "/")
	weights := map[string]string{}
	for v := range strings.SplitSeq(strings.Join(r.Header.Values("Accept"), ","), ",") {
		if one, attrs, err := mime.ParseMediaType(v); err == nil {
			weights[one] = attrs["q"]
		}
	}
	for _, one := range []string{media, kind + "/*", "*/*"} {
		if q, named := weights[one]; named {
			n, err := strconv.ParseFloat(q, 64)
			return q == "" || err == nil && n > 0
		}
	}
	return media == "" || len(weights) == 0
}

// accepts reports whether the Accept header names a media type.
func accepts(r *http.Request, want string) bool {
	for _, v := range r.Header.Values("Accept") {
		for one := range strings.SplitSeq(v, ",") {
			if media, _, err := mime.ParseMediaType(one); err == nil && media == want {
				return true
			}
		}
	}
	return false
}

// refusal judges the credentials of r. It returns why they are refused, empty when
// they are not, and whether the request breaks the specification: a mix of the sets, or
// one header twice, is wrong at every deployment.
func (c Credentials) refusal(r *http.Request) (why string, violation bool) {
	for _, name := range []string{"Api-Key", "Cloud-Id", "Authorization"} {
		if len(r.Header.Values(name)) > 1 {
			return "header " + name + " is sent twice", true
		}
	}
	cloud, key := r.Header.Get("Cloud-ID"), r.Header.Get("API-Key")
	user, password, basic := r.BasicAuth()
	switch {
	case cloud != "" && r.Header.Get("Authorization") != "":
		return "credentials of set A and set B are mixed", true
	case c == Credentials{}:
		return "", false
	case key == "":
		return "the API key is missing", false
	case cloud != c.CloudID || basic != (c.User != "" || c.Password != ""):
		return "credentials of another set are expected", false
	case key != c.APIKey || user != c.User || password != c.Password:
		return "the credentials are wrong", false
	}
	return "", false
}
