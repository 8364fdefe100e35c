package apiclient

import (
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/archivefs/archivefs/archive"
)

var testZone = time.FixedZone("test", 2*60*60)

func inTestZone(cfg *Config) { cfg.Location = testZone }

func TestDocumentsDecodes(t *testing.T) {
	date := time.Date(2023, 11, 22, 14, 14, 29, 0, testZone)
	doc := func(change func(*archive.Document)) []archive.Document {
		d := archive.Document{ID: 1, Size: archive.SizeUnknown}
		change(&d)
		return []archive.Document{d}
	}
	plain := doc(func(*archive.Document) {})
	for _, tc := range []struct {
		name, body string
		want       []archive.Document
	}{
		{
			"every field", `[{"id":1,"name":"a.pdf","num-pages":3,"creation-date":"2023-11-22T14:14:29",` +
				`"archiving-date":"2023-11-22T12:14:29Z","archiving-user-id":5,"folder-id":7,"keywords":["x","y,z"],` +
				`"external-metadata":[{"key":"b","value":"2"},{"key":"a","value":1}],"autoexport-status":true,` +
				`"content-length":99,"content-type":"application/pdf","unknown":{"a":[1,{}]}}]`,
			[]archive.Document{{
				ID: 1, Name: "a.pdf", Pages: 3, Created: date, Archived: date, Folder: 7, Keywords: []string{"x", "y,z"},
				Metadata:   []archive.KeyValue{{Key: "b", Value: "2"}, {Key: "a", Value: "1"}},
				AutoExport: archive.FlagTrue, Size: 99, ContentType: "application/pdf",
			}},
		},
		{"nulls", `[{"id":1,"name":null,"num-pages":null,"creation-date":null,"archiving-date":null,"folder-id":null,` +
			`"keywords":null,"external-metadata":null,"autoexport-status":null,"content-length":null,"content-type":null}]`, plain},
		{"only an id", "\ufeff [{\"id\":1}] \n", plain},
		{"empty", `[]`, nil},
		{"one document for an array", `{"id":1}`, plain},
		{
			"strings for numbers", `[{"id":"1","num-pages":"3","folder-id":" 7 ","content-length":"99"}]`,
			doc(func(d *archive.Document) { d.Pages, d.Folder, d.Size = 3, 7, 99 }),
		},
		{
			"number and boolean for a string", `[{"id":1,"name":17.50,"content-type":true}]`,
			doc(func(d *archive.Document) { d.Name, d.ContentType = "17.50", "true" }),
		},
		{"array of one for a string", `[{"id":1,"name":["a"]}]`, doc(func(d *archive.Document) { d.Name = "a" })},
		{"other shapes read as absent", `[{"id":1,"name":{"de":"a"},"num-pages":[1,2],"keywords":{"a":1},"external-metadata":7,` +
			`"autoexport-status":"perhaps","content-length":"much","creation-date":"soon"}]`, plain},
		{
			"keywords as a string", `[{"id":1,"keywords":"x, y\\,z,,"}]`,
			doc(func(d *archive.Document) { d.Keywords = []string{"x", "y,z"} }),
		},
		{
			"keywords of other types", `[{"id":1,"keywords":[1,null,"","x",{}]}]`,
			doc(func(d *archive.Document) { d.Keywords = []string{"1", "x"} }),
		},
		{
			"metadata as an object", `[{"id":1,"external-metadata":{"b":"2","a":null,"c":{"x": 1}}}]`,
			doc(func(d *archive.Document) {
				d.Metadata = []archive.KeyValue{{Key: "b", Value: "2"}, {Key: "c", Value: `{"x": 1}`}}
			}),
		},
		{
			"metadata as one entry", `[{"id":1,"external-metadata":{"key":"a","value":"1"}}]`,
			doc(func(d *archive.Document) { d.Metadata = []archive.KeyValue{{Key: "a", Value: "1"}} }),
		},
		{
			"auto-export-status", `[{"id":1,"auto-export-status":"false"}]`,
			doc(func(d *archive.Document) { d.AutoExport = archive.FlagFalse }),
		},
		{
			"autoExportStatus", `[{"id":1,"autoExportStatus":"TRUE"}]`,
			doc(func(d *archive.Document) { d.AutoExport = archive.FlagTrue }),
		},
		{
			"autoexportStatus", `[{"id":1,"autoexportStatus":1}]`,
			doc(func(d *archive.Document) { d.AutoExport = archive.FlagTrue }),
		},
		{
			"absurd numbers", `[{"id":1,"num-pages":-3,"content-length":-1,"folder-id":1.5},{"id":1,"content-length":9e30}]`,
			append(plain, plain...),
		},
		{
			"escapes in a name", `[{"id":1,"name":"a\u00fc\n\"\\\ud83d\ude00"}]`,
			doc(func(d *archive.Document) { d.Name = "aü\n\"\\😀" }),
		},
		{"elements without an id are left out", `[{"name":"a"},{"id":null},null,7,[],{"id":1},{"id":"x"},{"id":9223372036854775813}]`, plain},
		{"ids that are not positive", `[{"id":1},{"id":0,"folder-id":"0"},{"id":-5,"folder-id":-7},{"id":"-0.0"}]`, []archive.Document{
			{ID: archive.NewID(0), Folder: archive.NewID(0), Size: archive.SizeUnknown},
			{ID: archive.NewID(0), Size: archive.SizeUnknown},
			{ID: -5, Folder: -7, Size: archive.SizeUnknown},
			plain[0],
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, answer(http.StatusOK, mediaJSON, tc.body), inTestZone)
			got, err := c.Documents(t.Context(), 7, archive.ListOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if !equalDocuments(got, tc.want) {
				t.Errorf("got\n%+v\nwant\n%+v", got, tc.want)
			}
		})
	}
}

// equalDocuments compares dates as instants.
func equalDocuments(a, b []archive.Document) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		x, y := a[i], b[i]
		if !x.Created.Equal(y.Created) || !x.Archived.Equal(y.Archived) {
			return false
		}
		x.Created, x.Archived, y.Created, y.Archived = time.Time{}, time.Time{}, time.Time{}, time.Time{}
		if !reflect.DeepEqual(x, y) {
			return false
		}
	}
	return true
}

func TestDocumentsRefuses(t *testing.T) {
	for _, tc := range []struct{ name, media, body, want string }{
		{"an empty body", mediaJSON, "", "empty"},
		{"blanks", mediaJSON, " \n", "empty"},
		{"a login page", "text/html; charset=utf-8", "<html>", "web page"},
		{"a login page called JSON", mediaJSON, "\n<!DOCTYPE html>", "web page"},
		{"a broken element", mediaJSON, `[{"id":1},{"id":2 "x":3}]`, "byte 19"},
		{"a broken element after a byte order mark", mediaJSON, "\ufeff" + `[{"id":1},{"id":2 "x":3}]`, "byte 22"},
		{"a trailing comma", mediaJSON, `[{"id":1},]`, "byte 10"},
		{"a missing comma", mediaJSON, `[{"id":1} {"id":2}]`, "byte 11"},
		{"an end in an element", mediaJSON, `[{"id":1},{"id":`, "byte 16: unexpected EOF"},
		{"an end between elements", mediaJSON, `[{"id":1},`, "unexpected EOF"},
		{"an end after an element", mediaJSON, `[{"id":1}`, "unexpected EOF"},
		{"what follows", mediaJSON, `[{"id":1}] {}`, "something follows"},
		{"a second list", mediaJSON, `[{"id":1}][`, "something follows"},
		{"a number", mediaJSON, `17`, "no list of documents"},
		{"a text", mediaJSON, `"no"`, "no list of documents"},
		{"null", mediaJSON, `null`, "no list of documents"},
		{"an empty object", mediaJSON, `{}`, "no element"},
		{"an object of something else", mediaJSON, `{"error":"session expired"}`, "no element"},
		{"a list of something else", mediaJSON, `[{"nummer":1}]`, "no element"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, answer(http.StatusOK, tc.media, tc.body))
			_, err := c.Documents(t.Context(), 7, archive.ListOptions{})
			wantKind(t, err, OpDocumentList, archive.KindForeign)
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %q, want %q", err, tc.want)
			}
		})
	}
}

func TestDocumentsWarnsOfWhatItLeavesOut(t *testing.T) {
	log, out := newLog()
	c := newService(t, answer(http.StatusOK, mediaJSON, `[{"id":1},{},{}]`), func(cfg *Config) { cfg.Log = log })
	if _, err := c.Documents(t.Context(), 7, archive.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.Contains(got, "level=warning") || !strings.Contains(got, "documents=2") {
		t.Errorf("log is %q", got)
	}
}

// Texts that documents have in common are kept once, and stay what they are.
func TestSharedTexts(t *testing.T) {
	var s shared
	doc := func() *archive.Document {
		return &archive.Document{
			ContentType: strings.Clone("application/pdf"), Keywords: []string{strings.Clone("Rechnung"), ""},
			Metadata: []archive.KeyValue{{Key: strings.Clone("Kunde"), Value: "4711"}},
		}
	}
	first, second := doc(), doc()
	s.document(first)
	s.document(second)
	for _, pair := range [][2]string{
		{first.ContentType, second.ContentType}, {first.Keywords[0], second.Keywords[0]}, {first.Metadata[0].Key, second.Metadata[0].Key},
	} {
		if pair[0] != pair[1] || unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			t.Errorf("%q and %q are kept twice", pair[0], pair[1])
		}
	}
	if want := doc(); fmt.Sprint(*second) != fmt.Sprint(*want) {
		t.Errorf("%+v, want %+v", *second, *want)
	}
	for i := range 2 * maxShared {
		if text := fmt.Sprint(i); s.text(text) != text {
			t.Errorf("%s became another text", text)
		}
	}
	if len(s) > maxShared {
		t.Errorf("%d texts are kept", len(s))
	}
}
