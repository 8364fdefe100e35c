package hostile_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

func TestSearch(t *testing.T) {
	s := hostile.New(hostile.Config{})
	mandator := s.AddMandator("M")
	below := s.AddFolder(mandator, "below")
	other := s.AddMandator("O")
	day := time.Date(2024, 5, 31, 23, 0, 0, 0, time.UTC)
	s.AddDocument(below, hostile.Document{Name: "Rechnung 1", Keywords: []string{"a,b", "c"}, Created: day})
	s.AddDocument(other, hostile.Document{Name: "Rechnung 2", Text: "Berlin", Types: []string{"T"}, Created: day.AddDate(0, 0, 1)})
	s.AddDocument(other, hostile.Document{Name: "x", Text: "rechnung"})
	c := start(t, s)
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", []string{"Rechnung 1", "Rechnung 2", "x"}},
		{"fulltext-all=rechnung", []string{"Rechnung 1", "Rechnung 2", "x"}},
		{"fulltext-all=rechnung+berlin", []string{"Rechnung 2"}},
		{"document-name-terms=rechnung", []string{"Rechnung 1", "Rechnung 2"}},
		{`keyword-terms=a\,b,c`, []string{"Rechnung 1"}},
		{"document-type=T", []string{"Rechnung 2"}},
		{"from-date=2024-06-01", []string{"Rechnung 2"}},
		{"from-date=2024-05-31&to-date=2024-05-31", []string{"Rechnung 1"}},
		{"location-folder-id=1", []string{"Rechnung 1"}},
		{"fulltext-all=nothing", []string{}},
		{"pagination-size=2&pagination-page=1", []string{"x"}},
	} {
		values, err := url.ParseQuery(tt.query)
		if err != nil {
			t.Fatal(err)
		}
		resp, body := c.ask(http.MethodPost, "/search?"+values.Encode(), "", nil)
		var got struct {
			Total     int `json:"totalHitDocuments"`
			Documents []struct{ Name string }
		}
		names := []string{}
		if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s", tt.query, resp.StatusCode, body)
		}
		for _, d := range got.Documents {
			names = append(names, d.Name)
		}
		if !slices.Equal(names, tt.want) || got.Total < len(tt.want) {
			t.Errorf("%s: %s, want %q", tt.query, body, tt.want)
		}
	}
	noViolations(t, s)
}

func TestTextAndPreview(t *testing.T) {
	s := hostile.New(hostile.Config{})
	m := s.AddMandator("M")
	s.AddDocument(m, hostile.Document{Text: "Berlin", Preview: []byte("JPEG"), Pages: 2})
	s.AddDocument(m, hostile.Document{})
	c := start(t, s)
	for path, want := range map[string]string{
		"/document/1/ocr-result": "Berlin", "/page/1000/preview": "JPEG", "/page/1001/preview?bbox-width=5&bbox-height=5": "JPEG",
		"/document/2/ocr-result": "no text", "/page/1002/preview": "no preview", "/page/2000/preview": "no preview", "/page/9000/preview": "no preview",
	} {
		if _, body := c.get(path); !strings.Contains(body, want) {
			t.Errorf("%s: %s, want %s", path, body, want)
		}
	}
	noViolations(t, s)
}
