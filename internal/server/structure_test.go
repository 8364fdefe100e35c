package server_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/apiclient"
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

func TestArchiveStructure(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	for _, test := range []struct{ query, want string }{
		{"", `{"free-archive-structure":true,"folders":[{"id":1,"name":"Muster GmbH","folders":[{"id":2,"name":"Rechnungen",` +
			`"folders":[{"id":3,"name":"2018","folders":[]}]}]},{"id":4,"name":"Other AG","folders":[]}]}`},
		{"?lazy=true", `{"free-archive-structure":true,"folders":[{"id":1,"name":"Muster GmbH"},{"id":4,"name":"Other AG"}]}`},
		{"?parent-folder-id=1", `{"free-archive-structure":true,"folders":[{"id":2,"name":"Rechnungen",` +
			`"folders":[{"id":3,"name":"2018","folders":[]}]}]}`},
		{"?parent-folder-id=1&lazy=TRUE", `{"free-archive-structure":true,"folders":[{"id":2,"name":"Rechnungen"}]}`},
		{"?parent-folder-id=3&lazy=false", `{"free-archive-structure":true,"folders":[]}`},
	} {
		if a := h.get("/archivestructure" + test.query); a.status != http.StatusOK || a.body != test.want {
			t.Errorf("%q: %d %s\nwant %s", test.query, a.status, a.body, test.want)
		}
	}
	wantProblem(t, h.get("/archivestructure?parent-folder-id=999"), http.StatusNotFound, "parent-folder-id")
	wantProblem(t, h.get("/archivestructure?parent-folder-id="+text(o.inbox)), http.StatusNotFound, "parent-folder-id")
	wantProblem(t, h.get("/archivestructure?parent-folder-id=x"), http.StatusBadRequest, "parent-folder-id")
	wantProblem(t, h.get("/archivestructure?lazy=maybe"), http.StatusBadRequest, "lazy")
}

func TestInboxes(t *testing.T) {
	t.Parallel()
	h := start(t)
	furnish(t, h)
	for _, test := range []struct{ query, want string }{
		{"", `{"free-inbox-structure":true,"inboxes":[{"user-id":7,"folder":{"id":5,"name":"Administrator",` +
			`"folders":[{"id":6,"name":"Later","folders":[]}]}},{"user-id":8,"folder":{"id":7,"name":"Empty","folders":[]}}],"folders":[]}`},
		{"?lazy=true", `{"free-inbox-structure":true,"inboxes":[{"user-id":7,"folder":{"id":5,"name":"Administrator"}},` +
			`{"user-id":8,"folder":{"id":7,"name":"Empty"}}],"folders":[]}`},
	} {
		if a := h.get("/inboxes" + test.query); a.status != http.StatusOK || a.body != test.want {
			t.Errorf("%q: %d %s\nwant %s", test.query, a.status, a.body, test.want)
		}
	}
	wantProblem(t, h.get("/inboxes?lazy=2"), http.StatusBadRequest, "lazy")
}

func TestEmptyArchive(t *testing.T) {
	t.Parallel()
	h := start(t)
	if a := h.get("/archivestructure"); a.body != `{"free-archive-structure":true,"folders":[]}` {
		t.Errorf("structure %s", a.body)
	}
	if a := h.get("/inboxes"); a.body != `{"free-inbox-structure":true,"inboxes":[],"folders":[]}` {
		t.Errorf("inboxes %s", a.body)
	}
}

func TestFolderCreate(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	type created struct {
		ID   archive.ID
		Name string
	}
	made := decode[created](t, h.post("/folder/create", "parent-folder-id", text(o.year), "folder-name", "01 Jän"))
	if made.ID == 0 || made.Name != "01 Jän" {
		t.Errorf("created %+v", made)
	}
	inInbox := decode[created](t, h.post("/folder/create", "parent-folder-id", text(o.later), "folder-name", "x"))
	if again := decode[created](t, h.post("/folder/create", "parent-folder-id", text(made.ID), "folder-name", "x")); again.ID == inInbox.ID {
		t.Errorf("two folders have the id %d", again.ID)
	}
	var long strings.Builder
	long.WriteString(string(make([]byte, 0, 256)))
	for range 256 {
		long.WriteString("x")
	}
	for name, test := range map[string]struct {
		fields []string
		status int
		field  string
	}{
		"duplicate":         {[]string{"parent-folder-id", text(o.invoices), "folder-name", "2018"}, 409, "folder-name"},
		"unknown parent":    {[]string{"parent-folder-id", "999", "folder-name", "x"}, 404, "parent-folder-id"},
		"no parent":         {[]string{"folder-name", "x"}, 400, "parent-folder-id"},
		"parent no integer": {[]string{"parent-folder-id", "1.5", "folder-name", "x"}, 400, "parent-folder-id"},
		"no name":           {[]string{"parent-folder-id", "1"}, 400, "folder-name"},
		"blank name":        {[]string{"parent-folder-id", "1", "folder-name", " "}, 400, "folder-name"},
		"slash":             {[]string{"parent-folder-id", "1", "folder-name", "a/b"}, 400, "folder-name"},
		"control":           {[]string{"parent-folder-id", "1", "folder-name", "a\nb"}, 400, "folder-name"},
		"no UTF-8":          {[]string{"parent-folder-id", "1", "folder-name", "a\xff"}, 400, "folder-name"},
		"too long":          {[]string{"parent-folder-id", "1", "folder-name", long.String()}, 400, "folder-name"},
		"both wrong":        {[]string{"parent-folder-id", "x", "folder-name", ""}, 400, "folder-name"},
	} {
		t.Run(name, func(t *testing.T) {
			wantProblem(t, h.post("/folder/create", test.fields...), test.status, test.field)
		})
	}
}

// Whoever may make folders cannot make a structure that no client reads.
func TestFoldersLieNoDeeperThanClientsRead(t *testing.T) {
	t.Parallel()
	h := start(t)
	for _, root := range []func() (archive.ID, error){
		func() (archive.ID, error) { return h.AddMandator(t.Context(), "M") },
		func() (archive.ID, error) { return h.AddInbox(t.Context(), 7, "I") },
	} {
		at, err := root()
		for range store.MaxDepth - 1 {
			if err == nil {
				at, err = h.AddFolder(t.Context(), at, "f")
			}
		}
		if err != nil {
			t.Fatal(err)
		}
		wantProblem(t, h.post("/folder/create", "parent-folder-id", text(at), "folder-name", "f"), http.StatusBadRequest, "folder-name")
	}
	client, err := apiclient.New(apiclient.Config{BaseURL: h.url, Credentials: apiclient.Credentials{APIKey: testKey}})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if _, err := client.Structure(t.Context(), 0, false); err != nil {
		t.Error(err)
	}
	if _, err := client.Inboxes(t.Context()); err != nil {
		t.Error(err)
	}
}
