package apiclient

import (
	"context"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// seen is a request as the service saw it.
type seen struct {
	line   string // method, path and query
	media  string
	form   string // of a form or multipart body: name=value, one a line
	body   string // of any other
	accept string
}

func look(t *testing.T, r *http.Request) seen {
	t.Helper()
	s := seen{line: r.Method + " " + r.URL.RequestURI(), accept: r.Header.Get("Accept")}
	media, params, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	s.media = media
	body, err := io.ReadAll(r.Body)
	if err != nil {
		t.Error(err)
	}
	if r.ContentLength != int64(len(body)) {
		t.Errorf("Content-Length %d for %d bytes", r.ContentLength, len(body))
	}
	switch media {
	case mediaForm:
		values, err := url.ParseQuery(string(body))
		if err != nil {
			t.Error(err)
		}
		s.form = strings.ReplaceAll(values.Encode(), "&", "\n")
	case "multipart/form-data":
		s.form = lookMultipart(t, string(body), params["boundary"])
	default:
		s.body = string(body)
	}
	return s
}

func lookMultipart(t *testing.T, body, boundary string) string {
	t.Helper()
	var lines []string
	for reader := multipart.NewReader(strings.NewReader(body), boundary); ; {
		part, err := reader.NextRawPart()
		if err == io.EOF { //nolint:errorlint // io.EOF is returned as it is
			return strings.Join(lines, "\n")
		}
		if err != nil {
			t.Error(err)
			return ""
		}
		value, err := io.ReadAll(part)
		if err != nil {
			t.Error(err)
		}
		name := part.FormName()
		if part.FileName() != "" {
			name += "(" + part.FileName() + ", " + part.Header.Get("Content-Type") + ")"
		}
		lines = append(lines, name+"="+string(value))
	}
}

// spelled is a call of a Client, and the one request that it sends.
type spelled struct {
	name   string
	answer string
	call   func(context.Context, *Client) error
	want   seen
}

// everyRequest has each operation at least once.
func everyRequest() []spelled {
	upload := archive.Upload{
		Folder: 9, Name: `Müller "A" \ 1.pdf`, Attributes: archive.Attributes{
			Keywords: []string{"a,b", "c"}, Types: []string{"Rechnung"},
			ExternalID: "x-1", Metadata: []archive.KeyValue{{Key: "k=1", Value: "v,2"}, {Key: "l", Value: ""}},
			EmailImportOrder: archive.EmailOnly, ForceNew: archive.FlagTrue,
		},
	}
	return []spelled{
		{"structure", `{"folders":[]}`, func(ctx context.Context, c *Client) error {
			_, err := c.Structure(ctx, 0, false)
			return err
		}, seen{line: "GET /archivestructure"}},
		{"structure below a parent, lazy", `{"folders":[]}`, func(ctx context.Context, c *Client) error {
			_, err := c.Structure(ctx, 5, true)
			return err
		}, seen{line: "GET /archivestructure?lazy=true&parent-folder-id=5"}},
		{"children of the archive", `{"folders":[]}`, func(ctx context.Context, c *Client) error {
			_, err := c.Children(ctx, 0)
			return err
		}, seen{line: "GET /archivestructure?lazy=true"}},
		{"documents", `[]`, func(ctx context.Context, c *Client) error {
			_, err := c.Documents(ctx, 7, archive.ListOptions{})
			return err
		}, seen{line: "GET /document/list?folder-id=7"}},
		{"documents with every option", `[]`, func(ctx context.Context, c *Client) error {
			_, err := c.Documents(ctx, 7, archive.ListOptions{
				IncludeMetadata: []string{"a", "b,c"}, ExcludeMetadata: []string{"d"}, WithAutoExport: true,
				CreatedAfter: time.Date(2024, 3, 1, 23, 0, 0, 0, time.UTC), Recursive: true,
			})
			return err
		}, seen{line: "GET /document/list?excluded-matadata-keys=d&filter-date-created-after=2024-03-01&folder-id=7" +
			"&included-metadata-keys=a%2Cb%5C%2Cc&subfolders-recursive=true&with-autoexport-status=true"}},
		{"upload", `17`, func(ctx context.Context, c *Client) error {
			_, err := c.Upload(ctx, upload, newBlob("bytes"))
			return err
		}, seen{line: "POST /file-upload", media: "multipart/form-data", form: strings.Join([]string{
			"target-folder-id=9", `target-document-name=Müller "A" \ 1.pdf`, `keywords=a\,b,c`, "document-types=Rechnung",
			"external-id=x-1", `external-metadatas=k\=1=v\,2,l=`, "email-import-order=EMAIL_ONLY", "force-new-document=true",
			`upload-data(Müller "A" \ 1.pdf, application/octet-stream)=bytes`,
		}, "\n")}},
		{"upload of just a file", `17`, func(ctx context.Context, c *Client) error {
			_, err := c.Upload(ctx, archive.Upload{Folder: 9, Name: "a.pdf"}, newBlob("bytes"))
			return err
		}, seen{line: "POST /file-upload", media: "multipart/form-data", form: "target-folder-id=9\n" +
			"target-document-name=a.pdf\nupload-data(a.pdf, application/octet-stream)=bytes"}},
		{"create folder", `{"id":8,"name":"2018"}`, func(ctx context.Context, c *Client) error {
			_, err := c.CreateFolder(ctx, 3, "Jan & Feb")
			return err
		}, seen{line: "POST /folder/create", media: mediaForm, form: "folder-name=Jan+%26+Feb\nparent-folder-id=3"}},
		{"inboxes", `{"inboxes":[]}`, func(ctx context.Context, c *Client) error {
			_, err := c.Inboxes(ctx)
			return err
		}, seen{line: "GET /inboxes"}},
		{"archive", ``, func(ctx context.Context, c *Client) error {
			return c.Archive(ctx, 4, archive.ArchiveTarget{Folder: 9})
		}, seen{line: "POST /document/4/archive", media: mediaForm, form: "target-folder-id=9"}},
		{"archive under another name", ``, func(ctx context.Context, c *Client) error {
			return c.Archive(ctx, 4, archive.ArchiveTarget{Folder: 9, Name: "y.pdf", Keywords: []string{"a", "b"}})
		}, seen{line: "POST /document/4/archive", media: mediaForm, form: "keywords=a%2Cb\ntarget-document-name=y.pdf\ntarget-folder-id=9"}},
		{
			"auto-export", ``, func(ctx context.Context, c *Client) error { return c.SetAutoExport(ctx, 4, true) },
			seen{line: "POST /document/auto_export_status/set", media: mediaForm, form: "autoexport-status=true\ndocument-id=4"},
		},
		{"data", `{"id":4}`, func(ctx context.Context, c *Client) error {
			_, err := c.Data(ctx, 4)
			return err
		}, seen{line: "GET /document/4/data"}},
		{"what else came of an upload", `[5, "6"]`, func(ctx context.Context, c *Client) error {
			ids, err := c.UploadedWith(ctx, 4)
			if err == nil && !slices.Equal(ids, []archive.ID{5, 6}) {
				err = fmt.Errorf("%v", ids)
			}
			return err
		}, seen{line: "GET /document/4/uploaded-with"}},
		{"original", `x`, readAll(archive.Original), seen{line: "GET /document/4/pdf?original=true", accept: acceptAny}},
		{"PDF", `x`, readAll(archive.PDF), seen{line: "GET /document/4/pdf", accept: acceptAny}},
		{"head of the original", ``, func(ctx context.Context, c *Client) error {
			_, err := c.ContentInfo(ctx, 4, archive.Original)
			return err
		}, seen{line: "HEAD /document/4/pdf?original=true", accept: acceptAny}},
		{"head of the PDF", ``, func(ctx context.Context, c *Client) error {
			_, err := c.ContentInfo(ctx, 4, archive.PDF)
			return err
		}, seen{line: "HEAD /document/4/pdf", accept: acceptAny}},
		{"text", `x`, readAll(archive.Text), seen{line: "GET /document/4/ocr-result", accept: acceptAny}},
		{"preview", `x`, readAll(archive.Preview), seen{line: "GET /page/4/preview?bbox-height=2400&bbox-width=2400", accept: acceptAny}},
		{"search", `{"totalHitDocuments":0,"documents":[]}`, func(ctx context.Context, c *Client) error {
			_, err := c.Search(ctx, archive.Search{Text: []string{"a b"}}, 1)
			return err
		}, seen{line: "POST /search?fulltext-all=a+b&pagination-page=0&pagination-size=100"}},
		{"metadata", `{}`, func(ctx context.Context, c *Client) error {
			_, err := c.Metadata(ctx, 4)
			return err
		}, seen{line: "GET /document/4/metadata"}},
		{"set metadata", ``, func(ctx context.Context, c *Client) error {
			return c.SetMetadata(ctx, 4, []archive.KeyValue{{Key: "b", Value: "2"}, {Key: "a", Value: "1"}})
		}, seen{line: "POST /document/4/metadata", media: mediaJSON, body: `{"a":"1","b":"2"}`}},
		{
			"set keywords", ``, func(ctx context.Context, c *Client) error { return c.SetKeywords(ctx, 4, []string{"a,b", "c"}) },
			seen{line: "POST /document/4/keywords", media: mediaJSON, body: `["a,b","c"]`},
		},
		{
			"remove keywords", ``, func(ctx context.Context, c *Client) error { return c.SetKeywords(ctx, 4, nil) },
			seen{line: "POST /document/4/keywords", media: mediaJSON, body: `[]`},
		},
		{
			"rename", ``, func(ctx context.Context, c *Client) error { return c.Rename(ctx, 4, "neu.pdf") },
			seen{line: "POST /document/4/rename", media: mediaForm, form: "new-name=neu.pdf"},
		},
		{"replace", ``, func(ctx context.Context, c *Client) error {
			return c.Replace(ctx, 4, "a.pdf", []string{"x,y"}, newBlob("new"))
		}, seen{
			line: "POST /document/4/replace?keywords=x%5C%2Cy", media: "multipart/form-data",
			form: "upload-data(a.pdf, application/octet-stream)=new",
		}},
		{"delete", ``, func(ctx context.Context, c *Client) error { return c.Delete(ctx, 4) }, seen{line: "POST /document/4/delete"}},
	}
}

// media is the type of the answer.
func (s spelled) media() string {
	if s.want.accept == acceptAny {
		return "application/octet-stream"
	}
	return mediaJSON
}

// operation makes the call, and returns the operation that it asked for.
func (s spelled) operation(t *testing.T) Operation {
	t.Helper()
	c := newService(t, answer(http.StatusOK, s.media(), s.answer))
	if err := s.call(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	stats := &c.service.sender.stats
	stats.mu.Lock()
	defer stats.mu.Unlock()
	for op := range stats.rows {
		return op
	}
	t.Fatalf("%s asked for nothing", s.name)
	return Operation{}
}

func TestEveryOperationIsTried(t *testing.T) {
	tried := map[string]bool{}
	for _, tc := range everyRequest() {
		tried[tc.operation(t).name] = true
	}
	for _, name := range declared(t) {
		if !tried[name] {
			t.Errorf("everyRequest lacks %s", name)
		}
	}
}

func TestRequestsAreSpelledAsSpecified(t *testing.T) {
	for _, tc := range everyRequest() {
		t.Run(tc.name, func(t *testing.T) {
			var got []seen
			c := newService(t, func(w http.ResponseWriter, r *http.Request) {
				got = append(got, look(t, r))
				reply(w, http.StatusOK, tc.media(), tc.answer)
			}, func(cfg *Config) { cfg.Location = time.UTC })
			if err := tc.call(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			if tc.want.accept == "" {
				tc.want.accept = "application/json, text/plain;q=0.9, */*;q=0.1"
			}
			if want := []seen{tc.want}; !reflect.DeepEqual(got, want) {
				t.Errorf("sent\n%+v\nwant\n%+v", got, want)
			}
		})
	}
}

func readAll(as archive.Representation) func(context.Context, *Client) error {
	return func(ctx context.Context, c *Client) error {
		content, err := c.Content(ctx, archive.ContentRequest{Document: 4, Representation: as})
		if err != nil {
			return err
		}
		if _, err := io.ReadAll(content.Body); err != nil {
			return err
		}
		return content.Body.Close()
	}
}

func TestCredentialsAreSentAsOneSet(t *testing.T) {
	for _, tc := range []struct {
		name        string
		credentials Credentials
		want        http.Header
	}{
		{
			"set A",
			Credentials{APIKey: testKey, User: "anna", Password: "geheim"},
			http.Header{"Api-Key": {testKey}, "Authorization": {"Basic YW5uYTpnZWhlaW0="}},
		},
		{"set B", Credentials{APIKey: testKey, CloudID: "c-1"}, http.Header{"Api-Key": {testKey}, "Cloud-Id": {"c-1"}}},
		{"key alone", Credentials{APIKey: testKey}, http.Header{"Api-Key": {testKey}}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := http.Header{}
			c := newService(t, func(w http.ResponseWriter, r *http.Request) {
				for _, name := range []string{"Api-Key", "Cloud-Id", "Authorization"} {
					if values := r.Header.Values(name); values != nil {
						got[name] = values
					}
				}
				reply(w, http.StatusOK, mediaJSON, `{"folders":[]}`)
			}, func(cfg *Config) { cfg.Credentials = tc.credentials })
			if _, err := c.Structure(t.Context(), 0, false); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, tc.want) {
				t.Errorf("sent %v, want %v", got, tc.want)
			}
		})
	}
}

func TestArgumentsThatCannotBeSentAreRefused(t *testing.T) {
	c := newService(t, func(http.ResponseWriter, *http.Request) { t.Error("a request was sent") })
	ctx := t.Context()
	for _, tc := range []struct {
		op   Operation
		call func() error
	}{
		{OpDocumentList, func() error { _, err := c.Documents(ctx, 0, archive.ListOptions{}); return err }},
		{OpDocumentData, func() error { _, err := c.Data(ctx, 0); return err }},
		{OpFileUpload, func() error { _, err := c.Upload(ctx, archive.Upload{Name: "a"}, newBlob("x")); return err }},
		{OpFileUpload, func() error {
			_, err := c.Upload(ctx, archive.Upload{Folder: 1, Attributes: archive.Attributes{EmailImportOrder: "ALL"}}, newBlob("x"))
			return err
		}},
		{OpFileUpload, func() error {
			_, err := c.Upload(ctx, archive.Upload{Folder: 1, Name: "a\xff"}, newBlob("x"))
			return err
		}},
		{OpFolderCreate, func() error { _, err := c.CreateFolder(ctx, 0, "a"); return err }},
		{OpFolderCreate, func() error { _, err := c.CreateFolder(ctx, 1, "\xff"); return err }},
		{OpArchive, func() error { return c.Archive(ctx, 4, archive.ArchiveTarget{}) }},
		{OpAutoExportSet, func() error { return c.SetAutoExport(ctx, 0, true) }},
		{OpRename, func() error { return c.Rename(ctx, 4, "\xff") }},
		{OpDelete, func() error { return c.Delete(ctx, 0) }},
		{OpReplace, func() error { return c.Replace(ctx, 0, "a", nil, newBlob("x")) }},
		{OpUploadedWith, func() error { _, err := c.UploadedWith(ctx, 0); return err }},
		{OpMetadata, func() error { _, err := c.Metadata(ctx, 0); return err }},
		{OpMetadataSet, func() error { return c.SetMetadata(ctx, 4, []archive.KeyValue{{Key: "a", Value: "\xff"}}) }},
		{OpKeywordsSet, func() error { return c.SetKeywords(ctx, 4, []string{"\xff"}) }},
		{OpOriginal, func() error {
			_, err := c.Content(ctx, archive.ContentRequest{Representation: archive.Original})
			return err
		}},
		{OpPDF, func() error { _, err := c.Content(ctx, archive.ContentRequest{Document: 4}); return err }},
	} {
		wantKind(t, tc.call(), tc.op, archive.KindInvalid)
	}
}
