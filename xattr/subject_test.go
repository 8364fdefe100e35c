package xattr_test

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/xattr"
)

func TestValues(t *testing.T) {
	created := time.Date(2023, 11, 22, 14, 14, 29, 0, time.UTC)
	tests := map[string]struct {
		doc   archive.Document
		state xattr.State
		want  []string
	}{
		"all": {
			archive.Document{
				ID: 42, Name: "Rechnung 1234-5", Pages: 3, Created: created, Archived: created.Add(time.Hour),
				Keywords: []string{"a", "b, c"}, AutoExport: archive.FlagFalse,
				Metadata: []archive.KeyValue{{Key: "Kunde 1%", Value: "Muster"}, {Key: "x", Value: ""}, {Key: "x", Value: "second"}, {Value: "no key"}},
			},
			xattr.StateArchived,
			[]string{
				"id=42", "name=Rechnung 1234-5", "created=2023-11-22T14:14:29Z", "archived=2023-11-22T15:14:29Z", "pages=3",
				"state=archived", "auto-export=false", `keywords=a,b\, c`, "metadata.Kunde 1%25=Muster", "metadata.x=",
			},
		},
		"least": {
			archive.Document{ID: 1, Name: "x"},
			xattr.StateInbox,
			[]string{"id=1", "name=x", "pages=0", "state=inbox"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, v := range (xattr.Subject{ID: tt.doc.ID, Document: &tt.doc, State: tt.state}).Values() {
				got = append(got, strings.TrimPrefix(v.Attr.Name(), xattr.Prefix)+"="+string(v.Data))
			}
			if !slices.Equal(got, tt.want) {
				t.Fatalf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
}

func TestFindAndNames(t *testing.T) {
	long := strings.Repeat("k", 300)
	doc := archive.Document{ID: 1, Name: "x", Metadata: []archive.KeyValue{{Key: long, Value: "v"}, {Key: "k", Value: "w"}}}
	values := xattr.Subject{ID: doc.ID, Document: &doc, State: xattr.StateArchived}.Values()
	if v, ok := xattr.Find(values, known(t, "metadata.k")); !ok || string(v) != "w" {
		t.Fatalf("got %q, %v", v, ok)
	}
	if _, ok := xattr.Find(values, known(t, "keywords")); ok {
		t.Fatal("found keywords where there are none")
	}
	names := xattr.Names(values)
	if !slices.Contains(names, "user.archive.metadata.k") || slices.ContainsFunc(names, func(n string) bool { return len(n) > xattr.MaxName }) {
		t.Fatalf("got %q", names)
	}
}

func TestNotesAndStamps(t *testing.T) {
	data := archive.DocumentData{
		Raw: json.RawMessage(`{"id":1}`),
		Pages: []archive.Page{
			{Notes: []archive.Note{{Text: "a < b", Date: "2017-10-17", Creator: "Admin"}}},
			{Notes: []archive.Note{{Text: "second"}}, Stamps: []archive.Stamp{{Title: "Paid", Text: "ok"}}},
		},
	}
	tests := map[string]struct {
		encode func(archive.DocumentData) ([]byte, error)
		data   archive.DocumentData
		want   string
	}{
		"notes":     {xattr.Notes, data, `[{"page":1,"text":"a < b","date":"2017-10-17","creator":"Admin"},{"page":2,"text":"second"}]`},
		"stamps":    {xattr.Stamps, data, `[{"page":2,"title":"Paid","text":"ok"}]`},
		"data":      {xattr.Data, data, `{"id":1}`},
		"text":      {xattr.Text, archive.DocumentData{Text: "no engine"}, "no engine"},
		"no notes":  {xattr.Notes, archive.DocumentData{}, `[]`},
		"no stamps": {xattr.Stamps, archive.DocumentData{}, `[]`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := tt.encode(tt.data); err != nil || string(got) != tt.want {
				t.Fatalf("got %s, %v\nwant %s", got, err, tt.want)
			}
		})
	}
}

func TestLargeDocumentDataIsTooBig(t *testing.T) {
	large := strings.Repeat("x", xattr.MaxValue)
	data := archive.DocumentData{
		Raw:   json.RawMessage(`"` + large + `"`),
		Pages: []archive.Page{{Notes: []archive.Note{{Text: large}}, Stamps: []archive.Stamp{{Text: large}}}},
	}
	for name, encode := range map[string]func(archive.DocumentData) ([]byte, error){
		"notes": xattr.Notes, "stamps": xattr.Stamps, "data": xattr.Data,
	} {
		if _, err := encode(data); !errors.Is(err, xattr.ErrTooBig) {
			t.Errorf("%s: got %v, want ErrTooBig", name, err)
		}
	}
}
