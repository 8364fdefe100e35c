package server_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

// hits is the answer of a search, independently of the service's own type.
type hits struct {
	Total     int `json:"totalHitDocuments"`
	Documents []struct {
		ID       archive.ID `json:"id"`
		Name     string     `json:"name"`
		Mandator string     `json:"mandator"`
		Path     string     `json:"folderPath"`
		Pages    []struct {
			ID  int64 `json:"id"`
			Hit bool  `json:"hit"`
		} `json:"pages"`
	} `json:"documents"`
}

// found searches; the parameters are given as name, value, name, value.
func (h *service) found(parameters ...string) hits {
	h.t.Helper()
	return decode[hits](h.t, h.send(http.MethodPost, "/search?"+asQuery(parameters...), "", nil))
}

func asQuery(parameters ...string) string {
	values := url.Values{}
	for i := 0; i < len(parameters); i += 2 {
		values.Add(parameters[i], parameters[i+1])
	}
	return values.Encode()
}

func (h hits) names() []string {
	names := []string{}
	for _, d := range h.Documents {
		names = append(names, d.Name)
	}
	return names
}

// library is an office with three more documents, which differ in everything that can be searched.
func library(t *testing.T) (*service, office) {
	h := start(t)
	o := furnish(t, h)
	for _, d := range []server.NewDocument{
		{
			Folder: o.other, Name: "Übergabe Straße.txt", Created: time.Date(2024, 5, 31, 23, 59, 59, 0, time.UTC),
			Keywords: []string{"Frau Muster", "unpaid"}, Types: []string{"Vertrag"}, ExternalID: "X-1",
			Metadata: []archive.KeyValue{{Key: "amount", Value: "100 EUR"}},
		},
		{Folder: o.other, Name: "100% \"sure\"", Created: time.Date(2024, 6, 1, 0, 0, 0, 0, time.UTC)},
		{
			Folder: o.mandator, Name: "z", Created: time.Date(2024, 6, 2, 0, 0, 0, 0, time.UTC),
			Notes: []archive.Note{{Text: "ask Eve about Berlin"}}, Stamps: []archive.Stamp{{Title: "Geprüft", Text: "gut"}},
		},
	} {
		d.Archived = d.Created
		if _, err := h.AddDocument(t.Context(), d, strings.NewReader("text")); err != nil {
			t.Fatal(err)
		}
	}
	return h, o
}

func TestSearch(t *testing.T) {
	t.Parallel()
	h, o := library(t)
	const strasse, sure = "Übergabe Straße.txt", `100% "sure"`
	for _, test := range []struct {
		name       string
		parameters []string
		want       []string
	}{
		{"everything, the youngest first", nil, []string{"z", sure, strasse, "c", "b", "scan", "a"}},
		{"a word of the name", []string{"fulltext-all", "übergabe"}, []string{strasse}},
		{"in other letters", []string{"fulltext-all", "U\u0308BERGABE STRASSE"}, []string{strasse}},
		{"a word of a keyword", []string{"fulltext-all", "muster"}, []string{strasse}},
		{"a phrase", []string{"fulltext-all", `"frau muster"`}, []string{strasse}},
		{"no phrase", []string{"fulltext-all", `"muster frau"`}, []string{}},
		{"words of different places", []string{"fulltext-all", "vertrag eur x-1"}, []string{strasse}},
		{"a note", []string{"fulltext-all", "berlin"}, []string{"z"}},
		{"a stamp", []string{"fulltext-all", "GEPRÜFT gut"}, []string{"z"}},
		{"no wildcards", []string{"fulltext-all", "%"}, []string{sure}},
		{"one of two", []string{"fulltext-one", "berlin vertrag"}, []string{"z", strasse}},
		{"none of two", []string{"fulltext-none", "paid berlin"}, []string{sure}},
		{"name", []string{"document-name-terms", "straße übergabe"}, []string{strasse}},
		{"not the name", []string{"document-name-terms", "berlin"}, []string{}},
		{"keyword", []string{"keyword-terms", "PAID"}, []string{strasse, "c", "b", "scan", "a"}},
		{"keywords with a comma", []string{"keyword-terms", `paid,x\,y`}, []string{"c", "b", "scan", "a"}},
		{"parts of two keywords", []string{"keyword-terms", "muster,unp"}, []string{strasse}},
		{"no such keywords", []string{"keyword-terms", "unpaid,x"}, []string{}},
		{"a keyword, not a type", []string{"keyword-terms", "vertrag"}, []string{}},
		{"type", []string{"document-type", "vertrag"}, []string{strasse}},
		{"external id", []string{"external-id", "X-1"}, []string{strasse}},
		{"part of an external id", []string{"external-id", "xt-"}, []string{"c", "b", "scan", "a"}},
		{"an external id, not a keyword", []string{"external-id", "paid"}, []string{}},
		{"metadata", []string{"external-metadata", "amount=100 eur"}, []string{strasse}},
		{"part of a value of metadata", []string{"external-metadata", "amount=00 e"}, []string{strasse}},
		{"parts of two values", []string{"external-metadata", `number=1,amount=\,`}, []string{"c", "b", "scan", "a"}},
		{"metadata of another key", []string{"external-metadata", "number=100 eur"}, []string{}},
		{"part of a key", []string{"external-metadata", "mount=100 eur"}, []string{}},
		{"note", []string{"note-terms", "eve berlin"}, []string{"z"}},
		{"stamp", []string{"stamps-inclusive", "geprüft"}, []string{"z"}},
		{"no stamp", []string{"stamps-exclusive", "paid,geprüft"}, []string{sure, strasse}},
		{"folder name", []string{"folder-name-terms", "rechnung"}, []string{"c", "b", "a"}},
		{"names of a folder's path", []string{"folder-name-terms", "2018 muster"}, []string{"b", "a"}},
		{"a path", []string{"folder-name-terms", "rechnungen/2018"}, []string{"b", "a"}},
		{"names of two paths", []string{"folder-name-terms", "2018 other"}, []string{}},
		{"folder of an inbox", []string{"folder-name-terms", "administrator"}, []string{"scan"}},
		{"any workflow", []string{"workflow-name", "*"}, []string{}},
		{"state of a workflow", []string{"workflow-state", "open", "keyword-terms", "paid"}, []string{}},
		{"follow-up", []string{"followup-terms", "berlin"}, []string{}},
		{"archiver", []string{"archiver-id", "999"}, []string{}},
		{"from a day on", []string{"from-date", "2024-05-31"}, []string{"z", sure, strasse}},
		{"up to a day", []string{"to-date", "2024-05-31", "from-date", "2024-01-01"}, []string{strasse}},
		{"from a second on", []string{"from-date", "2024-06-01T00:00:00"}, []string{"z", sure}},
		{"up to a second", []string{"to-date", "2024-06-01T00:00:00", "from-date", "2024-01-01"}, []string{sure, strasse}},
		{"location", []string{"location", "/Muster GmbH/Rechnungen/"}, []string{"c", "b", "a"}},
		{"location alone", []string{"location", "/Muster GmbH/Rechnungen/", "recursive", "false"}, []string{"c"}},
		{"inbox", []string{"location", "INBOX/Administrator"}, []string{"scan"}},
		{"folder", []string{"location-folder-id", text(o.year), "include-trash", "true"}, []string{"b", "a"}},
		{"folder and word", []string{"location-folder-id", text(o.mandator), "fulltext-all", "berlin"}, []string{"z"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			got := h.found(test.parameters...)
			if names := got.names(); !slices.Equal(names, test.want) || got.Total != len(test.want) {
				t.Errorf("found %d: %q, want %q", got.Total, names, test.want)
			}
		})
	}
	d := h.found("external-id", "ext-a").Documents[0]
	if d.ID != o.a || d.Mandator != "Muster GmbH" || d.Path != "/Rechnungen/2018/" || len(d.Pages) != 1 {
		t.Errorf("the extended document is %+v", d)
	}
}

func TestSearchPages(t *testing.T) {
	t.Parallel()
	h, _ := library(t)
	all := h.found().names()
	for page, want := range [][]string{all[:3], all[3:6], all[6:], {}} {
		got := h.found("pagination-size", "3", "pagination-page", strconv.Itoa(page))
		if names := got.names(); !slices.Equal(names, want) || got.Total != len(all) {
			t.Errorf("page %d of %d: %q, want %q", page, got.Total, names, want)
		}
	}
}

// Documents that are added between two pages of a search do not shift the pages.
func TestSearchPagesStay(t *testing.T) {
	t.Parallel()
	h, o := library(t)
	all := h.found().names()
	if got := h.found("pagination-size", "3").names(); !slices.Equal(got, all[:3]) {
		t.Errorf("first page: %q", got)
	}
	h.uploaded("new.txt", "text", "target-folder-id", text(o.other))
	if got := h.found("pagination-size", "3", "pagination-page", "1").names(); !slices.Equal(got, all[3:6]) {
		t.Errorf("second page: %q, want %q", got, all[3:6])
	}
	if got := h.found("pagination-size", "3", "pagination-page", "1", "fulltext-all", "new"); got.Total != 1 || len(got.names()) != 0 {
		t.Errorf("the second page of another search: %+v", got)
	}
	if got := h.found("pagination-size", "3").names(); got[0] != "new.txt" {
		t.Errorf("first page, anew: %q", got)
	}
}

func TestSearchRefuses(t *testing.T) {
	t.Parallel()
	h, o := library(t)
	for _, test := range []struct {
		parameters []string
		status     int
		field      string
	}{
		{[]string{"pagination-size", "0"}, 400, "pagination-size"},
		{[]string{"pagination-size", "101"}, 400, "pagination-size"},
		{[]string{"pagination-page", "-1"}, 400, "pagination-page"},
		{[]string{"pagination-page", "x"}, 400, "pagination-page"},
		{[]string{"from-date", "2024-02-30"}, 400, "from-date"},
		{[]string{"to-date", "yesterday"}, 400, "to-date"},
		{[]string{"archiver-id", "Eve"}, 400, "archiver-id"},
		{[]string{"workflow-state", "\xff"}, 400, "workflow-state"},
		{[]string{"recursive", "2"}, 400, "recursive"},
		{[]string{"include-trash", "2"}, 400, "include-trash"},
		{[]string{"external-metadata", "amount"}, 400, "external-metadata"},
		{[]string{"fulltext-all", "\xff"}, 400, "fulltext-all"},
		{[]string{"location-folder-id", "x"}, 400, "location-folder-id"},
		{[]string{"location-folder-id", "999"}, 404, "location-folder-id"},
		{[]string{"location", "/Muster GmbH/No"}, 404, "location"},
		{[]string{"location", "INBOX/No"}, 404, "location"},
		{[]string{"location", "/Muster GmbH", "location-folder-id", text(o.year)}, 400, "location"},
	} {
		wantProblem(t, h.send(http.MethodPost, "/search?"+asQuery(test.parameters...), "", nil), test.status, test.field)
	}
}

// Searches that are too large for the database are refused, and words that are too long for its index are
// not found there.
func TestSearchForMuch(t *testing.T) {
	t.Parallel()
	h, _ := library(t)
	words := make([]string, 201)
	for i := range words {
		words[i] = fmt.Sprintf("überlegte%d", i)
	}
	for _, parameter := range []string{"fulltext-all", "fulltext-one", "fulltext-none", "document-name-terms", "folder-name-terms", "note-terms"} {
		if got := h.found(parameter, strings.Join(words[1:], " ")); (got.Total > 0) != (parameter == "fulltext-none") {
			t.Errorf("%s: %d documents", parameter, got.Total)
		}
		wantProblem(t, h.send(http.MethodPost, "/search?"+asQuery(parameter, strings.Join(words, " ")), "", nil), http.StatusBadRequest, "")
	}
	for _, long := range []string{strings.Repeat("a", 20_000), `"short ` + strings.Repeat("ä", 2_000) + `"`, strings.Repeat("ab1-", 2_000)} {
		if got := h.found("fulltext-all", long); got.Total != 0 {
			t.Errorf("%.20q...: %d documents", long, got.Total)
		}
	}
}

// Hits are sent as they are read, so documents of many pages do not fill the memory. Documents that are
// removed meanwhile are left out.
func TestSearchSendsWhatItReads(t *testing.T) {
	t.Parallel()
	h := start(t)
	h.url = "http://" + h.narrow() + "/api/v2"
	inbox, err := h.AddInbox(t.Context(), 7, "I")
	if err != nil {
		t.Fatal(err)
	}
	const all = 4
	var oldest archive.ID
	for range all {
		d := server.NewDocument{Folder: inbox, Name: "many pages.txt", Created: time.Now()}
		id, err := h.AddDocument(t.Context(), d, strings.NewReader(strings.Repeat("page\f", 19_000)))
		if err != nil {
			t.Fatal(err)
		}
		oldest = cmp.Or(oldest, id)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, h.url+"/search?"+asQuery("pagination-size", text(all)), nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("API-Key", testKey)
	response, err := h.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	begin := make([]byte, 1)
	if _, err := io.ReadFull(response.Body, begin); err != nil {
		t.Fatal(err)
	}
	if a := h.post("/document/" + text(oldest) + "/delete"); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	rest, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	var got hits
	if err := json.Unmarshal(append(begin, rest...), &got); err != nil || got.Total != all || len(got.Documents) != all-1 {
		t.Errorf("%d of %d documents, %v", len(got.Documents), got.Total, err)
	}
}
