package apiclient

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

func TestChangesWithoutADescribedBody(t *testing.T) {
	remove := func(ctx context.Context, c *Client) error { return c.Delete(ctx, 4) }
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		want    bool
	}{
		{"nothing", answer(http.StatusNoContent, "", ""), true},
		{"a word", answer(http.StatusOK, "text/plain", "done"), true},
		{"anything", standing(answer(http.StatusAccepted, mediaJSON, `{"a":`)), true},
		{"anything of anybody", answer(http.StatusAccepted, mediaJSON, `{}`), false},
		{"more than is read", answer(http.StatusOK, "", strings.Repeat("x", 2*drainLimit)), true},
		{"a body that breaks off", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			reply(w, http.StatusOK, "", "half")
		}, true},
		{"a web page", answer(http.StatusOK, "text/html", "<html>"), false},
		{"a web page without a type", answer(http.StatusOK, mediaJSON, "<html>"), false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			err := remove(t.Context(), newService(t, tc.handler))
			if tc.want && err != nil {
				t.Error(err)
			}
			if !tc.want {
				wantKind(t, err, OpDelete, archive.KindForeign)
			}
		})
	}
}

func TestDataDecodes(t *testing.T) {
	const full = `{"id":4,"name":"a","numPages":2,"mandator":"Muster GmbH","folderId":7,"folderPath":"/R/2018/",` +
		`"creationDate":"2017-10-17 05:03:25","creatorId":3,"creatorName":"Anna","keywords":["k"],"classification":["Rechnung"],` +
		`"external":{"externalId":77,"metadata":{"b":2,"a":"1"}},"workflows":{"name":"w","currentState":"s","startDate":"d","finishDate":null},` +
		`"pages":[{"id":10,"hit":false,"notes":{"text":"n","date":"2017-10-17","creatorId":3,"creatorName":"Anna"},"stamps":[]},` +
		`{"id":11,"notes":null,"stamps":[{"title":"t","text":"x","date":"2018","creatorName":"Bo"}]}],"textState":"no engine"}`
	c := newService(t, answer(http.StatusOK, mediaJSON, full), inTestZone)
	got, err := c.Data(t.Context(), 4)
	if err != nil {
		t.Fatal(err)
	}
	if created := time.Date(2017, 10, 17, 5, 3, 25, 0, testZone); !got.Created.Equal(created) {
		t.Errorf("created %v, want %v", got.Created, created)
	}
	got.Created = time.Time{}
	want := archive.DocumentData{
		ID: 4, Name: "a", NumPages: 2, Mandator: "Muster GmbH", Folder: 7, FolderPath: "/R/2018/", CreatorID: 3, Creator: "Anna",
		Keywords: []string{"k"}, Types: []string{"Rechnung"}, ExternalID: "77",
		Metadata:  []archive.KeyValue{{Key: "a", Value: "1"}, {Key: "b", Value: "2"}},
		Workflows: []archive.Workflow{{Name: "w", State: "s", Started: "d"}},
		Pages: []archive.Page{
			{ID: 10, Notes: []archive.Note{{Text: "n", Date: "2017-10-17", Creator: "Anna"}}},
			{ID: 11, Stamps: []archive.Stamp{{Title: "t", Text: "x", Date: "2018", Creator: "Bo"}}},
		},
		Text: "no engine",
		Raw:  []byte(full),
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
}

func TestDataOfOtherShapes(t *testing.T) {
	for body, ok := range map[string]bool{
		`{"name":"a"}`: true, `[{"id":4}]`: true, `{"id":4,"pages":7,"external":[],"workflows":"none","keywords":"a,b"}`: true,
		"\ufeff{\"id\":4}": true,
		``:                 false, `null`: false, `{}`: false, `[]`: false, `7`: false, `{"message":"no"}`: false, `{"id":4,}`: false,
		`{"id":4} x`: false,
	} {
		c := newService(t, answer(http.StatusOK, mediaJSON, body))
		got, err := c.Data(t.Context(), 4)
		if !ok {
			wantKind(t, err, OpDocumentData, archive.KindProtocol)
		} else if err != nil || got.ID != 4 || string(got.Raw) != strings.TrimPrefix(body, "\ufeff") {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}

func TestMetadataDecodes(t *testing.T) {
	for body, want := range map[string][]archive.KeyValue{
		`{"b":"2","a":1,"c":null}`:       {{Key: "b", Value: "2"}, {Key: "a", Value: "1"}},
		`[{"key":"a","value":"1"},{},7]`: {{Key: "a", Value: "1"}},
		`{}`:                             nil,
		`null`:                           nil,
	} {
		c := newService(t, answer(http.StatusOK, mediaJSON, body))
		got, err := c.Metadata(t.Context(), 4)
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %v, %v; want %v", body, got, err, want)
		}
	}
	for body, kind := range map[string]archive.Kind{"": archive.KindProtocol, `{"a":`: archive.KindProtocol, "<html>": archive.KindForeign} {
		c := newService(t, answer(http.StatusOK, mediaJSON, body))
		_, err := c.Metadata(t.Context(), 4)
		wantKind(t, err, OpMetadata, kind)
	}
}
