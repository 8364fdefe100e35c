package server_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server"
)

func TestDocumentListChooses(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	for _, test := range []struct {
		name, more string
		want       []string
	}{
		{"a folder", "", []string{"c"}},
		{"recursive", "&subfolders-recursive=true", []string{"a", "b", "c"}},
		{"a date is not after itself", "&subfolders-recursive=true&filter-date-created-after=2023-11-22", []string{"b", "c"}},
		{"nothing after", "&subfolders-recursive=true&filter-date-created-after=2023-11-24", []string{}},
		{"a time is not after itself", "&subfolders-recursive=true&filter-date-created-after=2023-11-23T14:14:29", []string{"c"}},
		{"a second before", "&subfolders-recursive=true&filter-date-created-after=2023-11-23T14:14:28", []string{"b", "c"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			if got := names(h.list(o.invoices, test.more)); !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
	if got := names(h.list(o.inbox)); !slices.Equal(got, []string{"scan"}) {
		t.Errorf("inbox: %v", got)
	}
	if a := h.get("/document/list?folder-id=" + text(o.other)); a.body != "[]" {
		t.Errorf("empty folder: %q", a.body)
	}
}

func TestDocumentListRefuses(t *testing.T) {
	t.Parallel()
	h := start(t)
	furnish(t, h)
	for _, test := range []struct {
		query  string
		status int
		field  string
	}{
		{"", 400, "folder-id"},
		{"?folder-id=", 400, "folder-id"},
		{"?folder-id=abc", 400, "folder-id"},
		{"?folder-id=9223372036854775808", 400, "folder-id"},
		{"?folder-id=999", 404, "folder-id"},
		{"?folder-id=0", 404, "folder-id"},
		{"?folder-id=-1", 404, "folder-id"},
		{"?folder-id=1&subfolders-recursive=yes", 400, "subfolders-recursive"},
		{"?folder-id=1&with-autoexport-status=2", 400, "with-autoexport-status"},
		{"?folder-id=1&filter-date-created-after=22.11.2023", 400, "filter-date-created-after"},
		{"?folder-id=1&filter-date-created-after=2023-02-30", 400, "filter-date-created-after"},
		{`?folder-id=1&included-metadata-keys=a\b`, 400, "included-metadata-keys"},
		{`?folder-id=1&excluded-matadata-keys=a\`, 400, "excluded-matadata-keys"},
		{"?folder-id=x&with-autoexport-status=2", 400, "with-autoexport-status"},
	} {
		t.Run(test.query, func(t *testing.T) {
			wantProblem(t, h.get("/document/list"+test.query), test.status, test.field)
		})
	}
}

func TestABrokenQueryIsRefused(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	in, doc := "folder-id="+text(o.year), "/document/"+text(o.a)
	for _, path := range []string{
		"/document/list?" + in + "&subfolders-recursive=%zz", "/document/list?" + in + ";subfolders-recursive=true",
		"/archivestructure?lazy=%", "/inboxes?lazy=%", doc + "/pdf?original;true",
	} {
		a := h.get(path)
		wantProblem(t, a, http.StatusBadRequest, "")
		if !strings.Contains(a.body, "the query cannot be read") {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

func TestDocumentListShape(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	const want = `[{"id":1,"name":"a","num-pages":1,"creation-date":"2023-11-22T14:14:29","archiving-date":"2023-11-22T15:14:29",` +
		`"archiving-user-id":0,"folder-id":3,"keywords":["paid","x,y"],"external-metadata":[{"key":"number","value":"1"},` +
		`{"key":"amount","value":"2,50"}],"autoexport-status":true,"content-length":12,"content-type":"text/plain; charset=utf-8"}` + "\n" +
		`,{"id":2,"name":"b","num-pages":1,"creation-date":"2023-11-23T14:14:29","archiving-date":"2023-11-23T15:14:29",` +
		`"archiving-user-id":0,"folder-id":3,"keywords":["paid","x,y"],"external-metadata":[{"key":"number","value":"1"},` +
		`{"key":"amount","value":"2,50"}],"autoexport-status":false,"content-length":12,"content-type":"text/plain; charset=utf-8"}` + "\n]"
	if a := h.get("/document/list?with-autoexport-status=true&folder-id=" + text(o.year)); a.body != want {
		t.Errorf("got  %s\nwant %s", a.body, want)
	}
	waiting := h.list(o.inbox)[0]
	if waiting.Archived != nil || waiting.AutoExport != nil {
		t.Errorf("inbox document %+v", waiting)
	}
}

func TestDocumentListMetadataKeys(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	for _, test := range []struct {
		more string
		want []string
	}{
		{"&included-metadata-keys=amount,other", []string{"amount"}},
		{"&included-metadata-keys=amount&included-metadata-keys=number", []string{"number", "amount"}},
		{"&excluded-matadata-keys=amount", []string{"number"}},
		{"&included-metadata-keys=amount,number&excluded-matadata-keys=number", []string{"amount"}},
		{"&excluded-matadata-keys=amount,number", []string{}},
	} {
		t.Run(test.more, func(t *testing.T) {
			got := []string{}
			for _, pair := range h.list(o.invoices, test.more)[0].Metadata {
				got = append(got, pair.Key)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("got %v, want %v", got, test.want)
			}
		})
	}
}

func TestDocumentListWithoutSizes(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.HideSizes = true })
	o := furnish(t, h)
	if d := h.list(o.invoices)[0]; d.Length != nil || d.Type != nil {
		t.Errorf("%+v tells its size", d)
	}
	if d := h.list(o.invoices)[0]; d.Name != "c" {
		t.Errorf("name %q", d.Name)
	}
	if a := h.get("/document/list"); a.status != http.StatusBadRequest {
		t.Errorf("status %d", a.status)
	}
}

// A list is kept once it was requested twice, and read again after every change, by whoever made it.
func TestRepeatedListsShowEveryChange(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	const full = "&with-autoexport-status=true"
	list := func() string {
		t.Helper()
		var bodies []string
		for range 3 {
			bodies = append(bodies, h.get("/document/list?subfolders-recursive=true&folder-id="+text(o.mandator)+full).body)
		}
		if bodies = slices.Compact(bodies); len(bodies) != 1 {
			t.Fatalf("one list has %d forms", len(bodies))
		}
		return bodies[0]
	}
	beside := h.manage("")
	before := list()
	for _, change := range []struct {
		what string
		do   func() answer
	}{
		{"a name", func() answer { return h.post("/document/"+text(o.c)+"/rename", "new-name", "c2") }},
		{"keywords", func() answer { return h.postJSON("/document/"+text(o.b)+"/keywords", `["new"]`) }},
		{"the auto-export status", func() answer {
			return h.post("/document/auto_export_status/set", "document-id", text(o.b), "autoexport-status", "true")
		}},
		{"a new document", func() answer {
			h.uploaded("d.txt", "content", "target-folder-id", text(o.year))
			return answer{status: http.StatusOK}
		}},
		{"an archived document", func() answer {
			return h.post("/document/"+text(o.scan)+"/archive", "target-folder-id", text(o.invoices))
		}},
	} {
		if a := change.do(); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", change.what, a.status, a.body)
		}
		after := list()
		if after == before {
			t.Errorf("%s: the list has not changed", change.what)
		}
		before = after
	}
	if a := h.get("/document/list?folder-id=" + text(o.mandator)); a.body == before {
		t.Error("a list that is not recursive is a recursive one")
	}
	confined := h.key(beside, server.NewKey{Mandators: []string{"Other AG"}})
	if a := h.get("/document/list?subfolders-recursive=true&folder-id="+text(o.mandator)+full, "API-Key", confined); a.status != http.StatusNotFound {
		t.Errorf("a key for another mandator gets %d", a.status)
	}
}
