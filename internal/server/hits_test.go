package server_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server"
)

// hitting returns the numbers of the hit pages of the first document found, counted from 1.
func hitting(t *testing.T, found hits) []int {
	t.Helper()
	if len(found.Documents) == 0 {
		t.Fatal("nothing was found")
	}
	numbers := []int{}
	for i, page := range found.Documents[0].Pages {
		if page.Hit {
			numbers = append(numbers, i+1)
		}
	}
	return numbers
}

// A page is hit if the text occurs on it, by the rules of a search in contents; the first page is also hit by
// notes and stamps. Metadata hits no page.
func TestThePagesHitWhereTheTextOccurs(t *testing.T) {
	h := start(t)
	o := furnish(t, h)
	_, err := h.AddDocument(t.Context(), server.NewDocument{
		Folder: o.other, Name: "report.txt", Created: time.Now(), Archived: time.Now(), Keywords: []string{"harbour"},
		Notes: []archive.Note{{Text: "ask Eve about Berlin"}}, Stamps: []archive.Stamp{{Title: "Geprüft", Text: "gut"}},
	}, strings.NewReader("The lighthouse keeper\fone invoice of Müller\ftwo invoices\fa keeper of the lighthouses"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		parameters []string // the name is found, whether the text is in the index yet or not
		want       []int
	}{
		{[]string{"fulltext-one", "report lighthouse"}, []int{1, 4}},
		{[]string{"fulltext-one", "report LIGHT"}, []int{1, 4}},
		{[]string{"fulltext-one", "report house"}, []int{}},
		{[]string{"fulltext-one", "report tw"}, []int{}},
		{[]string{"fulltext-one", `report "lighthouse keeper"`}, []int{1}},
		{[]string{"fulltext-one", `report "one invoic"`}, []int{2}},
		{[]string{"fulltext-one", "report invoice"}, []int{2, 3}},
		{[]string{"fulltext-one", "report mueller"}, []int{2}},
		{[]string{"fulltext-one", "report invoices keeper"}, []int{1, 2, 3, 4}},
		{[]string{"fulltext-one", "report two berlin"}, []int{1, 3}},
		{[]string{"fulltext-all", "report harbour"}, []int{}},
		{[]string{"fulltext-all", "report berlin gut"}, []int{1}},
		{[]string{"document-name-terms", "report", "note-terms", "eve"}, []int{1}},
		{[]string{"document-name-terms", "report", "stamps-inclusive", "geprueft"}, []int{1}},
		{[]string{"document-name-terms", "report"}, []int{}},
		{[]string{"document-name-terms", "report", "fulltext-none", "nothing"}, []int{}},
	} {
		if got := hitting(t, h.found(test.parameters...)); !slices.Equal(got, test.want) {
			t.Errorf("%q hits the pages %v, want %v", test.parameters, got, test.want)
		}
	}
}

// So are those of a PDF. With return=minimal there are no pages, and none are searched.
func TestThePagesOfAPDFHit(t *testing.T) {
	needPoppler(t)
	h := start(t)
	o := furnish(t, h)
	h.uploaded("report.pdf", pdfSaying(t, "first", "second", "third first"), "target-folder-id", text(o.other))
	before := h.kept()
	path := "/search?" + asQuery("fulltext-one", "report first")
	little := h.send(http.MethodPost, path, "", nil, "Prefer", "return=minimal")
	found := decode[hits](t, little)
	if len(found.Documents) != 1 || len(found.Documents[0].Pages) != 0 || found.Documents[0].Name != "report.pdf" || little.header.Get("Preference-Applied") != "return=minimal" {
		t.Errorf("little: %+v, %v", found, little.header)
	}
	if n := h.kept() - before; n != 0 {
		t.Errorf("a text was found out for somebody who does not want it: %d contents more", n)
	}
	for n := range 10 { // on a busy machine a text is not found out in time, and then not tried again for a while
		got := hitting(t, decode[hits](t, h.send(http.MethodPost, path, "", nil)))
		if len(got) == 0 && n < 9 {
			word := fmt.Sprint("busy", n)
			h.uploaded(word+".pdf", pdfSaying(t, "first", fmt.Sprint("second ", n), "third first"), "target-folder-id", text(o.other))
			path = "/search?" + asQuery("fulltext-one", word+" first")
			continue
		}
		again := hitting(t, decode[hits](t, h.send(http.MethodPost, path, "", nil)))
		if want := []int{1, 3}; !slices.Equal(got, want) || !slices.Equal(again, want) {
			t.Errorf("the pages %v and then %v hit", got, again)
		}
		return
	}
}
