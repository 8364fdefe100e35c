package hostile

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// operation is a line of the specification's table of endpoints, or a further one of
// the public document.
type operation struct {
	method, path string
	query        []param
	body         bodyKind
	form         []param
	json         bool   // answers JSON, so the request must accept it
	produces     string // the other type that it answers; empty: no body, or any
	further      bool   // not one of the eight
	handle       func(*store, *call) answer
}

// bodyKind is the encoding of a request's body.
type bodyKind uint8

const (
	bodyNone bodyKind = iota
	bodyForm
	bodyMultipart // always with the file upload-data
	bodyJSON
)

// param is a parameter; valid judges its value.
type param struct {
	name     string
	valid    func(string) bool
	required bool
}

func text(string) bool      { return true }
func boolean(v string) bool { return v == "true" || v == "false" }

func integer(v string) bool {
	_, err := strconv.ParseInt(v, 10, 64)
	return err == nil
}

func date(v string) bool {
	_, err := time.Parse(time.DateOnly, v)
	return err == nil
}

func importOrder(v string) bool {
	return slices.Contains([]string{"EMAIL_THEN_ATTACHMENTS", "ATTACHMENTS_THEN_EMAIL", "EMAIL_ONLY", "ATTACHMENTS_ONLY"}, v)
}

func opt(name string, valid func(string) bool) param { return param{name, valid, false} }
func req(name string, valid func(string) bool) param { return param{name, valid, true} }

// eight are the operations of the specification.
func eight() []operation {
	return []operation{
		{
			method: http.MethodGet, path: "/archivestructure", json: true, handle: archiveStructure,
			query: []param{opt("parent-folder-id", integer), opt("lazy", boolean)},
		},
		{
			method: http.MethodGet, path: "/document/list", json: true, handle: documentList,
			query: []param{
				req("folder-id", integer), opt("included-metadata-keys", text), opt("excluded-matadata-keys", text),
				opt("with-autoexport-status", boolean), opt("filter-date-created-after", date), opt("subfolders-recursive", boolean),
			},
		},
		{
			method: http.MethodPost, path: "/file-upload", body: bodyMultipart, produces: "text/plain", handle: fileUpload,
			form: []param{
				opt("target-mandator-name", text), opt("target-folder-path", text), opt("target-folder-id", integer),
				opt("target-document-name", text), opt("keywords", text), opt("document-types", text), opt("external-id", text),
				opt("external-metadatas", text), opt("email-import-order", importOrder), opt("force-new-document", boolean),
			},
		},
		{
			method: http.MethodPost, path: "/folder/create", body: bodyForm, json: true, handle: folderCreate,
			form: []param{req("parent-folder-id", integer), req("folder-name", text)},
		},
		{method: http.MethodGet, path: "/inboxes", json: true, handle: inboxList},
		{
			method: http.MethodPost, path: "/document/{id}/archive", body: bodyForm, handle: documentArchive,
			form: []param{
				opt("target-folder-id", integer), opt("target-folder-path", text), opt("target-mandator-name", text),
				opt("target-document-name", text), opt("keywords", text),
			},
		},
		{
			method: http.MethodPost, path: "/document/auto_export_status/set", body: bodyForm, handle: autoExportSet,
			form: []param{req("document-id", integer), req("autoexport-status", boolean)},
		},
		{method: http.MethodGet, path: "/document/{id}/data", json: true, handle: documentData},
	}
}

// others are the further ones of the public document that the service has.
func others() []operation {
	content := []param{opt("original", boolean), opt("annotations", text)}
	return []operation{
		{method: http.MethodGet, path: "/document/{id}/pdf", further: true, produces: "application/pdf", query: content, handle: documentContent},
		{method: http.MethodHead, path: "/document/{id}/pdf", further: true, produces: "application/pdf", query: content, handle: documentContent},
		{method: http.MethodGet, path: "/document/{id}/ocr-result", further: true, produces: "text/plain", handle: documentText},
		{
			method: http.MethodGet, path: "/page/{id}/preview", further: true, produces: "image/jpeg", handle: pagePreview,
			query: []param{opt("bbox-width", integer), opt("bbox-height", integer)},
		},
		{method: http.MethodPost, path: "/search", further: true, json: true, handle: search, query: searchParams()},
		{method: http.MethodGet, path: "/document/{id}/metadata", further: true, json: true, handle: metadata},
		{method: http.MethodPost, path: "/document/{id}/metadata", further: true, body: bodyJSON, handle: setMetadata},
		{method: http.MethodPost, path: "/document/{id}/keywords", further: true, body: bodyJSON, handle: setKeywords},
		{
			method: http.MethodPost, path: "/document/{id}/rename", further: true, body: bodyForm, handle: rename,
			form: []param{req("new-name", text)},
		},
		{
			method: http.MethodPost, path: "/document/{id}/replace", further: true, body: bodyMultipart, handle: replace,
			query: []param{opt("keywords", text)},
		},
		{method: http.MethodPost, path: "/document/{id}/delete", further: true, handle: remove},
	}
}

// absent reports whether the public document describes an operation that this service
// never has: a client may try it and must live without.
func absent(method, path string) bool {
	for _, pattern := range []string{
		"GET /page/{id}/ocr-result", "GET /document/{id}/uploaded-with",
	} {
		m, p, _ := strings.Cut(pattern, " ")
		if m == method && match(p, path) {
			return true
		}
	}
	return false
}

// find returns the operation that a request names, or nil. Exact paths go before
// patterns.
func find(operations []operation, method, path string) *operation {
	var found *operation
	for i := range operations {
		op := &operations[i]
		if op.method == method && match(op.path, path) && (found == nil || op.path == path) {
			found = op
		}
	}
	return found
}
