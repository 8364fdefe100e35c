package server

import (
	"net/http"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// stranger is a client that knows the ids of another archive.
type stranger struct {
	name     string
	header   http.Header // the credentials
	own      archive.ID  // the stranger's mandator
	tray     archive.ID  // the stranger's inbox
	user     int64       // the user of that inbox
	document archive.ID  // in that inbox
}

// tried is a request with the ids of another archive. It is answered 404, or 200 if answer is set, with that
// text in the body.
type tried struct {
	path, contentType, body string
	answer                  string
}

const (
	asFields = "application/x-www-form-urlencoded"
	asUpload = "multipart/form-data; boundary=XX"
	asJSON   = "application/json"
)

// uploading is the body of an upload of "theirs" with some fields.
func uploading(fields ...string) string {
	var b strings.Builder
	b.WriteString("--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"a.txt\"\r\n\r\ntheirs\r\n")
	for i := 0; i < len(fields); i += 2 {
		b.WriteString("--XX\r\nContent-Disposition: form-data; name=\"" + fields[i] + "\"\r\n\r\n" + fields[i+1] + "\r\n")
	}
	return b.String() + "--XX--\r\n"
}

// strange are requests to every operation. THEIR ids are those of the archive, OWN ones the
// stranger's.
func strange() map[string][]tried {
	id := func(path string) []tried {
		before, name, _ := strings.Cut(path, "{")
		_, after, _ := strings.Cut(name, "}")
		return []tried{{path: before + "THEIR-DOCUMENT" + after}, {path: before + "THEIR-SCAN" + after}}
	}
	posted := func(path, contentType, body string) []tried {
		all := id(path)
		for i := range all {
			all[i].contentType, all[i].body = contentType, body
		}
		return all
	}
	return map[string][]tried{
		"GET /archivestructure": {
			{path: "/archivestructure", answer: `{"free-archive-structure":true,"folders":[{"id":OWN-MANDATOR,"name":"Own","folders":[]}]}`},
			{path: "/archivestructure?lazy=true", answer: `{"free-archive-structure":true,"folders":[{"id":OWN-MANDATOR,"name":"Own"}]}`},
			{path: "/archivestructure?parent-folder-id=THEIR-MANDATOR"},
			{path: "/archivestructure?parent-folder-id=THEIR-FOLDER&lazy=true"},
		},
		"GET /document/list": {
			{path: "/document/list?folder-id=THEIR-FOLDER"},
			{path: "/document/list?folder-id=THEIR-INBOX"},
			{path: "/document/list?folder-id=THEIR-MANDATOR&subfolders-recursive=true"},
			{path: "/document/list?folder-id=OWN-MANDATOR&subfolders-recursive=true", answer: "[]"},
		},
		"POST /file-upload": {
			{path: "/file-upload", contentType: asUpload, body: uploading("target-folder-id", "THEIR-FOLDER")},
			{path: "/file-upload", contentType: asUpload, body: uploading("target-folder-id", "THEIR-INBOX")},
			{path: "/file-upload", contentType: asUpload, body: uploading("target-folder-path", "/Theirs/below/")},
			{path: "/file-upload", contentType: asUpload, body: uploading("target-mandator-name", "Theirs")},
			{path: "/file-upload", contentType: asUpload, body: uploading("target-mandator-name", "Theirs", "target-folder-path", "below")},
			{path: "/file-upload", contentType: asUpload, body: uploading("target-folder-id", "THEIR-FOLDER", "external-id", "E")},
		},
		"POST /folder/create": {
			{path: "/folder/create", contentType: asFields, body: "parent-folder-id=THEIR-FOLDER&folder-name=x"},
			{path: "/folder/create", contentType: asFields, body: "parent-folder-id=THEIR-INBOX&folder-name=x"},
		},
		"GET /inboxes": {{
			path:   "/inboxes",
			answer: `{"free-inbox-structure":true,"inboxes":[{"user-id":OWN-USER,"folder":{"id":OWN-INBOX,"name":"Own","folders":[]}}],"folders":[]}`,
		}},
		"POST /document/{id}/archive": append(
			posted("/document/{id}/archive", asFields, "target-folder-id=OWN-MANDATOR"),
			tried{path: "/document/OWN-SCAN/archive", contentType: asFields, body: "target-folder-id=THEIR-FOLDER"},
			tried{path: "/document/OWN-SCAN/archive", contentType: asFields, body: "target-folder-path=/Theirs/below"},
			tried{path: "/document/OWN-SCAN/archive", contentType: asFields, body: "target-folder-path=below&target-mandator-name=Theirs"},
		),
		"POST /document/auto_export_status/set": {
			{path: "/document/auto_export_status/set", contentType: asFields, body: "document-id=THEIR-DOCUMENT&autoexport-status=true"},
		},
		"GET /document/{id}/data":          id("/document/{id}/data"),
		"GET /document/{id}/pdf":           append(id("/document/{id}/pdf"), id("/document/{id}/pdf?original=true")...),
		"HEAD /document/{id}/pdf":          id("/document/{id}/pdf"),
		"GET /document/{id}/ocr-result":    id("/document/{id}/ocr-result"),
		"GET /page/{id}/ocr-result":        {{path: "/page/THEIR-PAGE/ocr-result"}},
		"GET /page/{id}/preview":           {{path: "/page/THEIR-PAGE/preview"}},
		"GET /document/{id}/metadata":      id("/document/{id}/metadata"),
		"POST /document/{id}/metadata":     posted("/document/{id}/metadata", asJSON, `{"a":"b"}`),
		"POST /document/{id}/keywords":     posted("/document/{id}/keywords", asJSON, `["b"]`),
		"POST /document/{id}/rename":       posted("/document/{id}/rename", asFields, "new-name=x"),
		"POST /document/{id}/replace":      posted("/document/{id}/replace", asUpload, uploading()),
		"POST /document/{id}/delete":       posted("/document/{id}/delete", "", ""),
		"GET /document/{id}/uploaded-with": id("/document/{id}/uploaded-with"),
		"POST /search": {
			{path: "/search", answer: `{"totalHitDocuments":1,"documents":[{"id":OWN-SCAN,`},
			{path: "/search?external-id=E", answer: `{"totalHitDocuments":0,`},
			{path: "/search?document-name-terms=theirs", answer: `{"totalHitDocuments":0,`},
			{path: "/search?folder-name-terms=below", answer: `{"totalHitDocuments":0,`},
			{path: "/search?location-folder-id=THEIR-FOLDER"},
			{path: "/search?location-folder-id=THEIR-INBOX"},
			{path: "/search?location=/Theirs/"},
			{path: "/search?location=INBOX/Theirs"},
		},
	}
}

// inWords is the body, in which files are left out.
func (r tried) inWords() string {
	if r.contentType != asUpload {
		return r.body
	}
	var fields []string
	for _, part := range strings.Split(r.body, "--XX\r\n")[2:] {
		name, value, _ := strings.Cut(part, "\"\r\n\r\n")
		_, name, _ = strings.Cut(name, "name=\"")
		value, _, _ = strings.Cut(value, "\r\n")
		fields = append(fields, name+"="+value)
	}
	return strings.TrimSpace("a file " + strings.Join(fields, "&"))
}
