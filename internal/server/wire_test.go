package server_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

// Generated clients write booleans as words or as numbers.
func TestBooleansAreWordsOrNumbers(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	list := "/document/list?folder-id=" + text(o.invoices)
	for _, path := range []string{
		"/archivestructure?lazy=", "/inboxes?lazy=", list + "&with-autoexport-status=", list + "&subfolders-recursive=",
		"/document/" + text(o.a) + "/pdf?annotations=&original=",
	} {
		for number, word := range map[string]string{"0": "false", "1": "true"} {
			got, want := h.get(path+number), h.get(path+word)
			if got.status != http.StatusOK || got.body != want.body {
				t.Errorf("%s%s: %d %.200s\nwant %.200s", path, number, got.status, got.body, want.body)
			}
		}
		if h.get(path+"0").body == h.get(path+"1").body {
			t.Errorf("%s: 0 and 1 are answered alike", path)
		}
		for _, bad := range []string{"2", "-1", "01", "yes", "t"} {
			a := h.get(path + bad)
			wantProblem(t, a, http.StatusBadRequest, path[strings.LastIndexAny(path, "?&")+1:len(path)-1])
		}
	}
	found := func(query string) int {
		t.Helper()
		return decode[struct{ TotalHitDocuments int }](t, h.post("/search?location-folder-id="+text(o.invoices)+query)).TotalHitDocuments
	}
	if here, below := found("&recursive=0&include-trash=0"), found("&recursive=1&include-trash=1"); here != 1 || below != 3 {
		t.Errorf("a search in a folder finds %d, also below it %d", here, below)
	}
	for _, on := range []string{"1", "0"} {
		if a := h.post("/document/auto_export_status/set", "document-id", text(o.b), "autoexport-status", on); a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", on, a.status, a.body)
		}
		if d := h.list(o.year, "&with-autoexport-status=1")[1]; *d.AutoExport != (on == "1") {
			t.Errorf("auto-export is %t after %s", *d.AutoExport, on)
		}
	}
	fields := []string{"target-folder-id", text(o.year), "external-id", "same", "force-new-document"}
	first := h.uploaded("x.txt", "x", append(fields, "0")...)
	if again := h.uploaded("x.txt", "x", append(fields, "0")...); again != first {
		t.Errorf("force-new-document 0 made document %d beside %d", again, first)
	}
	if other := h.uploaded("x.txt", "x", append(fields, "1")...); other == first {
		t.Errorf("force-new-document 1 made no new document")
	}
}

// Two values of a parameter are refused: a proxy may have gone by the one that the service would ignore.
func TestAValueIsGivenOnce(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	list := "/document/list?folder-id=" + text(o.year)
	twice := func(name, one, other string) string { return name + "=" + one + "&" + name + "=" + other }
	for name, a := range map[string]answer{
		"parent-folder-id":          h.get("/archivestructure?" + twice("parent-folder-id", text(o.mandator), text(o.other))),
		"lazy":                      h.get("/inboxes?" + twice("lazy", "true", "true")),
		"folder-id":                 h.get(list + "&folder-id=" + text(o.invoices)),
		"subfolders-recursive":      h.get(list + "&" + twice("subfolders-recursive", "", "true")),
		"with-autoexport-status":    h.get(list + "&" + twice("with-autoexport-status", "0", "1")),
		"filter-date-created-after": h.get(list + "&" + twice("filter-date-created-after", "2023-11-22", "2024-11-22")),
		"original":                  h.get("/document/" + text(o.a) + "/pdf?" + twice("original", "true", "false")),
		"bbox-width":                h.get("/page/" + text(o.a*1<<16+1) + "/preview?" + twice("bbox-width", "10", "20")),
		"document-type":             h.post("/search?" + twice("document-type", "invoice", "letter")),
		"external-id":               h.post("/search?" + twice("external-id", "a", "b")),
		"from-date":                 h.post("/search?" + twice("from-date", "2023-11-22", "2024-11-22")),
		"location":                  h.post("/search?" + twice("location", "/Other+AG", "/Muster+GmbH")),
		"location-folder-id":        h.post("/search?" + twice("location-folder-id", text(o.other), text(o.year))),
		"recursive":                 h.post("/search?" + twice("recursive", "true", "false")),
		"pagination-size":           h.post("/search?" + twice("pagination-size", "1", "2")),
		"parent-folder-id, posted":  h.post("/folder/create", "parent-folder-id", text(o.year), "parent-folder-id", text(o.other), "folder-name", "x"),
		"folder-name":               h.post("/folder/create", "parent-folder-id", text(o.year), "folder-name", "x", "folder-name", "y"),
		"new-name":                  h.post("/document/"+text(o.a)+"/rename", "new-name", "x", "new-name", "y"),
		"document-id":               h.post("/document/auto_export_status/set", "document-id", text(o.a), "document-id", text(o.b), "autoexport-status", "0"),
		"autoexport-status":         h.post("/document/auto_export_status/set", "document-id", text(o.a), "autoexport-status", "0", "autoexport-status", "1"),
		"target-folder-id":          h.post("/document/"+text(o.scan)+"/archive", "target-folder-id", text(o.year), "target-folder-id", text(o.other)),
		"target-folder-path":        h.post("/document/"+text(o.scan)+"/archive", "target-folder-path", "/Other AG", "target-folder-path", "/Muster GmbH"),
		"target-mandator-name":      h.post("/document/"+text(o.scan)+"/archive", "target-folder-id", text(o.year), "target-mandator-name", "Muster GmbH", "target-mandator-name", "Other AG"),
		"target-document-name":      h.post("/document/"+text(o.scan)+"/archive", "target-folder-id", text(o.year), "target-document-name", "x", "target-document-name", "y"),
		"target-folder-id, sent":    h.upload("f", "x", "target-folder-id", text(o.year), "target-folder-id", text(o.other)),
		"external-id, sent":         h.upload("f", "x", "target-folder-id", text(o.year), "external-id", "a", "external-id", "b"),
		"email-import-order":        h.upload("f", "x", "email-import-order", "EMAIL_ONLY", "email-import-order", "ATTACHMENTS_ONLY"),
		"force-new-document":        h.upload("f", "x", "external-id", "a", "force-new-document", "0", "force-new-document", "1"),
		"metadata":                  h.postJSON("/document/"+text(o.a)+"/metadata", `{"a":"1","a":"2"}`),
	} {
		t.Run(name, func(t *testing.T) {
			field, _, _ := strings.Cut(name, ",")
			wantProblem(t, a, http.StatusBadRequest, field)
		})
	}
	if got := names(h.list(o.mandator, "&subfolders-recursive=true")); strings.Join(got, " ") != "a b c" {
		t.Errorf("in the archive: %q", got)
	}
}

// A list may come as several parameters, as generated clients write it.
func TestAListMayBeGivenInParts(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	for query, want := range map[string]int{
		"keyword-terms=paid&keyword-terms=x%5C,y":                                    4,
		"keyword-terms=paid&keyword-terms=unpaid":                                    0,
		"note-terms=note&note-terms=a":                                               2,
		"fulltext-all=note&fulltext-all=%22on+b%22":                                  1,
		"fulltext-one=%22on+b%22&fulltext-one=%22on+c%22":                            2,
		"fulltext-all=note&fulltext-none=%22on+b%22&fulltext-none=%22on+c%22":        2,
		"followup-terms=note&followup-terms=a":                                       0,
		"stamps-inclusive=PAID&stamps-inclusive=today":                               0,
		"external-metadata=number%3D1&external-metadata=amount%3D2%5C,50":            4,
		"external-metadata=number%3D1&external-metadata=amount%3D9":                  0,
		url.QueryEscape("external-metadata[number]") + "=1":                          4,
		url.QueryEscape("external-metadata[amount]") + "=" + url.QueryEscape("2,50"): 4,
		url.QueryEscape("external-metadata[amount]") + "=9":                          0,
	} {
		found := decode[struct{ TotalHitDocuments int }](t, h.post("/search?"+query)).TotalHitDocuments
		if found != want {
			t.Errorf("%s finds %d, want %d", query, found, want)
		}
	}
	id := h.uploaded("f", "x", "target-folder-id", text(o.other), "keywords", "a,b", "keywords", "c")
	if d := h.list(o.other)[0]; d.ID != id || strings.Join(d.Keywords, " ") != "a b c" {
		t.Errorf("uploaded with %q", d.Keywords)
	}
	wantProblem(t, h.post("/search?"+strings.Repeat(url.QueryEscape("external-metadata[number]")+"=1&", 2)), http.StatusBadRequest, "external-metadata[number]")
}

// Invalid Unicode in JSON is refused, because it would be stored as another text.
func TestTextIsUnicode(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	at := "/document/" + text(o.a)
	for _, bad := range []string{
		"\xff", "a\xc3", "\xed\xa0\x80", `\ud800`, `\uDFFF`, `\udc00\ud800`, `\ud83d\u0041`, `\ud83d\n`, `\ud83d`, `\\\ud83d`, `\uD83D\uD83D\uDE00`,
	} {
		wantProblem(t, h.postJSON(at+"/keywords", `["`+bad+`"]`), http.StatusBadRequest, "")
		wantProblem(t, h.postJSON(at+"/metadata", `{"a":"`+bad+`"}`), http.StatusBadRequest, "")
		wantProblem(t, h.postJSON(at+"/metadata", `{"`+bad+`":"a"}`), http.StatusBadRequest, "")
	}
	for _, good := range []string{`\ud83d\ude00`, `\\ud83d`, "\xf0\x9f\x98\x80", `\ufffd`, `\\\uD83D\uDE00`, `\ue000\ud7ff`, `\"\ud83d\udE00\"`} {
		if a := h.postJSON(at+"/keywords", `["`+good+`"]`); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", good, a.status, a.body)
		}
		if a := h.postJSON(at+"/metadata", `{"`+good+`":"`+good+`"}`); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", good, a.status, a.body)
		}
	}
	for field, a := range map[string]answer{
		"new-name":             h.post(at+"/rename", "new-name", "\xed\xa0\x80"),
		"folder-name":          h.post("/folder/create", "parent-folder-id", text(o.year), "folder-name", "a\xff"),
		"keywords":             h.post("/document/"+text(o.scan)+"/archive", "target-folder-id", text(o.year), "keywords", "\xff"),
		"target-document-name": h.upload("a\xff", "x", "target-folder-id", text(o.year)),
		"external-metadatas":   h.upload("a", "x", "target-folder-id", text(o.year), "external-metadatas", "a=\xff"),
		"document-name-terms":  h.post("/search?document-name-terms=%ff"),
		"fulltext-all":         h.post("/search?fulltext-all=a&fulltext-all=%ff"),
	} {
		wantProblem(t, a, http.StatusBadRequest, field)
	}
}

// Some programs send the whole path of a file.
func TestTheNameOfAFileIsNoPath(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	for sent, want := range map[string]string{
		`C:\temp\a.txt`: "a.txt", `C:\\temp\\a.txt`: "a.txt", `c:/temp/a.txt`: "a.txt", `\\server\share\a.txt`: "a.txt", `/tmp/a.txt`: "a.txt",
		`AC\DC.txt`: `AC\DC.txt`, `C:a.txt`: "C:a.txt", `1:\a`: `1:\a`,
	} {
		const data = "multipart/form-data; boundary=XX"
		body := "--XX\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"" + sent + "\"\r\n\r\nx\r\n" +
			"--XX\r\nContent-Disposition: form-data; name=\"target-folder-id\"\r\n\r\n" + text(o.other) + "\r\n--XX--\r\n"
		id := decode[archive.ID](t, h.send(http.MethodPost, "/file-upload", data, strings.NewReader(body)))
		documents := h.list(o.other)
		if last := documents[len(documents)-1]; last.ID != id || last.Name != want {
			t.Errorf("%s is called %q, want %q", sent, last.Name, want)
		}
	}
}

// Wherever the name of a user is, there is also the id, which generated clients need.
func TestUsersAreToldByNumber(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.Credentials.User, o.Credentials.Password = "Administrator", "p" })
	admin := h.manage("")
	key := h.key(admin, server.NewKey{})
	eve, err := admin.AddUser(t.Context(), "eve", "p")
	if err != nil {
		t.Fatal(err)
	}
	o := furnish(t, h) // with notes of an Eve who is no user
	if _, err := admin.AddUser(t.Context(), "Eve", "p"); err != nil {
		t.Fatal(err)
	}
	annotated, err := h.AddDocument(t.Context(), server.NewDocument{
		Folder: o.inbox, Name: "n", Created: day, Notes: []archive.Note{{Text: "n", Creator: "eve"}}, Stamps: []archive.Stamp{{Title: "s", Creator: "Administrator"}},
	}, strings.NewReader("n"))
	if err != nil {
		t.Fatal(err)
	}
	as := func(user string) []string {
		if user == "Administrator" { // of the options: its id is that of the inbox
			return []string{"Authorization", basic(user, "p")}
		}
		return []string{"API-Key", key, "Authorization", basic(user, "p")}
	}
	put := func(user string, folder archive.ID) archive.ID {
		t.Helper()
		body, contentType := multipartBody(t, user+".txt", "x", "target-folder-id", text(folder))
		return decode[archive.ID](t, h.send(http.MethodPost, "/file-upload", contentType, body, as(user)...))
	}
	listed := func(folder archive.ID) map[string]int64 {
		t.Helper()
		found := map[string]int64{}
		for _, d := range decode[[]struct {
			Name string
			By   *int64 `json:"archiving-user-id"`
		}](t, h.get("/document/list?folder-id="+text(folder), as("eve")...)) {
			if d.By == nil {
				t.Fatalf("%s has no archiving-user-id", d.Name)
			}
			found[d.Name] = *d.By
		}
		return found
	}
	data := func(id archive.ID) string {
		t.Helper()
		return h.get("/document/"+text(id)+"/data", as("eve")...).body
	}
	byEve, byAdministrator, scan := put("eve", o.other), put("Administrator", o.other), put("eve", o.inbox)
	if got := listed(o.inbox); got["eve.txt"] != 0 || got["scan"] != 0 {
		t.Errorf("archived from an inbox, before: %v", got)
	}
	if a := h.send(http.MethodPost, "/document/"+text(scan)+"/archive", "application/x-www-form-urlencoded",
		strings.NewReader("target-document-name=scan.txt&target-folder-id="+text(o.other)), as("Administrator")...); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if got := fmt.Sprint(listed(o.other)); got != fmt.Sprint(map[string]int64{"eve.txt": eve, "Administrator.txt": 7, "scan.txt": 7}) {
		t.Errorf("archived by %v", got)
	}
	byUser := h.send(http.MethodPost, "/search?pagination-size=100&archiver-id="+text(archive.ID(eve)), "", nil, as("eve")...)
	if got := decode[struct{ Documents []struct{ Name string } }](t, byUser); len(got.Documents) != 1 || got.Documents[0].Name != "eve.txt" {
		t.Errorf("a search for what eve archived finds %v", got)
	}
	if got := listed(o.year); got["a"] != 0 {
		t.Errorf("archived by nobody: %v", got)
	}
	archived := scan + 1
	number := func(id int64, name string) string { return fmt.Sprintf(`"creatorId":%d,"creatorName":%q`, id, name) }
	for id, want := range map[archive.ID][]string{
		byEve: {number(eve, "eve")}, byAdministrator: {number(7, "Administrator")}, o.a: {number(0, ""), number(0, "Eve")},
		archived: {number(eve, "eve")}, annotated: {number(0, ""), number(eve, "eve"), number(7, "Administrator")},
	} {
		for _, want := range want {
			if got := data(id); !strings.Contains(got, want) {
				t.Errorf("%s is not in %s", want, got)
			}
		}
	}
	if err := admin.RemoveUser(t.Context(), "eve"); err != nil {
		t.Fatal(err)
	}
	if got := h.get("/document/"+text(byEve)+"/data", as("Administrator")...).body; !strings.Contains(got, number(eve, "eve")) {
		t.Errorf("who is gone has lost the number: %s", got)
	}
	if got := h.send(http.MethodPost, "/search?document-name-terms=eve", "", nil, as("Administrator")...).body; !strings.Contains(got, number(eve, "eve")) {
		t.Errorf("a search: %s", got)
	}
}
