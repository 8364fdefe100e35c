package server_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/server"
)

// manage opens an Admin for the archive of a service.
func (h *service) manage(tenant string) *server.Admin {
	h.t.Helper()
	a, err := server.OpenAdmin(h.t.Context(), server.Place{Data: h.options.Data, Database: h.options.Database, CloudID: tenant})
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() {
		if err := a.Close(); err != nil {
			h.t.Error(err)
		}
	})
	return a
}

func (h *service) key(a *server.Admin, n server.NewKey) string {
	h.t.Helper()
	_, key, err := a.AddKey(h.t.Context(), n)
	if err != nil {
		h.t.Fatal(err)
	}
	return key
}

func basic(user, password string) string {
	r := http.Request{Header: http.Header{}}
	r.SetBasicAuth(user, password)
	return r.Header.Get("Authorization")
}

// The keys of the database are accepted beside the key of the options.
func TestKeysOfTheDatabase(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.Credentials.CloudID = "static" })
	own := h.manage("")
	if _, err := own.AddTenant(t.Context(), "cloud-1", "One"); err != nil {
		t.Fatal(err)
	}
	one := h.manage("cloud-1")
	for _, a := range []*server.Admin{own, one} {
		if _, err := a.AddUser(t.Context(), "eve", "secret"); err != nil {
			t.Fatal(err)
		}
	}
	key, theirs := h.key(own, server.NewKey{}), h.key(one, server.NewKey{})
	revoked := h.key(own, server.NewKey{Name: "lost"})
	keys, err := own.Keys(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := own.RevokeKeys(t.Context(), keys[len(keys)-1].ID); err != nil {
		t.Fatal(err)
	}
	right, wrong := basic("eve", "secret"), basic("eve", "Secret")
	for name, test := range map[string]struct {
		header    []string
		want      int
		challenge bool
	}{
		"static":                         {[]string{"API-Key", testKey, "Cloud-ID", "static"}, 200, false},
		"static, key alone":              {[]string{"API-Key", testKey}, 401, false},
		"key alone":                      {[]string{"API-Key", key}, 200, false},
		"unknown key":                    {[]string{"API-Key", key + "x"}, 401, false},
		"expired key":                    {[]string{"API-Key", h.key(own, server.NewKey{Expires: time.Now()})}, 401, false},
		"revoked key":                    {[]string{"API-Key", revoked}, 401, false},
		"A":                              {[]string{"API-Key", key, "Authorization", right}, 200, false},
		"A, wrong password":              {[]string{"API-Key", key, "Authorization", wrong}, 401, true},
		"A, unknown user":                {[]string{"API-Key", key, "Authorization", basic("adam", "secret")}, 401, true},
		"A, wrong key":                   {[]string{"API-Key", key + "x", "Authorization", right}, 401, false},
		"A, another scheme":              {[]string{"API-Key", key, "Authorization", "Bearer secret"}, 401, false},
		"A, of another tenant":           {[]string{"API-Key", theirs, "Authorization", right}, 200, false},
		"B":                              {[]string{"API-Key", theirs, "Cloud-ID", "cloud-1"}, 200, false},
		"B, wrong Cloud-ID":              {[]string{"API-Key", theirs, "Cloud-ID", "cloud-2"}, 401, false},
		"B, key of another tenant":       {[]string{"API-Key", key, "Cloud-ID", "cloud-1"}, 401, false},
		"B, the options' Cloud-ID":       {[]string{"API-Key", key, "Cloud-ID", "static"}, 200, false},
		"B, of the options, another key": {[]string{"API-Key", theirs, "Cloud-ID", "static"}, 401, false},
		"mixed":                          {[]string{"API-Key", theirs, "Cloud-ID", "cloud-1", "Authorization", right}, 401, false},
	} {
		t.Run(name, func(t *testing.T) {
			a := h.get("/archivestructure", test.header...)
			if a.status != test.want {
				t.Errorf("%d %s", a.status, a.body)
			}
			if challenge := a.header.Get("WWW-Authenticate"); (challenge != "") != test.challenge {
				t.Errorf("challenge %q", challenge)
			}
		})
	}
}

func TestScopes(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	a := h.manage("")
	keys := map[string]string{}
	for name, scopes := range map[string][]server.Scope{
		"read": {server.ScopeRead}, "write": {server.ScopeWrite}, "both": nil, "none": {},
	} {
		keys[name] = h.key(a, server.NewKey{Scopes: scopes})
	}
	reading, writing := map[string]bool{"read": true, "both": true}, map[string]bool{"write": true, "both": true}
	list := "/document/list?folder-id=" + text(o.year)
	for name, key := range keys {
		with := []string{"API-Key", key}
		for what, asked := range map[string]struct {
			a       answer
			allowed bool
		}{
			"list":        {h.get(list, with...), reading[name]},
			"search":      {h.send(http.MethodPost, "/search", "", nil, with...), reading[name]},
			"content":     {h.get("/document/"+text(o.a)+"/pdf", with...), reading[name]},
			"head":        {h.send(http.MethodHead, "/document/"+text(o.a)+"/pdf", "", nil, with...), reading[name]},
			"rename":      {h.send(http.MethodPost, "/document/"+text(o.a)+"/rename", "application/x-www-form-urlencoded", strings.NewReader("new-name=x"), with...), writing[name]},
			"auto-export": {h.send(http.MethodPost, "/document/auto_export_status/set", "application/x-www-form-urlencoded", strings.NewReader("document-id="+text(o.a)+"&autoexport-status=true"), with...), writing[name]},
		} {
			want := http.StatusForbidden
			if asked.allowed {
				want = http.StatusOK
			}
			if asked.a.status != want {
				t.Errorf("%s with a key for %s: %d %s", what, name, asked.a.status, asked.a.body)
			}
		}
		body, contentType := multipartBody(t, "f", "x", "target-folder-id", text(o.year))
		if a := h.send(http.MethodPost, "/file-upload", contentType, body, with...); (a.status == http.StatusOK) != writing[name] {
			t.Errorf("upload with a key for %s: %d", name, a.status)
		}
		wantProblem(t, h.get("/no/such/operation", with...), http.StatusNotFound, "")
	}
	if _, _, err := a.AddKey(t.Context(), server.NewKey{Scopes: []server.Scope{"all"}}); err == nil {
		t.Error("a scope that is none is taken")
	}
}

// A key for some mandators shows these, and the inboxes of the user that is sent with it.
func TestAKeyForAMandator(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	a := h.manage("")
	if _, err := a.AddUser(t.Context(), "eve", "secret"); err != nil {
		t.Fatal(err)
	}
	tray, err := a.AddInbox(t.Context(), "Eve", "eve")
	if err != nil {
		t.Fatal(err)
	}
	alone := []string{"API-Key", h.key(a, server.NewKey{Mandators: []string{"Muster GmbH"}})}
	with := append([]string{"Authorization", basic("eve", "secret")}, alone...)
	for name, test := range map[string]struct {
		header []string
		path   string
		want   string
	}{
		"structure":      {alone, "/archivestructure?lazy=true", `"folders":[{"id":` + text(o.mandator) + `,"name":"Muster GmbH"}]`},
		"tree":           {alone, "/archivestructure", `"name":"2018"`},
		"folder":         {alone, "/archivestructure?parent-folder-id=" + text(o.mandator), `"name":"2018"`},
		"inboxes, alone": {alone, "/inboxes", `"inboxes":[]`},
		"inboxes":        {with, "/inboxes", `"inboxes":[{"user-id":9,"folder":{"id":` + text(tray) + `,"name":"Eve","folders":[]}}]`},
		"list":           {alone, "/document/list?folder-id=" + text(o.mandator) + "&subfolders-recursive=true", `"name":"c"`},
		"data":           {alone, "/document/" + text(o.a) + "/data", `"mandator":"Muster GmbH"`},
		"content":        {alone, "/document/" + text(o.a) + "/pdf?original=true", "content of a"},
		"metadata":       {alone, "/document/" + text(o.a) + "/metadata", `"number":"1"`},
		"others":         {alone, "/document/" + text(o.a) + "/uploaded-with", "[]"},
	} {
		if a := h.get(test.path, test.header...); a.status != http.StatusOK || !strings.Contains(a.body, test.want) || strings.Contains(a.body, "Other AG") {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
	for path, total := range map[string]string{"/search": `:3,`, "/search?location=/Muster%20GmbH/Rechnungen/2018": `:2,`} {
		if a := h.send(http.MethodPost, path, "", nil, alone...); !strings.Contains(a.body, `"totalHitDocuments"`+total) {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	// An upload without a target goes into the user's own inbox, or is refused.
	for want, header := range map[int][]string{http.StatusOK: with, http.StatusBadRequest: alone} {
		body, contentType := multipartBody(t, "scan.txt", "x")
		if a := h.send(http.MethodPost, "/file-upload", contentType, body, header...); a.status != want {
			t.Errorf("an upload without a target: %d %s", a.status, a.body)
		}
	}
	scan := h.list(tray)[0]
	archived := h.send(http.MethodPost, "/document/"+text(scan.ID)+"/archive", "application/x-www-form-urlencoded",
		strings.NewReader("target-folder-id="+text(o.year)), with...)
	if documents := h.list(o.year); archived.status != http.StatusOK || len(documents) != 3 {
		t.Errorf("archived %d %s: %v", archived.status, archived.body, names(documents))
	}
	created := h.send(http.MethodPost, "/folder/create", "application/x-www-form-urlencoded",
		strings.NewReader("folder-name=new&parent-folder-id="+text(o.mandator)), alone...)
	if created.status != http.StatusOK {
		t.Errorf("a folder: %d %s", created.status, created.body)
	}
}
