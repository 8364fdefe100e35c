package apiclient

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestSearchAsks(t *testing.T) {
	day := time.Date(2024, 1, 2, 23, 0, 0, 0, time.FixedZone("far", -12*60*60))
	for _, tc := range []struct {
		search archive.Search
		want   string
	}{
		{archive.Search{}, ""},
		{archive.Search{Notes: []string{"call", "back"}, Stamps: []string{"paid", "in part"}}, "note-terms=call+back&stamps-inclusive=paid%2Cin+part&"},
		{archive.Search{Text: []string{"a", `"b c"`}, Name: []string{"n", "m"}}, "document-name-terms=n+m&fulltext-all=a+%22b+c%22&"},
		{archive.Search{Keywords: []string{"x,y", "z"}, Type: "T U"}, "document-type=T+U&keyword-terms=x%5C%2Cy%2Cz&"},
		{archive.Search{From: day, To: day.AddDate(0, 0, 1)}, "from-date=2024-01-02&to-date=2024-01-03&"},
		{archive.Search{Folder: 7}, "location-folder-id=7&"},
	} {
		c := newService(t, func(w http.ResponseWriter, r *http.Request) {
			query := r.URL.Query()
			if r.Method != http.MethodPost || r.URL.Path != "/search" || r.Header.Get("Prefer") != "return=minimal" || query.Get("pagination-page") != "0" || query.Get("pagination-size") != "100" {
				t.Errorf("%s %s", r.Method, r.URL)
			}
			query.Del("pagination-page")
			query.Del("pagination-size")
			if got := query.Encode(); got != strings.TrimSuffix(tc.want, "&") {
				t.Errorf("asked %s, want %s", got, tc.want)
			}
			reply(w, http.StatusOK, mediaJSON, `{"totalHitDocuments":0,"documents":[]}`)
		})
		if hits, err := c.Search(t.Context(), tc.search, 5); err != nil || len(hits.List) != 0 || hits.Total != 0 {
			t.Errorf("%+v: %+v, %v", tc.search, hits, err)
		}
	}
	c := newService(t, func(http.ResponseWriter, *http.Request) { t.Error("asked for what is no text") })
	_, err := c.Search(t.Context(), archive.Search{Name: []string{"\xff"}}, 5)
	wantKind(t, err, OpSearch, archive.KindInvalid)
}

func TestSearchDecodes(t *testing.T) {
	one := []archive.Hit{{Document: 1}}
	for _, tc := range []struct {
		name, body string
		want       []archive.Hit
		total      int
		kind       archive.Kind // of the error, if any
	}{
		{
			"every field", `{"totalHitDocuments":1,"documents":[{"id":1,"name":"a.pdf","numPages":2,"mandator":"M","folderId":7,"folderPath":"/x/",` +
				`"creationDate":"2017-10-17 05:03:25","keywords":["x"],"pages":[{"id":5,"hit":true}]}]}`,
			[]archive.Hit{{Document: 1, Name: "a.pdf", Pages: 2, Mandator: "M", Folder: 7, Created: time.Date(2017, 10, 17, 5, 3, 25, 0, testZone)}},
			1, 0,
		},
		{"nothing", `{"totalHitDocuments":0,"documents":[]}`, nil, 0, 0},
		{"nothing, null", `{"totalHitDocuments":0,"documents":null}`, nil, 0, 0},
		{"nothing at all", `null`, nil, 0, 0},
		{"only a total", `{"totalHitDocuments":0}`, nil, 0, 0},
		{"no total", `{"documents":[{"id":1}]}`, one, 1, 0},
		{"a total that is none", `{"totalHitDocuments":"many","documents":[{"id":1}]}`, one, 1, 0},
		{"a total that is less", `{"totalHitDocuments":0,"documents":[{"id":1}]}`, one, 1, 0},
		{"strings, a single document", "\ufeff" + `{"TotalHitDocuments":"1","documents":{"id":"1","name":null}}`, one, 1, 0},
		{"nulls and the same twice", `{"totalHitDocuments":1,"documents":[null,{"id":1},{"id":1}]}`, one, 1, 0},
		{"one without an id", `{"totalHitDocuments":2,"documents":[{"name":"a"},{"id":1}]}`, one, 2, 0},
		{"none with an id", `{"totalHitDocuments":1,"documents":[{"name":"a"}]}`, nil, 0, archive.KindProtocol},
		{"something else", `{"hits":[]}`, nil, 0, archive.KindProtocol},
		{"a list", `[{"id":1}]`, nil, 0, archive.KindProtocol},
		{"cut off", `{"totalHitDocuments":1,"documents":[{"id":1}`, nil, 0, archive.KindProtocol},
		{"a login page", `<html>`, nil, 0, archive.KindForeign},
	} {
		t.Run(tc.name, func(t *testing.T) {
			pages := 0
			c := newService(t, func(w http.ResponseWriter, r *http.Request) {
				body := tc.body
				if pages++; r.URL.Query().Get("pagination-page") != "0" {
					body = `{"totalHitDocuments":2,"documents":[]}`
				}
				reply(w, http.StatusOK, mediaJSON, body)
			}, inTestZone)
			hits, err := c.Search(t.Context(), archive.Search{}, 10)
			if tc.kind != archive.KindOther {
				wantKind(t, err, OpSearch, tc.kind)
				return
			}
			if err != nil || !reflect.DeepEqual(hits.List, tc.want) || hits.Total != tc.total {
				t.Errorf("got %+v, %v; want %d: %+v", hits, err, tc.total, tc.want)
			}
		})
	}
}

// All pages are asked for, once each, however the service counts.
func TestSearchPages(t *testing.T) {
	for name, tc := range map[string]struct {
		shape           hostile.SearchShape
		documents       int
		limit           int
		found, requests int
	}{
		"one page":                {hostile.SearchShape{}, 100, 1000, 100, 1},
		"three pages":             {hostile.SearchShape{}, 250, 1000, 250, 3},
		"no total":                {hostile.SearchShape{NoTotal: true}, 250, 1000, 250, 3},
		"no total, a full page":   {hostile.SearchShape{NoTotal: true}, 200, 1000, 200, 3},
		"smaller pages":           {hostile.SearchShape{PageLimit: 20}, 50, 1000, 50, 3},
		"no pages":                {hostile.SearchShape{FirstPage: true}, 250, 1000, 100, 2},
		"no more than the limit":  {hostile.SearchShape{}, 250, 120, 120, 2},
		"exactly the limit":       {hostile.SearchShape{}, 250, 100, 100, 1},
		"nothing":                 {hostile.SearchShape{}, 0, 1000, 0, 1},
		"nothing, null, no total": {hostile.SearchShape{EmptyNull: true, NoTotal: true}, 0, 1000, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			s := hostile.New(hostile.Config{Search: tc.shape})
			m := s.AddMandator("M")
			for i := range tc.documents {
				s.AddDocument(m, hostile.Document{Name: strconv.Itoa(i)})
			}
			c := newClient(t, Config{BaseURL: s.Start(t), Credentials: Credentials{APIKey: testKey}})
			hits, err := c.Search(t.Context(), archive.Search{}, tc.limit)
			if err != nil || len(hits.List) != tc.found || !tc.shape.NoTotal && hits.Total != tc.documents {
				t.Errorf("found %d of %d, %v; want %d", len(hits.List), hits.Total, err, tc.found)
			}
			if got := len(s.Requests()); got != tc.requests || len(s.Violations()) != 0 {
				t.Errorf("%d requests, want %d; %q", got, tc.requests, s.Violations())
			}
		})
	}
}

// The client reads what the embedded service writes.
func TestSearchOfTheEmbeddedService(t *testing.T) {
	service, err := server.Open(t.Context(), server.Options{
		Data: t.TempDir(), Credentials: server.Credentials{APIKey: testKey}, Location: testZone,
	})
	if err != nil {
		t.Fatal(err)
	}
	web := httptest.NewServer(service.Handler())
	t.Cleanup(func() {
		web.Close()
		if err := service.Close(); err != nil {
			t.Error(err)
		}
	})
	mandator, err := service.AddMandator(t.Context(), "Muster GmbH")
	if err != nil {
		t.Fatal(err)
	}
	var want []archive.Hit
	for i := range 230 {
		created := time.Date(2024, 1, 1, 12, 0, 0, 0, testZone).AddDate(0, 0, -i)
		d := server.NewDocument{Folder: mandator, Name: fmt.Sprintf("Übersicht %03d.txt", i), Created: created, Archived: created, Keywords: []string{"x,y"}}
		id, err := service.AddDocument(t.Context(), d, strings.NewReader("text"))
		if err != nil {
			t.Fatal(err)
		}
		if i >= 1 { // before the day that is asked for
			want = append(want, archive.Hit{Document: id, Name: d.Name, Pages: 1, Created: created, Folder: mandator, Mandator: "Muster GmbH"})
		}
	}
	c := newClient(t, Config{BaseURL: web.URL, Credentials: Credentials{APIKey: testKey}, Location: testZone})
	hits, err := c.Search(t.Context(), archive.Search{
		Text: []string{"ÜBERSICHT"}, Keywords: []string{"x,y"}, To: time.Date(2023, 12, 31, 0, 0, 0, 0, time.UTC), Folder: mandator,
	}, 10_000)
	if err != nil || hits.Total != len(want) || !reflect.DeepEqual(hits.List, want) {
		t.Errorf("found %d, %v; want %d", hits.Total, err, len(want))
	}
	text := readAll(archive.Text)
	if err := text(t.Context(), c); err != nil {
		t.Error(err)
	}
	wantKind(t, readAll(archive.Preview)(t.Context(), c), OpPreview, archive.KindNotFound)
}

// A search that is not there is learned from its first answer; a text or a preview that is not there says
// nothing about the next document.
func TestMissingSearchTextAndPreview(t *testing.T) {
	for _, status := range []int{404, 405, 501} {
		requests := 0
		c := newService(t, func(w http.ResponseWriter, _ *http.Request) {
			requests++
			reply(w, status, "", "")
		})
		for range 2 {
			_, err := c.Search(t.Context(), archive.Search{}, 5)
			wantKind(t, err, OpSearch, archive.KindUnsupported)
		}
		if requests != 1 || c.Supports(OpSearch) != SupportNo {
			t.Errorf("%d: %d requests, support %s", status, requests, c.Supports(OpSearch))
		}
		for as, op := range map[archive.Representation]Operation{archive.Text: OpText, archive.Preview: OpPreview} {
			requests = 0
			want, asked := archive.KindUnsupported, 1
			if status == http.StatusNotFound {
				want, asked = archive.KindNotFound, 3
			}
			for doc := range archive.ID(3) {
				wantKind(t, contentOf(as)(t.Context(), c, doc+1), op, want)
			}
			if requests != asked {
				t.Errorf("%s, %d: %d requests, want %d", as, status, requests, asked)
			}
			_, err := c.ContentInfo(t.Context(), 4, as)
			if archive.KindOf(err) != archive.KindUnsupported || requests != asked {
				t.Errorf("%s: %v", as, err)
			}
		}
	}
}

// A search that has answered is not missing because a folder is.
func TestSearchInAMissingFolder(t *testing.T) {
	c := newService(t, standing(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("location-folder-id") {
			reply(w, http.StatusNotFound, "", "")
			return
		}
		reply(w, http.StatusOK, mediaJSON, `{"documents":[]}`)
	}))
	if _, err := c.Search(t.Context(), archive.Search{}, 5); err != nil {
		t.Fatal(err)
	}
	_, err := c.Search(t.Context(), archive.Search{Folder: 9}, 5)
	wantKind(t, err, OpSearch, archive.KindNotFound)
}

func FuzzHits(f *testing.F) {
	f.Add([]byte(`{"totalHitDocuments":1,"documents":[{"id":1,"name":"a","creationDate":"2017-10-17 05:03:25"},null,{"id":"2"}]}`))
	f.Add([]byte(`{"documents":{"id":1},"totalHitDocuments":"-1"} x`))
	f.Add([]byte("\ufeffnull"))
	f.Fuzz(func(t *testing.T, body []byte) {
		h := hitReader{location: time.UTC}
		err := readWhole(body, h.read)
		wantSound(t, body, err)
		for _, hit := range h.hits {
			if hit.Document == 0 || hit.Pages < 0 || h.total < 0 {
				t.Errorf("%q gives %+v", body, hit)
			}
		}
	})
}
