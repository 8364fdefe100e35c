package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"image"
	"image/jpeg"
	"image/png"
	"io"
	"maps"
	"mime/multipart"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/oapitest"
)

// clientsOffice is an archive that archivefs serve presents: M, in it F with a picture and a text, and the inbox I of eve
// with a letter.
type clientsOffice struct {
	url                             string // with /api/v2
	key                             string
	eve                             int64
	mandator, folder, inbox         int64
	picture, text, letter, uploaded int64
}

// serveOffice serves it until the test ends.
func serveOffice(t *testing.T) *clientsOffice {
	t.Helper()
	isolate(t)
	ctx, dir := t.Context(), filepath.Join(t.TempDir(), "data")
	var wrong []error
	id := func(id archive.ID, err error) int64 {
		wrong = append(wrong, err)
		return int64(id)
	}
	s, err := server.Open(ctx, server.Options{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	admin, err := server.OpenAdmin(ctx, server.Place{Data: dir})
	if err != nil {
		t.Fatal(err)
	}
	o := &clientsOffice{}
	o.eve, err = admin.AddUser(ctx, "eve", "geheim")
	wrong = append(wrong, err)
	_, o.key, err = admin.AddKey(ctx, server.NewKey{})
	wrong = append(wrong, err)
	o.mandator = id(s.AddMandator(ctx, "M"))
	o.folder = id(s.AddFolder(ctx, archive.ID(o.mandator), "F"))
	o.inbox = id(s.AddInbox(ctx, o.eve, "I"))
	day := time.Date(2023, 11, 22, 14, 14, 29, 0, time.Local)
	var drawn bytes.Buffer
	wrong = append(wrong, png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 40, 20))))
	add := func(folder int64, name, content string, archived time.Time) int64 {
		return id(s.AddDocument(ctx, server.NewDocument{
			Folder: archive.ID(folder), Name: name, Created: day, Archived: archived, Keywords: []string{"paid", "due"}, Types: []string{"invoice"},
			ExternalID: "E-" + name, Metadata: []archive.KeyValue{{Key: "number", Value: "17"}},
			Notes: []archive.Note{{Text: "a note", Date: "2023-11-22 15:00:00", Creator: "eve"}}, Stamps: []archive.Stamp{{Title: "PAID", Text: "by eve", Date: "2023-11-22 15:00:00", Creator: "eve"}},
		}, strings.NewReader(content)))
	}
	o.picture = add(o.folder, "picture.png", drawn.String(), day.Add(time.Hour))
	o.text = add(o.folder, "text.txt", "some words", day.Add(time.Hour))
	o.letter = add(o.inbox, "letter.txt", "a letter", time.Time{})
	wrong = append(wrong, admin.Close(), s.Close())
	if err := errors.Join(wrong...); err != nil {
		t.Fatal(err)
	}
	o.url = start(t, "serve", "--listen", "127.0.0.1:0", "--data", dir).line("serving " + dir + " at ")
	return o
}

// sign adds the credentials that eve has.
func (o *clientsOffice) sign(_ context.Context, r *http.Request) error {
	r.Header.Set("API-Key", o.key)
	r.SetBasicAuth("eve", "geheim")
	return nil
}

// page is the id of a document's only page.
func (o *clientsOffice) page(document int64) int64 { return document<<16 + 1 }

// operations are those of an OpenAPI document, as METHOD PATH, with their operationId.
func operations(t *testing.T, document []byte) map[string]string {
	t.Helper()
	var d struct {
		Paths map[string]map[string]json.RawMessage
	}
	if err := json.Unmarshal(document, &d); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for path, item := range d.Paths {
		for method, text := range item {
			var operation struct{ OperationID string }
			if json.Unmarshal(text, &operation) == nil && operation.OperationID != "" { // else parameters, or servers
				found[strings.ToUpper(method)+" "+path] = operation.OperationID
			}
		}
	}
	return found
}

// fine fails the test unless an answer is 200, and returns it.
func fine[R interface {
	StatusCode() int
	GetBody() []byte
}](t *testing.T) func(R, error) R {
	return func(r R, err error) R {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		if r.StatusCode() != http.StatusOK {
			t.Fatalf("%T: %d %s", r, r.StatusCode(), r.GetBody())
		}
		return r
	}
}

// form is a multipart form with a file.
func form(t *testing.T, name, content string, fields ...string) (contentType string, body io.Reader) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	part, err := w.CreateFormFile("upload-data", name)
	if err == nil {
		_, err = io.WriteString(part, content)
	}
	for i := 0; i < len(fields) && err == nil; i += 2 {
		err = w.WriteField(fields[i], fields[i+1])
	}
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), &b
}

// A client that oapi-codegen makes of the service's own description can do all that is described, and understands
// the answers.
func TestAClientGeneratedByOapiCodegen(t *testing.T) {
	o := serveOffice(t)
	ctx := t.Context()
	client := func(url string, options ...oapitest.ClientOption) *oapitest.ClientWithResponses {
		c, err := oapitest.NewClientWithResponses(url, options...)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	c := client(o.url, oapitest.WithRequestEditorFn(o.sign))
	anybody, root := client(o.url), client(strings.TrimSuffix(o.url, "/api/v2"))
	yes, no, text := new(true), new(false), func(s string) *string { return &s }
	want := func(what string, got, want any) {
		t.Helper()
		if g, w := asJSON(t, got), asJSON(t, want); g != w {
			t.Errorf("%s: %s, want %s", what, g, w)
		}
	}
	list := func(folder int64) []oapitest.ListedDocument {
		t.Helper()
		return *fine[*oapitest.DocumentListResponse](t)(c.DocumentListWithResponse(ctx, &oapitest.DocumentListParams{FolderId: folder, WithAutoexportStatus: yes})).JSON200
	}
	calls := []struct { // made in this order
		operation string
		call      func()
	}{
		{"healthz", func() {
			want("it is alive", string(fine[*oapitest.HealthzResponse](t)(root.HealthzWithResponse(ctx)).Body), "ok\n")
		}},
		{"readyz", func() { fine[*oapitest.ReadyzResponse](t)(root.ReadyzWithResponse(ctx)) }},
		{"archiveStructure", func() {
			all := fine[*oapitest.ArchiveStructureResponse](t)(c.ArchiveStructureWithResponse(ctx, &oapitest.ArchiveStructureParams{Lazy: no})).JSON200
			want("folders", (*all.Folders[0].Folders)[0].Id, o.folder)
			below := fine[*oapitest.ArchiveStructureResponse](t)(c.ArchiveStructureWithResponse(ctx, &oapitest.ArchiveStructureParams{ParentFolderId: &o.mandator, Lazy: yes})).JSON200
			want("the folder below", []any{below.Folders[0].Id, below.Folders[0].Folders, below.FreeArchiveStructure}, []any{o.folder, nil, true})
		}},
		{"inboxes", func() {
			all := fine[*oapitest.InboxesResponse](t)(c.InboxesWithResponse(ctx, &oapitest.InboxesParams{Lazy: yes})).JSON200
			want("inboxes", []any{all.Inboxes[0].Folder.Id, all.Inboxes[0].UserId, len(all.Folders)}, []any{o.inbox, o.eve, 0})
		}},
		{"documentList", func() {
			after, only := "2023-11-21", "number"
			found := *fine[*oapitest.DocumentListResponse](t)(c.DocumentListWithResponse(ctx, &oapitest.DocumentListParams{
				FolderId: o.mandator, SubfoldersRecursive: yes, WithAutoexportStatus: yes, FilterDateCreatedAfter: &after, IncludedMetadataKeys: &only,
			})).JSON200
			d := found[0]
			want("a document", []any{len(found), d.Id, d.Name, d.NumPages, d.AutoexportStatus, d.ArchivingUserId, d.Keywords, d.ExternalMetadata},
				[]any{2, o.picture, "picture.png", 1, false, 0, []string{"paid", "due"}, []oapitest.KeyValue{{Key: "number", Value: "17"}}})
			want("its dates", []string{d.CreationDate.Format(time.DateTime), d.ArchivingDate.Format(time.DateTime)}, []string{"2023-11-22 14:14:29", "2023-11-22 15:14:29"})
			if left := list(o.inbox)[0].ArchivingDate; left != nil {
				t.Errorf("archived, and in an inbox: %s", left)
			}
		}},
		{"documentData", func() {
			d := fine[*oapitest.DocumentDataResponse](t)(c.DocumentDataWithResponse(ctx, o.text)).JSON200
			want("the data", []any{d.Id, d.Mandator, d.FolderPath, d.CreatorId, d.External, d.Classification, d.CreationDate.Format(time.DateTime)},
				[]any{o.text, "M", "/F/", 0, oapitest.External{ExternalId: "E-text.txt", Metadata: oapitest.Metadata{"number": "17"}}, []string{"invoice"}, "2023-11-22 14:14:29"})
			p := d.Pages[0]
			want("its page", []any{p.Id, p.Notes[0].Text, p.Notes[0].CreatorId, p.Stamps[0].Title, p.Stamps[0].CreatorId}, []any{o.page(o.text), "a note", o.eve, "PAID", o.eve})
		}},
		{"documentPDF", func() {
			whole := fine[*oapitest.DocumentPDFResponse](t)(c.DocumentPDFWithResponse(ctx, o.text, &oapitest.DocumentPDFParams{Original: yes}))
			want("what was put in", string(whole.Body), "some words")
			pdf := fine[*oapitest.DocumentPDFResponse](t)(c.DocumentPDFWithResponse(ctx, o.text, &oapitest.DocumentPDFParams{Original: no, Annotations: text("note,stamp")}))
			want("the PDF", string(pdf.Body[:5]), "%PDF-")
		}},
		{"documentHead", func() {
			head := fine[*oapitest.DocumentHeadResponse](t)(c.DocumentHeadWithResponse(ctx, o.text, &oapitest.DocumentHeadParams{Original: yes}))
			want("the length", head.HTTPResponse.ContentLength, len("some words"))
		}},
		{"documentText", func() {
			want("the text", string(fine[*oapitest.DocumentTextResponse](t)(c.DocumentTextWithResponse(ctx, o.text)).Body), "some words")
		}},
		{"pageText", func() {
			want("a page's", string(fine[*oapitest.PageTextResponse](t)(c.PageTextWithResponse(ctx, o.page(o.text))).Body), "some words")
		}},
		{"pagePreview", func() {
			side := oapitest.Side(20)
			got := fine[*oapitest.PagePreviewResponse](t)(c.PagePreviewWithResponse(ctx, o.page(o.picture), &oapitest.PagePreviewParams{BboxWidth: &side, BboxHeight: &side}))
			drawn, err := jpeg.DecodeConfig(bytes.NewReader(got.Body))
			want("the preview", []any{got.HTTPResponse.Header.Get("Content-Type"), drawn.Width, drawn.Height, err}, []any{"image/jpeg", 20, 10, nil})
		}},
		{"search", func() {
			size, page, from := 1, 0, "2023-11-22T00:00:00+00:00"
			hits := fine[*oapitest.SearchResponse](t)(c.SearchWithResponse(ctx, &oapitest.SearchParams{
				DocumentNameTerms: text("picture"), KeywordTerms: text("paid"), ExternalMetadata: text("number=17"), FromDate: &from, LocationFolderId: &o.mandator,
				Recursive: yes, IncludeTrash: no, PaginationSize: &size, PaginationPage: &page,
			})).JSON200
			want("hits", []any{hits.TotalHitDocuments, hits.Documents[0].Id}, []any{1, o.picture})
		}},
		{"metadataSet", func() {
			fine[*oapitest.MetadataSetResponse](t)(c.MetadataSetWithResponse(ctx, o.text, oapitest.MetadataSetJSONRequestBody{"colour": text("grün"), "number": nil}))
		}},
		{"metadata", func() {
			want("metadata", fine[*oapitest.MetadataResponse](t)(c.MetadataWithResponse(ctx, o.picture)).JSON200, oapitest.Metadata{"number": "17"})
		}},
		{"keywordsSet", func() {
			fine[*oapitest.KeywordsSetResponse](t)(c.KeywordsSetWithResponse(ctx, o.text, oapitest.KeywordsSetJSONRequestBody{"one", "two, three"}))
			want("keywords", list(o.folder)[1].Keywords, []string{"one", "two, three"})
		}},
		{"documentRename", func() {
			fine[*oapitest.DocumentRenameResponse](t)(c.DocumentRenameWithFormdataBodyWithResponse(ctx, o.text, oapitest.DocumentRenameFormdataRequestBody{NewName: "Größe & mehr.txt"}))
			want("the name", list(o.folder)[1].Name, "Größe & mehr.txt")
		}},
		{"autoExportStatusSet", func() {
			fine[*oapitest.AutoExportStatusSetResponse](t)(c.AutoExportStatusSetWithFormdataBodyWithResponse(ctx, oapitest.AutoExportStatusSetFormdataRequestBody{DocumentId: o.text, AutoexportStatus: true}))
			want("the status", list(o.folder)[1].AutoexportStatus, true)
		}},
		{"folderCreate", func() {
			made := fine[*oapitest.FolderCreateResponse](t)(c.FolderCreateWithFormdataBodyWithResponse(ctx, oapitest.FolderCreateFormdataRequestBody{ParentFolderId: o.folder, FolderName: "neu"})).JSON200
			want("the folder", made.Name, "neu")
			again, err := c.FolderCreateWithFormdataBodyWithResponse(ctx, oapitest.FolderCreateFormdataRequestBody{ParentFolderId: o.folder, FolderName: "neu"})
			if err != nil || again.ApplicationproblemJSON409 == nil || *again.ApplicationproblemJSON409.Field != "folder-name" {
				t.Errorf("the same folder again: %+v, %v", again, err)
			}
		}},
		{"fileUpload", func() {
			contentType, body := form(t, "scan.txt", "a scan", "target-folder-id", strconv.FormatInt(o.inbox, 10), "force-new-document", "true", "keywords", "a,b")
			id, err := strconv.ParseInt(string(fine[*oapitest.FileUploadResponse](t)(c.FileUploadWithBodyWithResponse(ctx, contentType, body)).Body), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			want("uploaded with it", fine[*oapitest.UploadedWithResponse](t)(c.UploadedWithWithResponse(ctx, id)).JSON200, []int64{})
			o.uploaded = id
		}},
		{"uploadedWith", func() { fine[*oapitest.UploadedWithResponse](t)(c.UploadedWithWithResponse(ctx, o.letter)) }},
		{"documentReplace", func() {
			contentType, body := form(t, "letter.txt", "another letter")
			fine[*oapitest.DocumentReplaceResponse](t)(c.DocumentReplaceWithBodyWithResponse(ctx, o.letter, &oapitest.DocumentReplaceParams{Keywords: text("new")}, contentType, body))
		}},
		{"openAPI", func() { fine[*oapitest.OpenAPIResponse](t)(anybody.OpenAPIWithResponse(ctx)) }},
		{"documentArchive", func() {
			fine[*oapitest.DocumentArchiveResponse](t)(c.DocumentArchiveWithFormdataBodyWithResponse(ctx, o.letter, oapitest.DocumentArchiveFormdataRequestBody{TargetFolderPath: text("/M/F"), Keywords: text("done")}))
			if d := list(o.folder)[2]; d.Name != "letter.txt" || d.ArchivingUserId != o.eve {
				t.Errorf("archived: %+v", d)
			}
		}},
		{"documentDelete", func() {
			fine[*oapitest.DocumentDeleteResponse](t)(c.DocumentDeleteWithResponse(ctx, o.uploaded))
			if left := list(o.inbox); len(left) != 0 {
				t.Errorf("left in the inbox: %+v", left)
			}
		}},
	}
	var called []string
	for _, each := range calls {
		called = append(called, each.operation)
		each.call()
	}
	slices.Sort(called)
	described := operations(t, fine[*oapitest.OpenAPIResponse](t)(anybody.OpenAPIWithResponse(ctx)).Body)
	if want := slices.Sorted(maps.Values(described)); !slices.Equal(called, want) {
		t.Errorf("called are %q, described %q", called, want)
	}
	refused, err := anybody.InboxesWithResponse(ctx, &oapitest.InboxesParams{})
	if err != nil || refused.ApplicationproblemJSON401 == nil {
		t.Errorf("without credentials: %+v, %v", refused, err)
	}
}

func asJSON(t *testing.T, value any) string {
	t.Helper()
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
