package main

import (
	"bytes"
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/url"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// phpClient writes as a client that the OpenAPI Generator makes in PHP does, with Guzzle: booleans are 0 and 1, dates
// have a zone, each request has a Content-Type, with a body or without, each part of a form has its length, and
// who sends a large body asks first whether it is wanted.
type phpClient struct {
	t      *testing.T
	office *clientsOffice
	called map[string]int // by METHOD /path/{id}
}

// phpFields are parameters or form fields, by name: bool, int, int64, string, time.Time, []string, map[string]string.
type phpFields map[string]any

// phpFile is a file among them.
type phpFile struct{ name, content string }

// phpText is a value as it is written.
func phpText(value any) string {
	switch value := value.(type) {
	case bool:
		if value {
			return "1"
		}
		return "0"
	case time.Time:
		return value.Format("2006-01-02T15:04:05-07:00") // DateTime::ATOM
	}
	return fmt.Sprint(value)
}

// encoded is what http_build_query makes of fields: an array is repeated, an object has its keys in brackets.
func (f phpFields) encoded() string {
	var pairs []string
	add := func(name, value string) {
		escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
		pairs = append(pairs, escape(name)+"="+escape(value))
	}
	for _, name := range slices.Sorted(maps.Keys(f)) {
		switch value := f[name].(type) {
		case []string:
			for _, item := range value {
				add(name, item)
			}
		case map[string]string:
			for _, key := range slices.Sorted(maps.Keys(value)) {
				add(name+"["+key+"]", value[key])
			}
		default:
			add(name, phpText(value))
		}
	}
	return strings.Join(pairs, "&")
}

// multipart is what Guzzle's MultipartStream makes of them.
func (f phpFields) multipart() (contentType string, body io.Reader) {
	random := make([]byte, 20)
	_, _ = rand.Read(random)
	boundary := hex.EncodeToString(random)
	var b bytes.Buffer
	for _, name := range slices.Sorted(maps.Keys(f)) {
		file, is := f[name].(phpFile)
		disposition, content, more := fmt.Sprintf(`form-data; name="%s"`, name), phpText(f[name]), ""
		if is {
			disposition, content = disposition+fmt.Sprintf(`; filename="%s"`, file.name), file.content
			more = "Content-Type: " + cmp.Or(mime.TypeByExtension(filepath.Ext(file.name)), "application/octet-stream") + "\r\n"
		}
		_, _ = fmt.Fprintf(&b, "--%s\r\nContent-Disposition: %s\r\nContent-Length: %d\r\n%s\r\n%s\r\n", boundary, disposition, len(content), more, content)
	}
	b.WriteString("--" + boundary + "--\r\n")
	return "multipart/form-data; boundary=" + boundary, &b
}

// call asks for an operation, METHOD /path/{id}, and fails the test unless the answer has the status.
func (c *phpClient) call(status int, operation string, id int64, query phpFields, contentType string, body io.Reader) string {
	c.t.Helper()
	c.called[operation]++
	method, path, _ := strings.Cut(operation, " ")
	address := c.office.url
	if path == "/healthz" || path == "/readyz" {
		address = strings.TrimSuffix(address, "/api/v2")
	}
	address += regexp.MustCompile(`{\w+}`).ReplaceAllString(path, strconv.FormatInt(id, 10))
	if len(query) > 0 {
		address += "?" + query.encoded()
	}
	r, err := http.NewRequestWithContext(c.t.Context(), method, address, body)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := c.office.sign(c.t.Context(), r); err != nil {
		c.t.Fatal(err)
	}
	r.Header.Set("User-Agent", "OpenAPI-Generator/1.0.0/PHP")
	r.Header.Set("Accept", "application/json")
	r.Header.Set("Content-Type", cmp.Or(contentType, "application/json"))
	if r.ContentLength >= 1<<20 {
		r.Header.Set("Expect", "100-Continue")
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		c.t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	_ = answer.Body.Close()
	if err != nil || answer.StatusCode != status {
		c.t.Fatalf("%s %s: %d %s, %v, want %d", method, address, answer.StatusCode, text, err, status)
	}
	return string(text)
}

func (c *phpClient) get(operation string, id int64, query phpFields) string {
	c.t.Helper()
	return c.call(http.StatusOK, operation, id, query, "", nil)
}

func (c *phpClient) post(status int, operation string, id int64, fields phpFields) string {
	c.t.Helper()
	return c.call(status, operation, id, nil, "application/x-www-form-urlencoded", strings.NewReader(fields.encoded()))
}

// upload sends a file and returns its id, for which PHP wants a number.
func (c *phpClient) upload(fields phpFields) int64 {
	c.t.Helper()
	contentType, body := fields.multipart()
	var id int64
	if err := json.Unmarshal([]byte(c.call(http.StatusOK, "POST /file-upload", 0, nil, contentType, body)), &id); err != nil {
		c.t.Fatal(err)
	}
	return id
}

// object decodes an answer; the members that the setters of the public document's classes refuse to be null must be
// there, in this object and those in it.
func (c *phpClient) object(text string) any {
	c.t.Helper()
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		c.t.Fatalf("%v in %s", err, text)
	}
	// By a member that only this class has, those that it needs.
	needed := map[string][]string{
		"free-archive-structure": {"folders"},
		"free-inbox-structure":   {"inboxes", "folders"},
		"user-id":                {"folder"},
		"num-pages":              {"id", "name", "creation-date", "archiving-user-id", "folder-id", "keywords", "external-metadata"},
		"numPages":               {"id", "name", "mandator", "folderId", "folderPath", "creationDate", "creatorId", "creatorName", "keywords", "classification", "external", "workflows", "pages"},
		"externalId":             {"metadata"},
		"hit":                    {"id", "notes", "stamps"},
		"text":                   {"date", "creatorId", "creatorName"},
		"totalHitDocuments":      {"documents"},
	}
	var look func(value any)
	look = func(value any) {
		switch value := value.(type) {
		case []any:
			for _, item := range value {
				look(item)
			}
		case map[string]any:
			for mark, members := range needed {
				for _, name := range members {
					if _, is := value[mark]; is && value[name] == nil {
						c.t.Errorf("%s beside %s is null in %s", name, mark, text)
					}
				}
			}
			for _, item := range value {
				look(item)
			}
		}
	}
	look(value)
	return value
}

// found are the ids of documents of an answer.
func (c *phpClient) found(text string) (ids []int64) {
	c.t.Helper()
	value := c.object(text)
	if hits, is := value.(map[string]any); is {
		value = hits["documents"]
	}
	for _, d := range value.([]any) { // else the test fails
		ids = append(ids, int64(d.(map[string]any)["id"].(float64))) // likewise
	}
	return ids
}

// A client that is generated in PHP can do all that there is.
func TestAClientGeneratedInPHP(t *testing.T) {
	o := serveOffice(t)
	c := &phpClient{t: t, office: o, called: map[string]int{}}
	want := func(what string, got, want any) {
		t.Helper()
		if g, w := asJSON(t, got), asJSON(t, want); g != w {
			t.Errorf("%s: %s, want %s", what, g, w)
		}
	}
	day := time.Date(2023, 11, 22, 0, 0, 0, 0, time.UTC)

	want("alive", c.get("GET /healthz", 0, nil), "ok\n")
	c.get("GET /readyz", 0, nil)
	described := operations(t, []byte(c.get("GET /openapi.json", 0, nil)))

	for _, query := range []phpFields{nil, {"lazy": false}, {"lazy": true}, {"parent-folder-id": o.mandator, "lazy": true}, {"parent-folder-id": o.mandator, "lazy": false}} {
		c.object(c.get("GET /archivestructure", 0, query))
	}
	for _, query := range []phpFields{nil, {"lazy": false}, {"lazy": true}} {
		c.object(c.get("GET /inboxes", 0, query))
	}
	list := func(folder int64, more phpFields) []int64 {
		t.Helper()
		query := phpFields{"folder-id": folder}
		maps.Copy(query, more)
		return c.found(c.get("GET /document/list", 0, query))
	}
	want("documents of the mandator", list(o.mandator, phpFields{"subfolders-recursive": false}), nil)
	want("and below", list(o.mandator, phpFields{"subfolders-recursive": true, "with-autoexport-status": true}), []int64{o.picture, o.text})
	want("since", list(o.folder, phpFields{"filter-date-created-after": "2023-11-22", "with-autoexport-status": false}), nil)
	want("with keys", list(o.folder, phpFields{"included-metadata-keys": "number", "excluded-matadata-keys": "other"}), []int64{o.picture, o.text})
	want("in the inbox", list(o.inbox, nil), []int64{o.letter})
	c.object(c.get("GET /document/{id}/data", o.text, nil))
	c.object(c.get("GET /document/{id}/data", o.letter, nil))

	want("what was put in", c.get("GET /document/{id}/pdf", o.text, phpFields{"original": true}), "some words")
	want("the PDF", c.get("GET /document/{id}/pdf", o.text, phpFields{"original": false, "annotations": "stamp,note"})[:5], "%PDF-")
	c.get("HEAD /document/{id}/pdf", o.text, phpFields{"original": true})
	want("the text", c.get("GET /document/{id}/ocr-result", o.text, nil), "some words")
	want("the text of a page", c.get("GET /page/{id}/ocr-result", o.page(o.text), nil), "some words")
	want("a JPEG", strings.HasPrefix(c.get("GET /page/{id}/preview", o.page(o.picture), phpFields{"bbox-width": 20, "bbox-height": 20}), "\xff\xd8\xff"), true)
	want("uploaded with it", c.object(c.get("GET /document/{id}/uploaded-with", o.text, nil)), []any{})
	want("metadata", c.object(c.get("GET /document/{id}/metadata", o.text, nil)), map[string]any{"number": "17"})

	search := func(query phpFields) []int64 {
		t.Helper()
		return c.found(c.call(http.StatusOK, "POST /search", 0, query, "", nil))
	}
	want("all", search(phpFields{"include-trash": false, "pagination-size": 100, "pagination-page": 0, "recursive": true, "location-folder-id": o.mandator}), []int64{o.text, o.picture})
	want("not below", search(phpFields{"recursive": false, "location": "/M/"}), nil)
	want("by terms", search(phpFields{"keyword-terms": []string{"paid", "due"}, "document-name-terms": []string{"text"}, "note-terms": []string{"note", "a"}}), []int64{o.text})
	want("by what is said", search(phpFields{"external-metadata": map[string]string{"number": "17"}, "fulltext-all": "picture", "stamps-inclusive": []string{"PAID"}}), []int64{o.picture})
	want("by date", search(phpFields{"from-date": day.AddDate(0, 0, -1), "to-date": day.AddDate(0, 0, 2), "document-type": "invoice", "location": "INBOX/I"}), []int64{o.letter})
	want("from later on", search(phpFields{"from-date": day.AddDate(1, 0, 0)}), nil)

	asJSONBody := func(operation string, id int64, body string) {
		t.Helper()
		c.call(http.StatusOK, operation, id, nil, "application/json", strings.NewReader(body))
	}
	asJSONBody("POST /document/{id}/metadata", o.text, `{"colour":"gr\u00fcn \ud83d\ude00","number":null}`) // json_encode escapes
	want("metadata", c.object(c.get("GET /document/{id}/metadata", o.text, nil)), map[string]any{"colour": "grün 😀"})
	asJSONBody("POST /document/{id}/keywords", o.text, `["eins","zwei, drei"]`)
	c.post(http.StatusOK, "POST /document/{id}/rename", o.text, phpFields{"new-name": "Größe & mehr.txt"})
	for _, on := range []bool{true, false, true} {
		c.post(http.StatusOK, "POST /document/auto_export_status/set", 0, phpFields{"document-id": o.text, "autoexport-status": on})
	}
	c.object(c.post(http.StatusOK, "POST /folder/create", 0, phpFields{"parent-folder-id": o.folder, "folder-name": "neu"}))
	c.post(http.StatusConflict, "POST /folder/create", 0, phpFields{"parent-folder-id": o.folder, "folder-name": "neu"})

	first := c.upload(phpFields{
		"upload-data": phpFile{"a.txt", "x"}, "target-folder-id": o.folder, "target-document-name": "Brief", "keywords": "a,b", "document-types": "letter",
		"external-id": "E", "external-metadatas": "k=v", "email-import-order": "EMAIL_ONLY", "force-new-document": false,
	})
	want("the same again", c.upload(phpFields{"upload-data": phpFile{"a.txt", "x"}, "target-folder-id": o.folder, "external-id": "E", "force-new-document": false}), first)
	want("the same as another", c.upload(phpFields{"upload-data": phpFile{"a.txt", "x"}, "target-folder-id": o.folder, "external-id": "E", "force-new-document": true}) > first, true)
	want("by path", c.upload(phpFields{"upload-data": phpFile{`C:\temp\b.pdf`, "x"}, "target-mandator-name": "M", "target-folder-path": "/F/neu/"}) > first, true)
	want("in base64", c.upload(phpFields{"upload-data-base64": "eA==", "target-document-name": "c.txt", "target-folder-id": o.inbox}) > first, true)
	large := c.upload(phpFields{"upload-data": phpFile{"large.bin", strings.Repeat("x", 2<<20)}, "target-folder-id": o.inbox})
	contentType, body := phpFields{"upload-data": phpFile{"large.bin", strings.Repeat("x", 2<<20)}, "target-folder-id": 999}.multipart()
	c.call(http.StatusNotFound, "POST /file-upload", 0, nil, contentType, body)

	contentType, body = phpFields{"upload-data": phpFile{"letter.txt", "another letter"}}.multipart()
	c.call(http.StatusOK, "POST /document/{id}/replace", o.letter, phpFields{"keywords": "new"}, contentType, body)
	c.post(http.StatusOK, "POST /document/{id}/archive", o.letter, phpFields{"target-folder-id": o.folder, "target-document-name": "letter", "keywords": "done"})
	c.post(http.StatusNotFound, "POST /document/{id}/archive", o.letter, phpFields{"target-folder-path": "/M/F"})
	want("by who archived it", search(phpFields{"archiver-id": o.eve, "document-name-terms": []string{"letter"}, "keyword-terms": []string{"done"}}), []int64{large + 1})
	want("by workflow", search(phpFields{"workflow-name": "*", "workflow-state": "open", "followup-terms": []string{"a", "b"}}), nil)
	c.call(http.StatusOK, "POST /document/{id}/delete", large, nil, "", nil)

	if got, want := slices.Sorted(maps.Keys(c.called)), slices.Sorted(maps.Keys(described)); !slices.Equal(got, want) {
		t.Errorf("called are %q, described %q", got, want)
	}
}
