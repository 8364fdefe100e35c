package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestArchive(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name     string
		fields   func(o office) []string
		folder   func(o office) archive.ID
		wantName string
		keywords []string
	}{
		{
			"by id, keeps its name", func(o office) []string { return []string{"target-folder-id", text(o.other)} },
			func(o office) archive.ID { return o.other }, "scan",
			[]string{"paid", "x,y"},
		},
		{"by path, new name", func(office) []string {
			return []string{"target-folder-path", "/Other AG/", "target-document-name", "Invoice"}
		}, func(o office) archive.ID { return o.other }, "Invoice", []string{"paid", "x,y"}},
		{"below mandator, keywords are added once", func(office) []string {
			return []string{"target-folder-path", "/", "target-mandator-name", "Other AG", "keywords", `new,paid,x\,y,new`}
		}, func(o office) archive.ID { return o.other }, "scan", []string{"paid", "x,y", "new"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := start(t)
			o := furnish(t, h)
			if a := h.post("/document/"+text(o.scan)+"/archive", test.fields(o)...); a.status != http.StatusOK || a.body != "" {
				t.Fatalf("%d %s", a.status, a.body)
			}
			if left := h.list(o.inbox); len(left) != 0 {
				t.Errorf("still in the inbox: %v", left)
			}
			documents := h.list(test.folder(o))
			if len(documents) != 1 {
				t.Fatalf("archived: %v", documents)
			}
			d := documents[0]
			if d.ID == o.scan || d.Name != test.wantName || d.Archived == nil || d.Created != "2023-11-22T14:14:29" || !slices.Equal(d.Keywords, test.keywords) {
				t.Errorf("archived %+v", d)
			}
			data := h.get("/document/" + text(d.ID) + "/data").body
			for _, want := range []string{`"note on scan"`, `"PAID"`, `"ext-scan"`, `"invoice"`} {
				if !strings.Contains(data, want) {
					t.Errorf("%s is not in %s", want, data)
				}
			}
			if a := h.get("/document/" + text(d.ID) + "/pdf?original=true"); a.body != "content of scan" {
				t.Errorf("content %q", a.body)
			}
			wantProblem(t, h.get("/document/"+text(o.scan)+"/data"), http.StatusNotFound, "id")
			wantProblem(t, h.post("/document/"+text(o.scan)+"/archive", test.fields(o)...), http.StatusNotFound, "id")
		})
	}
}

func TestArchiveRefuses(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	scan := text(o.scan)
	for _, test := range []struct {
		name, id string
		fields   []string
		status   int
		field    string
	}{
		{"archived already", text(o.a), []string{"target-folder-id", text(o.other)}, 409, "id"},
		{"unknown document", "999", []string{"target-folder-id", text(o.other)}, 404, "id"},
		{"id no integer", "x", []string{"target-folder-id", text(o.other)}, 400, "id"},
		{"no target", scan, []string{"target-mandator-name", "Other AG"}, 400, "target-folder-id"},
		{"an inbox", scan, []string{"target-folder-id", text(o.later)}, 400, "target-folder-id"},
		{"unknown folder", scan, []string{"target-folder-id", "999"}, 404, "target-folder-id"},
		{"unknown path", scan, []string{"target-folder-path", "/Nobody"}, 404, "target-folder-path"},
		{"other mandator", scan, []string{"target-folder-id", text(o.year), "target-mandator-name", "Other AG"}, 400, "target-mandator-name"},
		{"keywords", scan, []string{"target-folder-id", text(o.year), "keywords", `\`}, 400, "keywords"},
		{"name", scan, []string{"target-folder-id", text(o.year), "target-document-name", "\xff"}, 400, "target-document-name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantProblem(t, h.post("/document/"+test.id+"/archive", test.fields...), test.status, test.field)
		})
	}
	if got := names(h.list(o.inbox)); !slices.Equal(got, []string{"scan"}) {
		t.Errorf("inbox %v", got)
	}
	wantProblem(t, h.postJSON("/document/"+scan+"/archive", "{}"), http.StatusBadRequest, "")
}

func TestAutoExportStatus(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	for _, want := range []bool{true, false, true} {
		value := map[bool]string{true: "true", false: "false"}[want]
		if a := h.post("/document/auto_export_status/set", "document-id", text(o.c), "autoexport-status", value); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		if d := h.list(o.invoices, "&with-autoexport-status=true")[0]; d.AutoExport == nil || *d.AutoExport != want {
			t.Errorf("status %v, want %v", d.AutoExport, want)
		}
	}
	set := func(fields ...string) answer { return h.post("/document/auto_export_status/set", fields...) }
	wantProblem(t, set("document-id", "999", "autoexport-status", "true"), http.StatusNotFound, "document-id")
	wantProblem(t, set("autoexport-status", "true"), http.StatusBadRequest, "document-id")
	wantProblem(t, set("document-id", text(o.c)), http.StatusBadRequest, "autoexport-status")
	wantProblem(t, set("document-id", text(o.c), "autoexport-status", "maybe"), http.StatusBadRequest, "autoexport-status")
}

func TestDelete(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	before := h.kept()
	wantProblem(t, h.post("/document/"+text(o.a)+"/delete"), http.StatusForbidden, "id")
	wantProblem(t, h.post("/document/999/delete"), http.StatusNotFound, "id")
	if a := h.post("/document/" + text(o.scan) + "/delete"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if left := h.list(o.inbox); len(left) != 0 {
		t.Errorf("still there: %v", left)
	}
	if after := h.kept(); after != before-1 {
		t.Errorf("%d contents after deleting, %d before", after, before)
	}
}

func TestReplace(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	replace := func(id archive.ID, query, content string) answer {
		body, contentType := multipartBody(t, "new.csv", content)
		return h.send(http.MethodPost, "/document/"+text(id)+"/replace"+query, contentType, body)
	}
	before := h.kept()
	if a := replace(o.scan, "", "a;b\n1;2\n"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	d := h.list(o.inbox)[0]
	if d.ID != o.scan || d.Name != "scan" || *d.Length != 8 || !slices.Equal(d.Keywords, []string{"paid", "x,y"}) {
		t.Errorf("replaced %+v", d)
	}
	if after := h.kept(); after != before {
		t.Errorf("%d contents after replacing, %d before", after, before)
	}
	if a := replace(o.scan, "?keywords=k1,k2", "other"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if d := h.list(o.inbox)[0]; !slices.Equal(d.Keywords, []string{"k1", "k2"}) {
		t.Errorf("keywords %v", d.Keywords)
	}
	if a := replace(o.scan, "", "other"); a.status != http.StatusOK {
		t.Errorf("replacing by the same: %d %s", a.status, a.body)
	}
	if a := h.get("/document/" + text(o.scan) + "/pdf?original=true"); a.body != "other" {
		t.Errorf("content %q", a.body)
	}
	wantProblem(t, replace(o.a, "", "x"), http.StatusForbidden, "id")
	wantProblem(t, replace(999, "", "x"), http.StatusNotFound, "id")
	wantProblem(t, replace(o.scan, `?keywords=\`, "x"), http.StatusBadRequest, "keywords")
	wantProblem(t, h.post("/document/"+text(o.scan)+"/replace"), http.StatusBadRequest, "")
	wantStaged(t, h, 0)
}
