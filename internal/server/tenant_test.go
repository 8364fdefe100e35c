package server

import (
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Every operation that is given an id of another tenant answers 404, and the others tell
// nothing of it.
func TestOperationsOnAnotherTenant(t *testing.T) {
	s := quiet(t)
	folder, inbox, document, scan := belongings(t, s)
	db, _ := s.db.(several)
	other, err := db.AddTenant(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	ids := strings.NewReplacer("FOLDER", text(folder), "INBOX", text(inbox), "DOCUMENT", text(document), "SCAN", text(scan),
		"PAGE", text(document*pagesPerDocument+1))
	const fields, upload = "application/x-www-form-urlencoded", "multipart/form-data; boundary=XX"
	const file = "--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"a.txt\"\r\n\r\na\r\n--XX\r\n" +
		"Content-Disposition: form-data; name=\"target-folder-id\"\r\n\r\nFOLDER\r\n--XX--\r\n"
	type request struct {
		path, contentType, body string
		answer                  string // of 200; empty: the answer is 404
	}
	requests := map[string][]request{
		"GET /archivestructure": {
			{path: "/archivestructure", answer: `{"free-archive-structure":true,"folders":[]}`},
			{path: "/archivestructure?parent-folder-id=FOLDER"},
			{path: "/archivestructure?parent-folder-id=FOLDER&lazy=true"},
		},
		"GET /document/list": {
			{path: "/document/list?folder-id=FOLDER"}, {path: "/document/list?folder-id=INBOX&subfolders-recursive=true"},
		},
		"POST /file-upload": {
			{path: "/file-upload", contentType: upload, body: file},
			{path: "/file-upload", contentType: upload, body: strings.Replace(strings.Replace(file, "FOLDER", "M/below", 1), "folder-id", "folder-path", 1)},
			{path: "/file-upload", contentType: upload, body: strings.Replace(strings.Replace(file, "FOLDER", "M", 1), "folder-id", "mandator-name", 1)},
		},
		"POST /folder/create": {{path: "/folder/create", contentType: fields, body: "parent-folder-id=FOLDER&folder-name=x"}},
		"GET /inboxes":        {{path: "/inboxes", answer: `{"free-inbox-structure":true,"inboxes":[]}`}},
		"POST /document/{id}/archive": {
			{path: "/document/SCAN/archive", contentType: fields, body: "target-folder-id=FOLDER"},
		},
		"POST /document/auto_export_status/set": {
			{path: "/document/auto_export_status/set", contentType: fields, body: "document-id=DOCUMENT&autoexport-status=true"},
		},
		"GET /document/{id}/data":          {{path: "/document/DOCUMENT/data"}},
		"GET /document/{id}/pdf":           {{path: "/document/DOCUMENT/pdf"}, {path: "/document/DOCUMENT/pdf?original=true"}},
		"HEAD /document/{id}/pdf":          {{path: "/document/DOCUMENT/pdf"}},
		"GET /document/{id}/ocr-result":    {{path: "/document/DOCUMENT/ocr-result"}},
		"GET /page/{id}/ocr-result":        {{path: "/page/PAGE/ocr-result"}},
		"GET /page/{id}/preview":           {{path: "/page/PAGE/preview"}},
		"GET /document/{id}/metadata":      {{path: "/document/DOCUMENT/metadata"}},
		"POST /document/{id}/metadata":     {{path: "/document/DOCUMENT/metadata", contentType: "application/json", body: `{"a":"b"}`}},
		"POST /document/{id}/keywords":     {{path: "/document/DOCUMENT/keywords", contentType: "application/json", body: `["b"]`}},
		"POST /document/{id}/rename":       {{path: "/document/DOCUMENT/rename", contentType: fields, body: "new-name=x"}},
		"POST /document/{id}/replace":      {{path: "/document/SCAN/replace", contentType: upload, body: strings.Split(file, "--XX\r\nContent-Disposition: form-data; name=\"target")[0] + "--XX--\r\n"}},
		"POST /document/{id}/delete":       {{path: "/document/SCAN/delete"}},
		"GET /document/{id}/uploaded-with": {{path: "/document/DOCUMENT/uploaded-with"}},
		"POST /search": {
			{path: "/search", answer: `{"totalHitDocuments":0,"documents":[]}`},
			{path: "/search?location-folder-id=FOLDER"},
			{path: "/search?location=M"},
			{path: "/search?location=INBOX/I"},
		},
	}
	mux := http.NewServeMux()
	for _, route := range s.routes() {
		pattern := route.method + " " + route.path
		mux.Handle(pattern, s.problems(route.handle))
		if len(requests[pattern]) == 0 {
			t.Errorf("%s is not tried", pattern)
		}
	}
	ask := func(who store.TenantID, method string, r request) *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		asked := httptest.NewRequestWithContext(withIdentity(t.Context(), identity{tenant: who}), method, ids.Replace(r.path),
			strings.NewReader(ids.Replace(r.body)))
		asked.Header.Set("Content-Type", r.contentType)
		mux.ServeHTTP(w, asked)
		return w
	}
	for pattern, tried := range requests {
		method, _, _ := strings.Cut(pattern, " ")
		for _, r := range tried {
			w := ask(other, method, r)
			if r.answer == "" && w.Code != http.StatusNotFound || r.answer != "" && (w.Code != http.StatusOK || w.Body.String() != r.answer) {
				t.Errorf("%s %s: %d %s", method, r.path, w.Code, w.Body)
			}
		}
	}
	// The same searches and lists, asked by whom they belong to, find everything as it was.
	for path, want := range map[string]int{"/document/list?folder-id=FOLDER": 1, "/document/list?folder-id=INBOX": 1} {
		w := ask(store.DefaultTenant, http.MethodGet, request{path: path})
		if w.Code != http.StatusOK || strings.Count(w.Body.String(), `"id":`) != want || strings.Contains(w.Body.String(), `"x"`) {
			t.Errorf("%s of the owner: %d %s", path, w.Code, w.Body)
		}
	}
}

// The pages of a search are never those of another tenant's search.
func TestPagesOfASearchAreTheTenantsOwn(t *testing.T) {
	s := quiet(t)
	belongings(t, s)
	db, _ := s.db.(several)
	other, err := db.AddTenant(t.Context(), "other")
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range []string{"0", "1"} {
		for who, want := range map[store.TenantID]string{store.DefaultTenant: `"totalHitDocuments":2`, other: `"totalHitDocuments":0`} {
			w := httptest.NewRecorder()
			r := httptest.NewRequestWithContext(withIdentity(t.Context(), identity{tenant: who}), http.MethodPost,
				"/search?pagination-size=1&pagination-page="+page, nil)
			s.problems(s.search).ServeHTTP(w, r)
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
				t.Errorf("page %s of tenant %d: %d %s", page, who, w.Code, w.Body)
			}
		}
	}
}

// belongings are those of the default tenant: a folder with a document, and an inbox with one.
func belongings(t *testing.T, s *Server) (folder, inbox, document, scan archive.ID) {
	t.Helper()
	ctx := t.Context()
	must := func(id archive.ID, err error) archive.ID {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return id
	}
	folder = must(s.AddFolder(ctx, must(s.AddMandator(ctx, "M")), "below"))
	inbox = must(s.AddInbox(ctx, 1, "I"))
	document = must(s.AddDocument(ctx, NewDocument{Folder: folder, Name: "a.txt", Created: time.Now(), Archived: time.Now()}, strings.NewReader("a")))
	scan = must(s.AddDocument(ctx, NewDocument{Folder: inbox, Name: "scan.txt", Created: time.Now()}, strings.NewReader("scan")))
	return folder, inbox, document, scan
}

func text(id archive.ID) string { return strconv.FormatInt(int64(id), 10) }
