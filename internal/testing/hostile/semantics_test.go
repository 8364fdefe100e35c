package hostile_test

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestUploadGoesWhereItIsTold(t *testing.T) {
	s := hostile.New(hostile.Config{})
	mandator := s.AddMandator("Muster GmbH")
	year := s.AddFolder(s.AddFolder(mandator, "Rechnungen"), "2018")
	inbox := s.AddInbox(7, "Administrator")
	c := start(t, s)
	tests := []struct {
		name     string
		fields   []string
		folder   int64
		archived bool
		status   int
	}{
		{"folder by id", []string{"target-folder-id", strconv.FormatInt(year, 10)}, year, true, 200},
		{"inbox by id", []string{"target-folder-id", strconv.FormatInt(inbox, 10)}, inbox, false, 200},
		{"path from the mandator", []string{"target-folder-path", "/Muster GmbH/Rechnungen/2018/"}, year, true, 200},
		{"path below the mandator", []string{"target-mandator-name", "Muster GmbH", "target-folder-path", "/Rechnungen/2018"}, year, true, 200},
		{"mandator twice", []string{"target-mandator-name", "Muster GmbH", "target-folder-path", "Muster GmbH/Rechnungen/2018"}, year, true, 200},
		{"inbox by path", []string{"target-folder-path", "INBOX/Administrator"}, inbox, false, 200},
		{"unknown id", []string{"target-folder-id", "99"}, 0, false, 404},
		{"unknown path", []string{"target-folder-path", "/Muster GmbH/2018"}, 0, false, 404},
		{"no target", nil, 0, false, 400},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			status, answer := c.upload("scan.pdf", tt.name, tt.fields...)
			if status != tt.status {
				t.Fatalf("answered %d %s", status, answer)
			}
			if status != http.StatusOK {
				return
			}
			docs := s.Documents(tt.folder)
			d := docs[len(docs)-1]
			if answer != strconv.FormatInt(d.ID, 10) || string(d.Content) != tt.name || d.Name != "scan.pdf" || d.Archived.IsZero() == tt.archived {
				t.Errorf("answered %s, made %+v", answer, d)
			}
		})
	}
	noViolations(t, s)
}

func TestUploadFields(t *testing.T) {
	s := hostile.New(hostile.Config{})
	folder := s.AddMandator("M")
	c := start(t, s)
	status, _ := c.upload("x", "", "target-folder-id", "1", "target-document-name", "Name", "keywords", `a,b\,c`,
		"document-types", "Rechnung", "external-id", "e-1", "external-metadatas", `k\=1=v=2\,3,l=`,
		"email-import-order", "EMAIL_ONLY", "force-new-document", "false")
	if status != http.StatusOK {
		t.Fatal(status)
	}
	d := s.Documents(folder)[0]
	if d.Name != "Name" || !slices.Equal(d.Keywords, []string{"a", "b,c"}) || !slices.Equal(d.Types, []string{"Rechnung"}) ||
		d.ExternalID != "e-1" || !maps.Equal(d.Metadata, map[string]string{"k=1": "v=2,3", "l": ""}) {
		t.Errorf("made %+v", d)
	}
	r := s.RequestsTo("POST", "/file-upload")[0]
	if r.FileName != "x" || r.FileSize != 0 || r.Form.Get("external-id") != "e-1" || r.Status != 200 || !r.Handled {
		t.Errorf("recorded %+v", r)
	}
	noViolations(t, s)
}

func TestMailSplits(t *testing.T) {
	mail := "Content-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nHello\r\n" +
		"--b\r\nContent-Disposition: attachment; filename=a.txt\r\nContent-Transfer-Encoding: base64\r\n\r\neA==\r\n--b--\r\n"
	for order, want := range map[string]string{
		"EMAIL_THEN_ATTACHMENTS": "m.eml a.txt", "ATTACHMENTS_THEN_EMAIL": "a.txt m.eml",
		"EMAIL_ONLY": "m.eml", "ATTACHMENTS_ONLY": "a.txt",
	} {
		s := hostile.New(hostile.Config{Upload: hostile.UploadShape{SplitMail: true}})
		folder := s.AddMandator("M")
		start(t, s).upload("m.eml", mail, "target-folder-id", "1", "email-import-order", order)
		var names []string
		for _, d := range s.Documents(folder) {
			names = append(names, d.Name)
			if d.Name == "a.txt" && string(d.Content) != "x" {
				t.Errorf("attachment holds %q", d.Content)
			}
		}
		if got := strings.Join(names, " "); got != want {
			t.Errorf("%s made %s", order, got)
		}
	}
}

func TestArchive(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		s := hostile.New(hostile.Config{ArchiveKeepsID: keeps})
		target, inbox := s.AddMandator("M"), s.AddInbox(1, "A")
		first := s.AddDocument(inbox, hostile.Document{Name: "one", Content: []byte("1"), Keywords: []string{"a"}})
		second := s.AddDocument(inbox, hostile.Document{Name: "two"})
		c := start(t, s)
		path := func(id int64) string { return "/document/" + strconv.FormatInt(id, 10) + "/archive" }
		if status, _ := c.post(path(first), "target-folder-id", "1", "keywords", "a,b"); status != http.StatusOK {
			t.Fatal(status)
		}
		if status, _ := c.post(path(second), "target-folder-path", "/M", "target-document-name", "zwei"); status != http.StatusOK {
			t.Fatal(status)
		}
		docs := s.Documents(target)
		if len(docs) != 2 || len(s.Documents(inbox)) != 0 {
			t.Fatalf("archived %+v", docs)
		}
		if d := docs[0]; d.Name != "one" || string(d.Content) != "1" || strings.Join(d.Keywords, " ") != "a b" ||
			d.Archived.IsZero() || (d.ID == first) != keeps || docs[1].Name != "zwei" {
			t.Errorf("archived %+v", docs)
		}
		if status, _ := c.post(path(docs[0].ID), "target-folder-id", "1"); status != http.StatusBadRequest {
			t.Errorf("archiving twice answered %d", status)
		}
		noViolations(t, s)
	}
}

func TestListFilters(t *testing.T) {
	s := hostile.New(hostile.Config{})
	folder := s.AddMandator("M")
	s.AddDocument(folder, hostile.Document{Name: "old", Metadata: map[string]string{"a": "1", "b": "2"}, AutoExport: true})
	s.AddDocument(s.AddFolder(folder, "sub"), hostile.Document{Name: "below"})
	c := start(t, s)
	if got := c.list("/document/list?folder-id=1"); len(got) != 1 || got[0]["name"] != "old" || got[0]["autoexport-status"] != nil {
		t.Errorf("listed %v", got)
	}
	if got := c.list("/document/list?folder-id=1&subfolders-recursive=true"); len(got) != 2 || got[1]["folder-id"] != 2.0 {
		t.Errorf("listed %v", got)
	}
	if got := c.list("/document/list?folder-id=1&with-autoexport-status=true"); got[0]["autoexport-status"] != true {
		t.Errorf("listed %v", got)
	}
	for date, want := range map[string]int{"2023-11-22": 1, "2023-11-23": 0} {
		if got := c.list("/document/list?folder-id=1&filter-date-created-after=" + date); len(got) != want {
			t.Errorf("after %s listed %v", date, got)
		}
	}
	for query, want := range map[string]int{"included-metadata-keys=b": 1, "excluded-matadata-keys=b,c": 1, "excluded-matadata-keys=a,b": 0} {
		if got := c.list("/document/list?folder-id=1&" + query); len(got[0]["external-metadata"].([]any)) != want {
			t.Errorf("%s listed %v", query, got)
		}
	}
	noViolations(t, s)
}

func TestChanges(t *testing.T) {
	s := hostile.New(hostile.Config{})
	s.AddMandator("M")
	s.AddInbox(1, "A")
	archived := s.AddDocument(1, hostile.Document{Name: "archived"})
	waiting := s.AddDocument(2, hostile.Document{Name: "waiting", Keywords: []string{"k"}})
	c := start(t, s)
	check := func(what string, got, want int) {
		t.Helper()
		if got != want {
			t.Errorf("%s answered %d instead of %d", what, got, want)
		}
	}
	send := func(path, body string) int {
		resp, _ := c.ask("POST", path, "application/json", strings.NewReader(body))
		return resp.StatusCode
	}
	replace := func(path string) int {
		kind, body := multipartBody(t, "x", "new")
		resp, _ := c.ask("POST", path, kind, body)
		return resp.StatusCode
	}
	remove := func(path string) int {
		resp, _ := c.ask("POST", path, "", nil)
		return resp.StatusCode
	}
	status, answer := c.post("/folder/create", "parent-folder-id", "1", "folder-name", "new")
	check("folder create", status, 200)
	if answer != `{"id":3,"name":"new"}` || s.Folders(1)[0].Name != "new" || s.InboxFolders()[0].ID != 2 {
		t.Errorf("folder create answered %s", answer)
	}
	status, _ = c.post("/folder/create", "parent-folder-id", "1", "folder-name", "new")
	check("folder create again", status, 409)
	status, _ = c.post("/document/auto_export_status/set", "document-id", "1", "autoexport-status", "true")
	check("auto-export", status, 200)
	status, _ = c.post("/document/1/rename", "new-name", "renamed")
	check("rename", status, 200)
	check("metadata", send("/document/1/metadata", `{"a":"1"}`), 200)
	check("metadata of another type", send("/document/1/metadata", `["a"]`), 400)
	check("keywords", send("/document/2/keywords", `["x","y"]`), 200)
	check("replace archived", replace("/document/1/replace"), 403)
	check("replace", replace("/document/2/replace?keywords=z"), 200)
	if d, _ := s.Document(archived); d.Name != "renamed" || !d.AutoExport || d.Metadata["a"] != "1" {
		t.Errorf("changed to %+v", d)
	}
	if d, _ := s.Document(waiting); string(d.Content) != "new" || strings.Join(d.Keywords, " ") != "x y z" {
		t.Errorf("changed to %+v", d)
	}
	check("delete archived", remove("/document/1/delete"), 403)
	check("delete", remove("/document/2/delete"), 200)
	check("delete again", remove("/document/2/delete"), 404)
	noViolations(t, s)
}
