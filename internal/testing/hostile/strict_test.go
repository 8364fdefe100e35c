package hostile_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestViolations(t *testing.T) {
	const urlencoded = "application/x-www-form-urlencoded"
	file, whole := multipartBody(t, "x", "content", "target-folder-id", "1", "colour", "red", "email-import-order", "SOMEHOW")
	tests := []struct {
		name, method, path, kind, body string
		want                           string // part of the violation
	}{
		{"other name", "GET", "/document/list?folder-id=1&excluded-metadata-keys=a", "", "", `unknown query parameter "excluded-metadata-keys"`},
		{"missing", "GET", "/document/list", "", "", `query parameter "folder-id" is missing`},
		{"not of the type", "GET", "/archivestructure?lazy=1", "", "", `"lazy" has a value of the wrong type`},
		{"not a date", "GET", "/document/list?folder-id=1&filter-date-created-after=2020-1-1", "", "", "wrong type"},
		{"twice", "GET", "/archivestructure?lazy=true&lazy=true", "", "", "sent 2 times"},
		{"parameter where none is", "GET", "/inboxes?lazy=true", "", "", "unknown query parameter"},
		{"body of a GET", "GET", "/inboxes", "", "x", "a body where none is taken"},
		{"query of a POST", "POST", "/folder/create?folder-name=a", urlencoded, "parent-folder-id=1", "unknown query parameter"},
		{"form of a POST incomplete", "POST", "/folder/create", urlencoded, "parent-folder-id=1", `"folder-name" is missing`},
		{"other encoding", "POST", "/folder/create", "application/json", "{}", "Content-Type"},
		{"no encoding", "POST", "/document/1/archive", "", "target-folder-id=1", "Content-Type"},
		{"id", "GET", "/document/one/data", "", "", "id in the path"},
		{"upload no multipart", "POST", "/file-upload", urlencoded, "target-folder-id=1", "Content-Type"},
		{"upload field", "POST", "/file-upload", file, whole.String(), `unknown form field "colour"`},
		{"import order", "POST", "/file-upload", file, whole.String(), `"email-import-order" has a value of the wrong type`},
		{"upload cut short", "POST", "/file-upload", file, whole.String()[:whole.Len()-10], "malformed"},
		{"upload without file", "POST", "/file-upload", "multipart/form-data; boundary=b", "--b--\r\n", "upload-data is missing"},
		{"rename field", "POST", "/document/1/rename", urlencoded, "name=x", `unknown form field "name"`},
		{"unknown path", "GET", "/documents", "", "", "no such operation"},
		{"other method", "POST", "/inboxes", "", "", "no such operation"},
	}
	s := hostile.New(hostile.Config{})
	s.AddDocument(s.AddMandator("M"), hostile.Document{})
	c := start(t, s)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s.Reset()
			resp, _ := c.ask(tt.method, tt.path, tt.kind, strings.NewReader(tt.body))
			if resp.StatusCode != http.StatusBadRequest && resp.StatusCode != http.StatusNotFound {
				t.Errorf("answered %d", resp.StatusCode)
			}
			if !slices.ContainsFunc(s.Violations(), func(v string) bool { return strings.Contains(v, tt.want) }) {
				t.Errorf("noted %q", s.Violations())
			}
		})
	}
	s.Reset()
	if status, _ := c.get("/inboxes", "Accept", "text/html"); status != http.StatusBadRequest || len(s.Violations()) != 1 {
		t.Errorf("without Accept answered %d and noted %q", status, s.Violations())
	}
}

func TestCredentials(t *testing.T) {
	basic := "Basic dTpw" // u:p
	setA := hostile.Credentials{APIKey: "k", User: "u", Password: "p"}
	setB := hostile.Credentials{APIKey: "k", CloudID: "c"}
	alone := hostile.Credentials{APIKey: "k"}
	tests := []struct {
		name   string
		want   hostile.Credentials
		header []string
		status int
		noted  int
	}{
		{"A", setA, []string{"API-Key", "k", "Authorization", basic}, 200, 0},
		{"B", setB, []string{"API-Key", "k", "Cloud-ID", "c"}, 200, 0},
		{"key alone", alone, []string{"API-Key", "k"}, 200, 0},
		{"any", hostile.Credentials{}, nil, 200, 0},
		{"none", setA, nil, 401, 0},
		{"wrong key", alone, []string{"API-Key", "x"}, 401, 0},
		{"wrong password", setA, []string{"API-Key", "k", "Authorization", "Basic dTp4"}, 401, 0},
		{"half of A", setA, []string{"API-Key", "k"}, 401, 0},
		{"B for A", setA, []string{"API-Key", "k", "Cloud-ID", "c"}, 401, 0},
		{"more than the key", alone, []string{"API-Key", "k", "Cloud-ID", "c"}, 401, 0},
		{"mixed", setB, []string{"API-Key", "k", "Cloud-ID", "c", "Authorization", basic}, 401, 1},
		{"mixed for any", hostile.Credentials{}, []string{"Cloud-ID", "c", "Authorization", basic}, 401, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := hostile.New(hostile.Config{Credentials: tt.want})
			status, _ := start(t, s).get("/inboxes", tt.header...)
			if status != tt.status || len(s.Violations()) != tt.noted {
				t.Errorf("answered %d and noted %q", status, s.Violations())
			}
		})
	}
}

// Each operation that the embedded service describes can be asked for, or is known to be absent.
func TestEveryOperationIsKnown(t *testing.T) {
	text, err := os.ReadFile("../../server/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	for path, item := range described.Paths {
		if item["servers"] != nil || path == "/openapi.json" { // public
			continue
		}
		delete(item, "parameters")
		for method := range item {
			s := full(hostile.Config{})
			start(t, s).ask(strings.ToUpper(method), regexp.MustCompile(`{\w+}`).ReplaceAllString(path, "1"), "", nil)
			if why := fmt.Sprint(s.Violations()); strings.Contains(why, "no such operation") {
				t.Errorf("%s %s: %s", method, path, why)
			}
		}
	}
}

func TestMissingOperations(t *testing.T) {
	s := hostile.New(hostile.Config{Without: []string{"GET /document/{id}/pdf"}, WithoutStatus: http.StatusNotImplemented})
	s.AddDocument(s.AddMandator("M"), hostile.Document{})
	c := start(t, s)
	for path, want := range map[string]int{"/document/1/pdf": 501, "/document/1/metadata": 200, "/page/1/ocr-result": 501} {
		if status, _ := c.get(path); status != want {
			t.Errorf("%s answered %d", path, status)
		}
	}
	s.Configure(func(cfg *hostile.Config) { cfg.OnlyEight, cfg.WithoutStatus = true, 0 })
	for path, want := range map[string]int{"/document/1/metadata": 404, "/document/1/data": 200} {
		if status, _ := c.get(path); status != want {
			t.Errorf("%s answered %d", path, status)
		}
	}
	noViolations(t, s)
}
