package server_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

func TestUploadKeepsEveryField(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	id := h.uploaded("letter.txt", "Dear Sir", "target-folder-id", text(o.other), "target-document-name", "Brief",
		"keywords", ` a , b\,c ,a,`, "document-types", "letter,unknown", "external-id", "E-1",
		"external-metadatas", `number=4\,2,formula=a\=b\\c,empty=`)
	d := h.list(o.other)[0]
	if d.ID != id || d.Name != "Brief" || !slices.Equal(d.Keywords, []string{"a", "b,c"}) || d.Archived == nil || *d.Length != 8 {
		t.Errorf("listed %+v", d)
	}
	got := h.get("/document/" + text(id) + "/data").body
	for _, want := range []string{
		`"classification":["letter","unknown"]`, `"externalId":"E-1"`,
		`"metadata":{"empty":"","formula":"a=b\\c","number":"4,2"}`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s is not in %s", want, got)
		}
	}
	if a := h.get("/document/" + text(id) + "/pdf?original=true"); a.body != "Dear Sir" {
		t.Errorf("content %q", a.body)
	}
}

func TestUploadFindsItsTarget(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	if _, err := h.AddFolder(t.Context(), o.other, "Other AG"); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		fields []string
		folder archive.ID
	}{
		{"id", []string{"target-folder-id", text(o.year)}, o.year},
		{"path", []string{"target-folder-path", "/Muster GmbH/Rechnungen/2018/"}, o.year},
		{"bare path", []string{"target-folder-path", "Muster GmbH/Rechnungen"}, o.invoices},
		{"mandator as path", []string{"target-folder-path", "/Other AG"}, o.other},
		{"path below mandator", []string{"target-mandator-name", "Muster GmbH", "target-folder-path", "/Rechnungen/2018"}, o.year},
		{"path repeats mandator", []string{"target-mandator-name", "Muster GmbH", "target-folder-path", "/Muster GmbH/Rechnungen"}, o.invoices},
		{"root of mandator", []string{"target-mandator-name", "Muster GmbH", "target-folder-path", "/"}, o.mandator},
		{"id and mandator", []string{"target-mandator-name", "Muster GmbH", "target-folder-id", text(o.year)}, o.year},
		{"id and path", []string{"target-folder-path", "/Muster GmbH/Rechnungen", "target-folder-id", text(o.invoices)}, o.invoices},
		{"mandator alone", []string{"target-mandator-name", "Other AG"}, o.other},
		{"inbox", []string{"target-folder-id", text(o.spare)}, o.spare},
		{"nothing", nil, o.inbox},
	} {
		t.Run(test.name, func(t *testing.T) {
			id := h.uploaded("new "+test.name, "x", test.fields...)
			at := slices.IndexFunc(h.list(test.folder), func(d element) bool { return d.ID == id })
			if at < 0 {
				t.Fatal("not in its folder")
			}
			if d := h.list(test.folder)[at]; d.Name != "new "+test.name || (d.Archived == nil) != (test.folder == o.spare || test.folder == o.inbox) {
				t.Errorf("listed %+v", d)
			}
		})
	}
}

func TestUploadWithoutATargetGoesToAnInputTray(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ user, inbox string }{{"Eve", "Eve"}, {"adam", "Administrator"}} {
		t.Run(test.user, func(t *testing.T) {
			h := start(t, func(o *server.Options) {
				o.Credentials = server.Credentials{APIKey: testKey, User: test.user, Password: "p"}
			})
			body, contentType := multipartBody(t, "f.txt", "x")
			signed := http.Request{Header: http.Header{}}
			signed.SetBasicAuth(test.user, "p")
			auth := []string{"Authorization", signed.Header.Get("Authorization")}
			post := func() answer {
				return h.send(http.MethodPost, "/file-upload", contentType, bytes.NewReader(body.Bytes()), auth...)
			}
			wantProblem(t, post(), http.StatusBadRequest, "target-folder-id")
			for user, name := range []string{"Administrator", "Eve"} {
				if _, err := h.AddInbox(t.Context(), int64(user), name); err != nil {
					t.Fatal(err)
				}
			}
			a := post()
			if data := h.get("/document/"+a.body+"/data", auth...).body; !strings.Contains(data, `"folderPath":"INBOX/`+test.inbox+`/"`) {
				t.Errorf("%d %s, placed %s", a.status, a.body, data)
			}
		})
	}
}

func TestUploadRefuses(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	in := []string{"target-folder-id", text(o.year)}
	for _, test := range []struct {
		name   string
		fields []string
		status int
		field  string
	}{
		{"unknown mandator alone", []string{"target-mandator-name", "No"}, 404, "target-mandator-name"},
		{"folder no integer", []string{"target-folder-id", "12x"}, 400, "target-folder-id"},
		{"unknown folder", []string{"target-folder-id", "999"}, 404, "target-folder-id"},
		{"unknown path", []string{"target-folder-path", "/Muster GmbH/Neu"}, 404, "target-folder-path"},
		{"path without mandator", []string{"target-folder-path", "//"}, 400, "target-folder-path"},
		{"path into an inbox", []string{"target-folder-path", "/Administrator"}, 404, "target-folder-path"},
		{"unknown mandator", []string{"target-mandator-name", "No", "target-folder-path", "/"}, 404, "target-mandator-name"},
		{"other mandator", append([]string{"target-mandator-name", "Other AG"}, in...), 400, "target-mandator-name"},
		{"inbox with mandator", []string{"target-mandator-name", "Other AG", "target-folder-id", text(o.inbox)}, 400, "target-mandator-name"},
		{"id and path differ", append([]string{"target-folder-path", "/Other AG"}, in...), 400, "target-folder-path"},
		{"keywords", append([]string{"keywords", `a\b`}, in...), 400, "keywords"},
		{"document types", append([]string{"document-types", `a\`}, in...), 400, "document-types"},
		{"metadata escape", append([]string{"external-metadatas", `a=\x`}, in...), 400, "external-metadatas"},
		{"metadata without value", append([]string{"external-metadatas", "a"}, in...), 400, "external-metadatas"},
		{"metadata without key", append([]string{"external-metadatas", "=1"}, in...), 400, "external-metadatas"},
		{"order", append([]string{"email-import-order", "BOTH"}, in...), 400, "email-import-order"},
		{"force", append([]string{"external-id", "1", "force-new-document", "ja"}, in...), 400, "force-new-document"},
		{"force without an external id", append([]string{"force-new-document", "ja"}, in...), 400, "force-new-document"},
		{"name not UTF-8", append([]string{"target-document-name", "\xff"}, in...), 400, "target-document-name"},
		{"name with NUL", append([]string{"target-document-name", "a\x00b"}, in...), 400, "target-document-name"},
		{"keyword with NUL", append([]string{"keywords", "a\x00b"}, in...), 400, "keywords"},
		{"keyword too long", append([]string{"keywords", "a," + strings.Repeat("x", 1025)}, in...), 413, "keywords"},
		{"too many keywords", append([]string{"keywords", many(1001, "")}, in...), 413, "keywords"},
		{"too many types", append([]string{"document-types", many(1001, "")}, in...), 413, "document-types"},
		{"too much metadata", append([]string{"external-metadatas", many(1001, "=x")}, in...), 413, "external-metadatas"},
		{"metadata key too long", append([]string{"external-metadatas", strings.Repeat("x", 1025) + "=1"}, in...), 413, "external-metadatas"},
		{"metadata value too long", append([]string{"external-metadatas", "a=" + strings.Repeat("x", 64<<10+1)}, in...), 413, "external-metadatas"},
		{"metadata with NUL", append([]string{"external-metadatas", "a=\x00"}, in...), 400, "external-metadatas"},
		{"external id too long", append([]string{"external-id", strings.Repeat("x", 1025)}, in...), 413, "external-id"},
		{"external id with NUL", append([]string{"external-id", "\x00"}, in...), 400, "external-id"},
		{"name too long", append([]string{"target-document-name", strings.Repeat("x", 1025)}, in...), 400, "target-document-name"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantProblem(t, h.upload("f.txt", "refused", test.fields...), test.status, test.field)
		})
	}
	if got := names(h.list(o.mandator, "&subfolders-recursive=true")); !slices.Equal(got, []string{"a", "b", "c"}) {
		t.Errorf("something was archived: %v", got)
	}
	wantStaged(t, h, 0)
}

// The error for a file in a wrong field names the right one.
func TestAFileInAnotherField(t *testing.T) {
	t.Parallel()
	h := start(t)
	furnish(t, h)
	for name, blamed := range map[string]string{"file": "file", "keywords": "keywords", "upload_data": "upload_data", "": "upload-data"} {
		for _, size := range []int{1, 300 << 10} {
			body, contentType := multipartBody(t, "f", strings.Repeat("x", size))
			sent := strings.Replace(body.String(), `name="upload-data"`, `name="`+name+`"`, 1)
			a := h.send(http.MethodPost, "/file-upload", contentType, strings.NewReader(sent))
			wantProblem(t, a, http.StatusBadRequest, blamed)
			if !strings.Contains(a.body, "a file belongs in upload-data") {
				t.Errorf("%q of %d bytes: %s", name, size, a.body)
			}
		}
	}
	wantStaged(t, h, 0)
}

// many is a list of so many items, each with an end.
func many(n int, end string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d%s,", i, end)
	}
	return b.String()
}

// A document with as much metadata as allowed is stored unchanged.
func TestUploadTakesMuchMetadata(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	long := strings.Repeat("ä", 512)
	name := "line\nand \t\\ / : " + long[:1000]
	id := h.uploaded("f.txt", "x", "target-folder-id", text(o.other), "target-document-name", name,
		"keywords", many(998, "")+long+","+strings.Repeat("0,", 10_000)+"last", "external-id", long,
		"external-metadatas", many(999, "=1")+long+"="+strings.Repeat("y", 64<<10))
	d := h.list(o.other)[0]
	if d.ID != id || d.Name != name || len(d.Keywords) != 1000 || d.Keywords[998] != long || d.Keywords[999] != "last" {
		t.Errorf("%q with %d keywords", d.Name, len(d.Keywords))
	}
	if len(d.Metadata) != 1000 || d.Metadata[999].Key != long || len(d.Metadata[999].Value) != 64<<10 {
		t.Errorf("%d entries of metadata", len(d.Metadata))
	}
	bad, err := json.Marshal(map[string]string{"a": strings.Repeat("x", 64<<10+1)})
	if err != nil {
		t.Fatal(err)
	}
	list, err := json.Marshal(strings.Split(many(1001, ""), ","))
	if err != nil {
		t.Fatal(err)
	}
	path := "/document/" + text(id)
	wantProblem(t, h.postJSON(path+"/metadata", string(bad)), http.StatusRequestEntityTooLarge, "metadata")
	wantProblem(t, h.postJSON(path+"/metadata", `{"a":"\u0000"}`), http.StatusBadRequest, "metadata")
	wantProblem(t, h.postJSON(path+"/metadata", `{"":"x"}`), http.StatusBadRequest, "metadata")
	wantProblem(t, h.postJSON(path+"/keywords", string(list)), http.StatusRequestEntityTooLarge, "keywords")
	wantProblem(t, h.postJSON(path+"/keywords", `["\u0000"]`), http.StatusBadRequest, "keywords")
	wantProblem(t, h.post(path+"/rename", "new-name", "\x00"), http.StatusBadRequest, "new-name")
}

func TestUploadRefusesBadBodies(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	whole, contentType := multipartBody(t, "f.txt", strings.Repeat("x", 1000), "target-folder-id", text(o.year))
	post := func(body, contentType string) answer {
		return h.send(http.MethodPost, "/file-upload", contentType, strings.NewReader(body))
	}
	part := func(disposition, content string) string {
		return "--B\r\nContent-Disposition: form-data; " + disposition + "\r\n\r\n" + content + "\r\n"
	}
	const typ = "multipart/form-data; boundary=B"
	target := part(`name="target-folder-id"`, text(o.year))
	for name, test := range map[string]struct {
		answer answer
		field  string
	}{
		"no multipart":         {h.post("/file-upload", "target-folder-id", "1"), ""},
		"no boundary":          {post(whole.String(), "multipart/form-data"), ""},
		"cut in the file":      {post(whole.String()[:500], contentType), "upload-data"},
		"cut before the end":   {post(part(`name="upload-data"; filename="f"`, "x")+target, typ), ""},
		"cut after a boundary": {post(part(`name="upload-data"; filename="f"`, "x")+target+"--B\r\n", typ), ""},
		"no file":              {post(target+"--B--\r\n", typ), "upload-data"},
		"two files":            {post(part(`name="upload-data"; filename="f"`, "x")+part(`name="upload-data"; filename="g"`, "x")+target+"--B--\r\n", typ), "upload-data"},
		"base64 without name":  {post(target+part(`name="upload-data-base64"`, "eHl6")+"--B--\r\n", typ), "target-document-name"},
		"broken base64":        {post(target+part(`name="upload-data-base64"`, "e!l6")+"--B--\r\n", typ), "upload-data-base64"},
		"blanks in base64":     {post(target+part(`name="target-document-name"`, "d")+part(`name="upload-data-base64"`, "eH l6")+"--B--\r\n", typ), "upload-data-base64"},
		"base64 for addresses": {post(target+part(`name="target-document-name"`, "d")+part(`name="upload-data-base64"`, "_-l6")+"--B--\r\n", typ), "upload-data-base64"},
		"cut base64":           {post(target+part(`name="upload-data-base64"`, "eHl6e")+"--B--\r\n", typ), "upload-data-base64"},
		"file without a name":  {post(target+part(`name="upload-data"`, "x")+"--B--\r\n", typ), "target-document-name"},
	} {
		t.Run(name, func(t *testing.T) { wantProblem(t, test.answer, http.StatusBadRequest, test.field) })
	}
	huge := part(`name="keywords"`, strings.Repeat("x", 1<<20+1))
	wantProblem(t, post(huge+target+"--B--\r\n", typ), http.StatusRequestEntityTooLarge, "keywords")
	if got := names(h.list(o.year)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("something was archived: %v", got)
	}
	wantStaged(t, h, 0)
}

func TestUploadTakesFieldsInAnyOrder(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for _, field := range [][2]string{
		{"keywords", "k"},
		{"target-folder-id", text(o.other)},
		{"target-document-name", "d"},
		{"upload-data-base64", base64.StdEncoding.EncodeToString([]byte("hello"))},
		{"external-id", "e"},
	} {
		if err := w.WriteField(field[0], field[1]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if a := h.send(http.MethodPost, "/file-upload", w.FormDataContentType(), &body); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if d := h.list(o.other)[0]; d.Name != "d" || *d.Length != 5 || !slices.Equal(d.Keywords, []string{"k"}) {
		t.Errorf("listed %+v", d)
	}
}

func TestUploadIsBounded(t *testing.T) {
	t.Parallel()
	h := start(t, func(o *server.Options) { o.MaxUpload = 1 << 10 })
	o := furnish(t, h)
	h.uploaded("fits", strings.Repeat("x", 1<<10), "target-folder-id", text(o.year))
	refused := h.upload("large", strings.Repeat("x", 1<<10+1), "target-folder-id", text(o.year))
	wantProblem(t, refused, http.StatusRequestEntityTooLarge, "upload-data")
	if want := "the file is larger than 1.0 KiB"; !strings.Contains(refused.body, want) {
		t.Errorf("answered %s, want %q", refused.body, want)
	}
	wantStaged(t, h, 0)
}

func TestUploadWithAnExternalID(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	send := func(content string, folder archive.ID, more ...string) archive.ID {
		return h.uploaded("f", content, append([]string{"target-folder-id", text(folder)}, more...)...)
	}
	first := send("one", o.year, "external-id", "E")
	for name, test := range map[string]struct {
		id   archive.ID
		same bool
	}{
		"repeated":       {send("one", o.year, "external-id", "E"), true},
		"not forced":     {send("one", o.year, "external-id", "E", "force-new-document", "false"), true},
		"forced":         {send("one", o.year, "external-id", "E", "force-new-document", "true"), false},
		"other content":  {send("two", o.year, "external-id", "E"), false},
		"other folder":   {send("one", o.other, "external-id", "E"), false},
		"other id":       {send("one", o.year, "external-id", "F"), false},
		"no external id": {send("one", o.year), false},
	} {
		if (test.id == first) != test.same {
			t.Errorf("%s: id %d, the first was %d", name, test.id, first)
		}
	}
}

// The answer to an upload is lost, and the document is archived before the upload is repeated.
func TestUploadThatIsRepeatedAfterItWasArchived(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	send := func(content string, folder archive.ID, more ...string) archive.ID {
		return h.uploaded("f.eml", content, append([]string{"target-folder-id", text(folder), "external-id", "E"}, more...)...)
	}
	const attachments = "ATTACHMENTS_ONLY"
	const letter = "From: a@example.org\r\nMIME-Version: 1.0\r\nContent-Type: multipart/mixed; boundary=M\r\n\r\n" +
		"--M\r\nContent-Disposition: attachment; filename=scan\r\nContent-Type: image/png\r\n\r\nscan\r\n--M--\r\n"
	first, parted := send("one", o.spare), send(letter, o.spare, "email-import-order", attachments)
	for _, id := range []archive.ID{first, parted} {
		if a := h.post("/document/"+text(id)+"/archive", "target-folder-id", text(o.other)); a.status != http.StatusOK {
			t.Fatalf("archive: %d %s", a.status, a.body)
		}
	}
	archived, left := h.list(o.other), len(h.list(o.spare))
	if again := send("one", o.spare); again != archived[0].ID {
		t.Errorf("document %d, and %d was archived", again, archived[0].ID)
	}
	if again := send(letter, o.spare, "email-import-order", attachments); again != archived[1].ID {
		t.Errorf("document %d, and %d was archived", again, archived[1].ID)
	}
	if got := len(h.list(o.spare)); got != left {
		t.Errorf("%d documents in the inbox, want %d", got, left)
	}
	for name, id := range map[string]archive.ID{
		"other content": send("two", o.spare), "other inbox": send("one", o.inbox), "forced": send("one", o.spare, "force-new-document", "true"),
	} {
		if id <= archived[1].ID {
			t.Errorf("%s: document %d", name, id)
		}
	}
}

func TestUploadsInParallel(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	const uploads = 24
	var wg sync.WaitGroup
	ids := make([]archive.ID, uploads)
	for n := range uploads {
		wg.Go(func() {
			// A third share one content; another third is inbox documents, deleted at once.
			content, folder := fmt.Sprint("content ", n%3*n), o.year
			if n%3 == 1 {
				folder = o.spare
			}
			ids[n] = h.uploaded(fmt.Sprint("file ", n), content, "target-folder-id", text(folder))
			if n%3 == 1 {
				if a := h.post("/document/" + text(ids[n]) + "/delete"); a.status != http.StatusOK {
					t.Errorf("delete: %d %s", a.status, a.body)
				}
			}
		})
	}
	wg.Wait()
	if got := len(h.list(o.spare)); got != 0 {
		t.Errorf("%d documents are left in the inbox", got)
	}
	for n, id := range ids {
		if n%3 == 1 {
			continue
		}
		if a := h.get("/document/" + text(id) + "/pdf?original=true"); a.body != fmt.Sprint("content ", n%3*n) {
			t.Errorf("document %d: %d %q", id, a.status, a.body)
		}
	}
	wantStaged(t, h, 0)
}

func TestUploadIsCutOffByItsClient(t *testing.T) {
	t.Parallel()
	h := start(t)
	o := furnish(t, h)
	r, w := io.Pipe()
	go func() {
		_, _ = io.WriteString(w, "--B\r\nContent-Disposition: form-data; name=\"upload-data\"; filename=\"f\"\r\n\r\nhalf")
		_ = w.CloseWithError(io.ErrClosedPipe)
	}()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/file-upload", r)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("API-Key", testKey)
	request.Header.Set("Content-Type", "multipart/form-data; boundary=B")
	if response, err := http.DefaultClient.Do(request); err == nil {
		_ = response.Body.Close()
		t.Errorf("status %d for half a request", response.StatusCode)
	}
	if got := names(h.list(o.year)); !slices.Equal(got, []string{"a", "b"}) {
		t.Errorf("something was archived: %v", got)
	}
}
