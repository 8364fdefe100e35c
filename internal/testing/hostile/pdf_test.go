package hostile_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

const original = "/document/1/pdf?original=true"

func TestContent(t *testing.T) {
	s := full(hostile.Config{})
	c := start(t, s)
	resp, body := c.ask("GET", original, "", nil)
	tag := resp.Header.Get("ETag")
	if body != "0123456789" || resp.ContentLength != 10 || tag == "" {
		t.Errorf("answered %q, %v", body, resp.Header)
	}
	if resp, body = c.ask("HEAD", original, "", nil); body != "" || resp.ContentLength != 10 || resp.Header.Get("ETag") != tag {
		t.Errorf("HEAD answered %q, %v", body, resp.Header)
	}
	if resp, _ = c.ask("GET", original, "", nil, "If-None-Match", tag); resp.StatusCode != http.StatusNotModified {
		t.Errorf("known content answered %d", resp.StatusCode)
	}
	if resp, body = c.ask("GET", "/document/1/pdf", "", nil); !strings.HasPrefix(body, "%PDF-") || resp.Header.Get("Content-Type") != "application/pdf" {
		t.Errorf("rendition is %q, %v", body, resp.Header)
	}
	s.Change(1, func(d *hostile.Document) { d.Content = []byte("changed") })
	if resp, body = c.ask("GET", original, "", nil, "Range", "bytes=4-", "If-Range", tag); resp.StatusCode != http.StatusOK || body != "changed" {
		t.Errorf("part of a changed content answered %d %q", resp.StatusCode, body)
	}
	noViolations(t, s)
}

func TestContentShapes(t *testing.T) {
	tests := []struct {
		name   string
		shape  hostile.ContentShape
		method string
		status int
		length int64
	}{
		{"chunked", hostile.ContentShape{Chunked: true}, "GET", 200, -1},
		{"chunked HEAD", hostile.ContentShape{Chunked: true}, "HEAD", 200, -1},
		{"no HEAD", hostile.ContentShape{HeadStatus: 405}, "HEAD", 405, -1},
		{"no original", hostile.ContentShape{OriginalStatus: 404}, "GET", 404, -2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			resp, _ := start(t, full(hostile.Config{Content: tt.shape})).ask(tt.method, original, "", nil)
			if resp.StatusCode != tt.status || tt.length != -2 && resp.ContentLength != tt.length {
				t.Errorf("answered %d, %v", resp.StatusCode, resp.ContentLength)
			}
		})
	}
}

func TestETagForms(t *testing.T) {
	s := full(hostile.Config{})
	c := start(t, s)
	tag := func(form hostile.ETagForm) string {
		s.Configure(func(cfg *hostile.Config) { cfg.Content.ETag = form })
		resp, _ := c.ask("GET", original, "", nil)
		return resp.Header.Get("ETag")
	}
	if got := tag(hostile.ETagNone); got != "" {
		t.Errorf("none is %s", got)
	}
	if got := tag(hostile.ETagWeak); !strings.HasPrefix(got, `W/"`) {
		t.Errorf("weak is %s", got)
	}
	if one, other := tag(hostile.ETagChanging), tag(hostile.ETagChanging); one == other {
		t.Errorf("changing stays %s", one)
	}
}

func TestRangeForms(t *testing.T) {
	tests := map[hostile.RangeForm]struct {
		status        int
		contentRange  string
		body, ifRange string
	}{
		hostile.RangeHonoured:   {206, "bytes 4-9/10", "456789", ""},
		hostile.RangeIgnored:    {200, "", "0123456789", ""},
		hostile.RangeShifted:    {206, "bytes 5-10/11", "456789", ""},
		hostile.RangeFromStart:  {206, "bytes 0-9/10", "0123456789", ""},
		hostile.RangeWrongTotal: {206, "bytes 4-9/110", "456789", ""},
		hostile.RangeUnlabelled: {206, "", "456789", ""},
		hostile.RangeBlind:      {206, "bytes 4-9/10", "456789", `"another"`},
		hostile.RangeRefused:    {416, "bytes */10", "", ""},
	}
	s := full(hostile.Config{})
	c := start(t, s)
	for form, want := range tests {
		s.Configure(func(cfg *hostile.Config) { cfg.Content.Range = form })
		header := []string{"Range", "bytes=4-"}
		if want.ifRange != "" {
			header = append(header, "If-Range", want.ifRange)
		}
		resp, body := c.ask("GET", original, "", nil, header...)
		if resp.StatusCode != want.status || resp.Header.Get("Content-Range") != want.contentRange || want.body != "" && body != want.body {
			t.Errorf("form %d answered %d %q %q", form, resp.StatusCode, resp.Header.Get("Content-Range"), body)
		}
	}
}
