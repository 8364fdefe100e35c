package hostile_test

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// full returns a service with one of everything: folder 1 with 2 below it, inbox 3,
// document 1 in folder 1, document 2 in the inbox.
func full(cfg hostile.Config) *hostile.Service {
	s := hostile.New(cfg)
	s.AddFolder(s.AddMandator("M"), "sub")
	s.AddInbox(7, "A")
	s.AddDocument(1, hostile.Document{
		Name: "doc", Content: []byte("0123456789"), Keywords: []string{"a", "b,c"}, ExternalID: "17",
		Metadata: map[string]string{"k": "1.50"}, Notes: []string{"n"}, Archived: time.Unix(1700000000, 0).UTC(),
	})
	s.AddDocument(3, hostile.Document{Name: "scan"})
	return s
}

// TestShapes holds each knob to the JSON that it is about.
func TestShapes(t *testing.T) {
	const (
		structure = "/archivestructure"
		below     = "/archivestructure?parent-folder-id=1"
		lazy      = "/archivestructure?lazy=true"
		lazyBelow = "/archivestructure?parent-folder-id=1&lazy=true"
		list      = "/document/list?folder-id=1&with-autoexport-status=true"
		inboxDocs = "/document/list?folder-id=3"
		data      = "/document/1/data"
	)
	sub := `{"folders":[],"id":2,"name":"sub"}`
	tests := []struct {
		name      string
		cfg       hostile.Config
		path      string
		want, not string // parts of the answer, or not
	}{
		{"whole", hostile.Config{}, structure, `{"folders":[{"folders":[` + sub + `],"id":1,"name":"M"}],"free-archive-structure":true}`, ""},
		{"children", hostile.Config{}, below, `{"folders":[` + sub + `],"free-archive-structure":true}`, ""},
		{"parent itself", hostile.Config{Structure: hostile.StructureShape{Parent: hostile.ParentItself}}, lazyBelow, `{"folders":[{"folders":[` + sub + `],"id":1`, ""},
		{"parent alone", hostile.Config{Structure: hostile.StructureShape{Parent: hostile.ParentAlone}}, lazyBelow, `{"folders":[{"folders":[],"id":1`, "sub"},
		{"lazy empty", hostile.Config{}, lazy, `"folders":[],"id":1`, "sub"},
		{"lazy null", hostile.Config{Structure: hostile.StructureShape{LazyChildren: hostile.Null}}, lazy, `"folders":null,"id":1`, "sub"},
		{"lazy absent", hostile.Config{Structure: hostile.StructureShape{LazyChildren: hostile.Absent}}, lazy, `[{"id":1`, "sub"},
		{"lazy ignored", hostile.Config{Structure: hostile.StructureShape{LazyIgnored: true}}, lazy, sub, ""},
		{"leaf null", hostile.Config{Structure: hostile.StructureShape{Leaf: hostile.Null}}, structure, `{"folders":null,"id":2`, ""},
		{"not free", hostile.Config{Structure: hostile.StructureShape{Free: hostile.FreeFalse}}, structure, `"free-archive-structure":false`, ""},
		{"free absent", hostile.Config{Structure: hostile.StructureShape{Free: hostile.FreeAbsent}}, structure, "", "free"},
		{"inboxes", hostile.Config{}, "/inboxes", `"inboxes":[{"folder":{"folders":[],"id":3,"name":"A"},"user-id":7}]`, ""},
		{"inboxes bare", hostile.Config{Inboxes: hostile.InboxShape{Folders: true, Bare: true}}, "/inboxes", `"folders":[{"folders":[],"id":3,"name":"A"}]`, "user-id"},
		{"single inbox", hostile.Config{Singles: true}, "/inboxes", `"inboxes":{"folder":`, ""},
		{"ids as strings", hostile.Config{StringIDs: true}, "/inboxes", `"id":"3","name":"A"},"user-id":"7"`, ""},
		{"null entries", hostile.Config{NullEntries: true}, "/inboxes", `,null]`, ""},
		{"extra fields", hostile.Config{ExtraFields: true}, structure, `"x-unknown":`, ""},
		{"byte order mark", hostile.Config{BOM: true}, structure, "\ufeff{", ""},
		{"list", hostile.Config{}, list, `"autoexport-status":false,"creation-date":"2023-11-22T14:14:29","external-metadata":[{"key":"k","value":"1.50"}],"folder-id":1,"id":1,"keywords":["a","b,c"]`, "content-length"},
		{"never archived", hostile.Config{}, inboxDocs, `"scan"`, "archiving-date"},
		{"never archived null", hostile.Config{List: hostile.ListShape{NeverArchived: hostile.Null}}, inboxDocs, `"archiving-date":null`, ""},
		{"keywords text", hostile.Config{List: hostile.ListShape{Keywords: hostile.KeywordText}}, list, `"keywords":"a,b\\,c"`, ""},
		{"auto-export", hostile.Config{List: hostile.ListShape{AutoExport: "autoExportStatus", AutoExportText: true}}, list, `"autoExportStatus":"false"`, "autoexport-status"},
		{"metadata object", hostile.Config{Numbers: true, List: hostile.ListShape{Metadata: hostile.MetadataObject}}, list, `"external-metadata":{"k":1.50}`, ""},
		{"metadata single", hostile.Config{Singles: true}, list, `"external-metadata":{"key":"k","value":"1.50"}`, ""},
		{"sizes", hostile.Config{List: hostile.ListShape{Sizes: true, SizeSkew: 1}}, list, `"content-length":11,"content-type":"application/octet-stream"`, ""},
		{"folder id null", hostile.Config{List: hostile.ListShape{FolderID: hostile.Null}}, list, `"folder-id":null`, ""},
		{"empty list", hostile.Config{}, "/document/list?folder-id=2", "[]", ""},
		{"empty list null", hostile.Config{List: hostile.ListShape{EmptyNull: true}}, "/document/list?folder-id=2", "null", "["},
		{"data", hostile.Config{}, data, `"creationDate":"2023-11-22 14:14:29","creatorId":1,"creatorName":"Administrator","external":{"externalId":"17","metadata":{"k":"1.50"}},"folderId":1,"folderPath":"/"`, ""},
		{"data single", hostile.Config{Singles: true}, data, `"notes":{"creatorId":1`, ""},
		{"data numbers", hostile.Config{Numbers: true}, data, `"externalId":17`, ""},
		{"data without external id", hostile.Config{Data: hostile.DataShape{HideExternalID: true}}, data, `"metadata"`, "externalId"},
		{"data external null", hostile.Config{Data: hostile.DataShape{External: hostile.Null}}, data, `"external":null`, ""},
		{"inbox data", hostile.Config{}, "/document/2/data", `"folderPath":"INBOX/A/"`, "mandator"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := full(tt.cfg)
			status, body := start(t, s).get(tt.path)
			if status != http.StatusOK || !strings.Contains(body, tt.want) || tt.not != "" && strings.Contains(body, tt.not) {
				t.Errorf("answered %d %s", status, body)
			}
			noViolations(t, s)
		})
	}
}

func TestDateForms(t *testing.T) {
	want := []string{
		`"2023-11-22T14:14:29"`, `"2023-11-22T14:14:29"`, `"2023-11-22 14:14:29"`, `"2023-11-22T14:14:29.000"`, `"2023-11-22T14:14"`,
		`"2023-11-22T14:14:29Z"`, `"2023-11-22T14:14:29+01:00"`, `"2023-11-22"`, "1700662469000", `""`, "null", "", `"soon"`,
	}
	s := full(hostile.Config{})
	c := start(t, s)
	for i, form := range hostile.DateForms() {
		s.Configure(func(cfg *hostile.Config) { cfg.List.Dates = form })
		var docs []map[string]json.RawMessage
		_, body := c.get("/document/list?folder-id=1")
		if err := json.Unmarshal([]byte(body), &docs); err != nil {
			t.Fatal(err)
		}
		if got := string(docs[0]["creation-date"]); got != want[i] {
			t.Errorf("form %d is %s instead of %s", form, got, want[i])
		}
	}
}

func TestUploadAnswers(t *testing.T) {
	for answer, want := range map[hostile.UploadAnswer]string{
		hostile.UploadText: "1", hostile.UploadLine: "1\r\n", hostile.UploadNumber: "1",
		hostile.UploadString: `"1"`, hostile.UploadObject: `{"id":1}`, hostile.UploadEmpty: "",
		hostile.UploadOK: "OK", hostile.UploadJob: "1000001",
	} {
		s := hostile.New(hostile.Config{Upload: hostile.UploadShape{Answer: answer}, WriteStatus: http.StatusCreated})
		s.AddMandator("M")
		if status, got := start(t, s).upload("x", "x", "target-folder-id", "1"); status != http.StatusCreated || got != want {
			t.Errorf("answer %d is %d %q", answer, status, got)
		}
	}
}

func TestUploadTwice(t *testing.T) {
	for same, want := range map[hostile.SameExternalID]struct{ status, documents int }{
		hostile.SameMakesNew: {200, 2}, hostile.SameKeepsOld: {200, 1}, hostile.SameConflicts: {409, 1},
	} {
		s := hostile.New(hostile.Config{Upload: hostile.UploadShape{SameExternalID: same}})
		c, folder := start(t, s), s.AddMandator("M")
		c.upload("x", "x", "target-folder-id", "1", "external-id", "e")
		status, _ := c.upload("x", "x", "target-folder-id", "1", "external-id", "e")
		if status != want.status || len(s.Documents(folder)) != want.documents {
			t.Errorf("%d answered %d and made %d", same, status, len(s.Documents(folder)))
		}
	}
}

func TestErrorBodies(t *testing.T) {
	for body, want := range map[hostile.ErrorBody]string{
		hostile.ErrorProblem: `"detail":`, hostile.ErrorMessage: `"message":`, hostile.ErrorField: `"error":`, hostile.ErrorText: "there is",
		hostile.ErrorHTML: "<h1>", hostile.ErrorEmpty: "", hostile.ErrorHuge: "much ado", hostile.ErrorControl: "\x1b]0;",
		hostile.ErrorEcho: "key secret", hostile.ErrorMistyped: `{"message": "there`,
	} {
		s := hostile.New(hostile.Config{Errors: body})
		status, got := start(t, s).get("/document/9/data", "API-Key", "secret")
		if status != http.StatusNotFound || !strings.Contains(got, want) || body == hostile.ErrorEmpty && got != "" {
			t.Errorf("body %d is %d %.80q", body, status, got)
		}
	}
}

func TestGzip(t *testing.T) {
	s := full(hostile.Config{Gzip: hostile.GzipAccepted, CloseConnections: true})
	c := start(t, s)
	if _, body := c.get("/inboxes"); !strings.HasPrefix(body, "{") {
		t.Errorf("unasked for answered %q", body)
	}
	resp, body := c.ask("GET", "/inboxes", "", nil, "Accept-Encoding", "gzip")
	z, err := gzip.NewReader(bytes.NewReader([]byte(body)))
	if err != nil || resp.Header.Get("Content-Encoding") != "gzip" || !resp.Close {
		t.Fatalf("answered %v (%v)", resp.Header, err)
	}
	if plain, err := io.ReadAll(z); err != nil || !strings.HasPrefix(string(plain), "{") {
		t.Errorf("unpacked %q (%v)", plain, err)
	}
}

func TestOddNamesSurviveJSON(t *testing.T) {
	s := hostile.New(hostile.Config{})
	folder := s.AddMandator("M")
	for _, name := range hostile.OddNames() {
		s.AddDocument(folder, hostile.Document{Name: name})
	}
	var got []string
	for _, d := range start(t, s).list("/document/list?folder-id=1") {
		got = append(got, d["name"].(string))
	}
	if !slices.Equal(got, hostile.OddNames()) {
		t.Errorf("listed %q", got)
	}
}
