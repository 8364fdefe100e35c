package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
)

func TestDocumentData(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	want := fmt.Sprintf(`{"id":%d,"name":"a","numPages":1,"mandator":"Muster GmbH","folderId":%d,"folderPath":"/Rechnungen/2018/",`+
		`"creationDate":"2023-11-22 14:14:29","creatorId":0,"creatorName":"","keywords":["paid","x,y"],"classification":["invoice"],`+
		`"external":{"externalId":"ext-a","metadata":{"amount":"2,50","number":"1"}},"workflows":[],"pages":[{"id":%d,"hit":false,`+
		`"notes":[{"text":"note on a","date":"2023-12-01 10:00:00","creatorId":0,"creatorName":"Eve"}],`+
		`"stamps":[{"title":"PAID","text":"today","date":"","creatorId":0,"creatorName":""}]}],"textState":"waiting"}`, o.a, o.year, int64(o.a)<<16+1)
	if a := h.get("/document/" + text(o.a) + "/data"); a.status != http.StatusOK || strings.Replace(a.body, `"textState":"yes"`, `"textState":"waiting"`, 1) != want {
		t.Errorf("got  %d %s\nwant %s", a.status, a.body, want)
	}
	waiting := h.get("/document/" + text(o.scan) + "/data").body
	if !strings.Contains(waiting, `"mandator":"","folderId":5,"folderPath":"INBOX/Administrator/"`) {
		t.Errorf("in an inbox: %s", waiting)
	}
	bare := h.uploaded("bare", "x", "target-folder-id", text(o.mandator))
	got := h.get("/document/" + text(bare) + "/data").body
	for _, part := range []string{`"folderPath":"/"`, `"keywords":[]`, `"classification":[]`, `"metadata":{}`, `"notes":[],"stamps":[]`} {
		if !strings.Contains(got, part) {
			t.Errorf("%s is not in %s", part, got)
		}
	}
	wantProblem(t, h.get("/document/999/data"), http.StatusNotFound, "id")
	wantProblem(t, h.get("/document/1e3/data"), http.StatusBadRequest, "id")
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	path := "/document/" + text(o.a) + "/metadata"
	for _, step := range []struct{ change, want string }{
		{`{}`, `{"amount":"2,50","number":"1"}`},
		{`{"number":"2"}`, `{"amount":"2,50","number":"2"}`},
		{`{"zeta":"z","alpha":"","number":null,"absent":null}`, `{"alpha":"","amount":"2,50","zeta":"z"}`},
	} {
		if a := h.postJSON(path, step.change); a.status != http.StatusOK || a.body != "" {
			t.Fatalf("%s: %d %s", step.change, a.status, a.body)
		}
		if a := h.get(path); a.body != step.want {
			t.Errorf("after %s: %s, want %s", step.change, a.body, step.want)
		}
	}
	var order strings.Builder
	for _, pair := range h.list(o.year)[0].Metadata {
		order.WriteString(pair.Key + " ")
	}
	if order.String() != "amount alpha zeta " {
		t.Errorf("order %q", order.String())
	}
	for _, bad := range []string{``, `null`, `[]`, `{"a":1}`, `{"":"x"}`, `{"a":"b"`, `"x"`} {
		wantProblem(t, h.postJSON(path, bad), http.StatusBadRequest, "")
	}
	wantProblem(t, h.postJSON(path, `{"a":"`+strings.Repeat("x", 1<<20)+`"}`), http.StatusRequestEntityTooLarge, "")
	wantProblem(t, h.post(path, "a", "b"), http.StatusBadRequest, "")
	wantProblem(t, h.postJSON("/document/999/metadata", `{}`), http.StatusNotFound, "id")
	wantProblem(t, h.get("/document/999/metadata"), http.StatusNotFound, "id")
}

func TestKeywords(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	path := "/document/" + text(o.scan) + "/keywords"
	for _, bad := range []string{``, `null`, ` null `, `[null]`, `["a",null]`, `{"a":"b"}`, `[1]`, `["a"`} {
		a := h.postJSON(path, bad)
		wantProblem(t, a, http.StatusBadRequest, "")
		if strings.Contains(a.body, "Go value") {
			t.Errorf("%s: the answer speaks of the program: %s", bad, a.body)
		}
	}
	if got := h.list(o.inbox)[0].Keywords; !slices.Equal(got, []string{"paid", "x,y"}) {
		t.Errorf("what was refused left the keywords %q", got)
	}
	for _, step := range []struct{ body, want string }{
		{`["b"," a ","b","","x,y"]`, `["b","a","x,y"]`},
		{`[]`, `[]`},
	} {
		if a := h.postJSON(path, step.body); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", step.body, a.status, a.body)
		}
		if got := h.get("/document/" + text(o.scan) + "/data").body; !strings.Contains(got, `"keywords":`+step.want) {
			t.Errorf("after %s: %s", step.body, got)
		}
	}
	wantProblem(t, h.postJSON("/document/999/keywords", `[]`), http.StatusNotFound, "id")
}

func TestRename(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	if a := h.post("/document/"+text(o.c)+"/rename", "new-name", "Rechnung/1 – ü"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if d := h.list(o.invoices)[0]; d.Name != "Rechnung/1 – ü" || d.ID != o.c {
		t.Errorf("renamed %+v", d)
	}
	wantProblem(t, h.post("/document/"+text(o.c)+"/rename", "new-name", ""), http.StatusBadRequest, "new-name")
	wantProblem(t, h.post("/document/"+text(o.c)+"/rename", "new-name", "a\x00b"), http.StatusBadRequest, "new-name")
	wantProblem(t, h.post("/document/999/rename", "new-name", "x"), http.StatusNotFound, "id")
}

// The data of a document has its changes and their authors, and keeps them when it is archived.
func TestHistory(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) {
		o.Credentials = server.Credentials{APIKey: testKey, User: "eve", Password: "secret", CloudID: "c"}
	})
	o := furnish(t, h)
	eve := []string{"Authorization", "Basic " + base64.StdEncoding.EncodeToString([]byte("eve:secret"))}
	form := "application/x-www-form-urlencoded"
	scan := "/document/" + text(o.scan)
	h.send(http.MethodPost, scan+"/rename", form, strings.NewReader("new-name=Invoice"), eve...)
	h.send(http.MethodPost, scan+"/metadata", "application/json", strings.NewReader(`{"number":"7"}`), "Cloud-ID", "c")
	h.send(http.MethodPost, scan+"/archive", form, strings.NewReader("target-folder-id="+text(o.year)), eve...)
	made := o.scan
	for _, d := range decode[[]element](t, h.get("/document/list?folder-id="+text(o.year), eve...)) {
		made = max(made, d.ID)
	}
	type change struct{ Date, UserName, Action, Key, OldValue, NewValue string }
	data := decode[struct{ History []change }](t, h.get("/document/"+text(made)+"/data", eve...))
	for i, c := range data.History {
		if at, err := time.Parse(time.DateTime, c.Date); err != nil || time.Since(at) > time.Hour {
			t.Errorf("%+v", c)
		}
		data.History[i].Date = ""
	}
	want := []change{
		{"", "eve", "archive", "", "INBOX/Administrator/Invoice", "/Muster GmbH/Rechnungen/2018/Invoice"},
		{"", "", "metadata", "number", "1", "7"},
		{"", "eve", "name", "", "scan", "Invoice"},
	}
	if !slices.Equal(data.History, want) {
		t.Errorf("got  %+v\nwant %+v", data.History, want)
	}
}

// However often metadata is added, a document never has more than a list can return.
func TestMetadataDoesNotGrowForEver(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	path := "/document/" + text(o.a) + "/metadata"
	const quarter = `{"%[1]da":"%[2]s","%[1]db":"%[2]s","%[1]dc":"%[2]s","%[1]dd":"%[2]s"}`
	value := strings.Repeat("v", 60_000)
	for n := range 4 {
		if a := h.postJSON(path, fmt.Sprintf(quarter, n, value)); a.status != http.StatusOK {
			t.Fatalf("%d: %d %s", n, a.status, a.body)
		}
	}
	before := h.get(path).body
	wantProblem(t, h.postJSON(path, fmt.Sprintf(quarter, 4, value)), http.StatusRequestEntityTooLarge, "metadata")
	many := map[string]string{}
	for n := range 998 { // beside the two of furnish
		many[strconv.Itoa(n)] = ""
	}
	body, err := json.Marshal(many)
	if err != nil {
		t.Fatal(err)
	}
	wantProblem(t, h.postJSON(path, string(body)), http.StatusRequestEntityTooLarge, "metadata")
	if h.get(path).body != before {
		t.Error("what was refused has changed something")
	}
	if a := h.postJSON(path, `{"0a":null,"0b":"short"}`); a.status != http.StatusOK {
		t.Errorf("a change to less: %d %s", a.status, a.body)
	}
}
