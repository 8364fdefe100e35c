package apiclient

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// ranges serves text as the document's content with ranges and an ETag.
func ranges(text, etag string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/pdf")
		if etag != "" {
			w.Header().Set("ETag", etag)
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(text))
	}
}

// partial answers 206 with the given fields, whatever was asked.
func partial(contentRange, etag, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Range") == "" {
			ranges("0123456789", `"new"`)(w, r)
			return
		}
		w.Header().Set("Content-Range", contentRange)
		w.Header().Set("ETag", etag)
		reply(w, http.StatusPartialContent, "", body)
	}
}

func TestContent(t *testing.T) {
	const text = "0123456789"
	request := archive.ContentRequest{Document: 4, Representation: archive.Original}
	from := func(offset int64, match string) archive.ContentRequest {
		r := request
		r.Offset, r.Match = offset, match
		return r
	}
	known := request
	known.NoneMatch = `"a"`
	some := from(4, `"a"`)
	some.Length = 3
	someOfAnother := from(4, `"old"`)
	someOfAnother.Length = 3
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		request archive.ContentRequest
		body    string
		want    archive.Content // without Body
	}{
		{"whole", ranges(text, `"a"`), request, text, archive.Content{Size: 10, ETag: `"a"`, ContentType: "application/pdf"}},
		{"some of it", ranges(text, `"a"`), some, "456", archive.Content{Offset: 4, Size: 10, ETag: `"a"`, ContentType: "application/pdf"}},
		{"some of another", ranges(text, `"a"`), someOfAnother, text, archive.Content{Size: 10, ETag: `"a"`, ContentType: "application/pdf"}},
		{"without a length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/pdf")
			chunk(w, text[:5])
			chunk(w, text[5:])
		}, request, text, archive.Content{Size: archive.SizeUnknown, ContentType: "application/pdf"}},
		{"a part", ranges(text, `"a"`), from(4, `"a"`), "456789", archive.Content{Offset: 4, Size: 10, ETag: `"a"`, ContentType: "application/pdf"}},
		{"a part without a validator", ranges(text, ""), from(4, ""), "456789", archive.Content{Offset: 4, Size: 10, ContentType: "application/pdf"}},
		{"a part of a changed content", ranges(text, `"b"`), from(4, `"a"`), text, archive.Content{Size: 10, ETag: `"b"`, ContentType: "application/pdf"}},
		{"a weak validator", ranges(text, `W/"a"`), from(4, `W/"a"`), text, archive.Content{Size: 10, ETag: `W/"a"`, ContentType: "application/pdf"}},
		{"a service without ranges", answer(http.StatusOK, "", text), from(4, `"a"`), text, archive.Content{Size: 10}},
		{
			"a part of a length not told", partial("bytes 4-9/*", "", "456789"), from(4, ""), "456789",
			archive.Content{Offset: 4, Size: archive.SizeUnknown},
		},
		{
			"a part of another content", partial("bytes 4-9/10", `"b"`, "456789"), from(4, `"a"`), text,
			archive.Content{Size: 10, ETag: `"new"`, ContentType: "application/pdf"},
		},
		{"unchanged", ranges(text, `"a"`), known, "", archive.Content{Size: archive.SizeUnknown, ETag: `"a"`, NotModified: true}},
		{
			"an original that is a web page", answer(http.StatusOK, "text/html", "<html>"), request, "<html>",
			archive.Content{Size: 6, ContentType: "text/html"},
		},
		{
			"document data", answer(http.StatusOK, mediaJSON, `{"id":4}`),
			archive.ContentRequest{Document: 4, Representation: archive.Data},
			`{"id":4}`,
			archive.Content{Size: 8, ContentType: mediaJSON},
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, standing(func(w http.ResponseWriter, r *http.Request) {
				if tc.request.Representation != archive.Data && r.Header.Get("Accept-Encoding") != "identity" {
					t.Errorf("Accept-Encoding is %q", r.Header.Get("Accept-Encoding"))
				}
				w.Header()["Content-Type"] = nil // no guess where the handler tells none
				tc.handler(w, r)
			}))
			got, err := c.Content(t.Context(), tc.request)
			if err != nil {
				t.Fatal(err)
			}
			if tc.want.NotModified != (got.Body == nil) {
				t.Fatalf("not modified %t, body %v", tc.want.NotModified, got.Body)
			}
			if got.Body != nil {
				body, err := io.ReadAll(got.Body)
				if err != nil || string(body) != tc.body {
					t.Errorf("read %q, %v; want %q", body, err, tc.body)
				}
				if err := got.Body.Close(); err != nil {
					t.Error(err)
				}
			}
			got.Body = nil
			if *got != tc.want {
				t.Errorf("got %+v, want %+v", *got, tc.want)
			}
		})
	}
}

func TestContentIsRefused(t *testing.T) {
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		as      archive.Representation
		offset  int64
		kind    archive.Kind
		want    string
	}{
		{"past the end", ranges("0123456789", ""), archive.Original, 10, archive.KindInvalid, "HTTP 416"},
		{"a part from elsewhere", partial("bytes 3-9/10", "", "3456789"), archive.Original, 4, archive.KindProtocol, "from byte 3 instead of 4"},
		{"a part of unknown place", partial("", "", "x"), archive.Original, 4, archive.KindProtocol, "Content-Range"},
		{"a part not asked for", answer(http.StatusPartialContent, "", "x"), archive.Original, 0, archive.KindProtocol, "not asked for"},
		{"no content", answer(http.StatusNoContent, "", ""), archive.Original, 0, archive.KindProtocol, "no content"},
		{"a web page for a PDF", answer(http.StatusOK, "text/html", "<html>"), archive.PDF, 0, archive.KindProtocol, "web page"},
		{"not modified although nothing is known", answer(http.StatusNotModified, "", ""), archive.PDF, 0, archive.KindProtocol, "HTTP 304"},
		{"compressed", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Encoding", "br")
			reply(w, http.StatusOK, "", "x")
		}, archive.PDF, 0, archive.KindProtocol, "compressed"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, standing(tc.handler))
			_, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: tc.as, Offset: tc.offset})
			wantKind(t, err, contentRequest(http.MethodGet, archive.ContentRequest{Document: 4, Representation: tc.as}).op, tc.kind)
			if !strings.Contains(err.Error(), tc.want) {
				t.Errorf("error is %q, want %q", err, tc.want)
			}
		})
	}
}

func TestABodyThatEndsEarlyIsAnError(t *testing.T) {
	const sent = "[{\"id\":1},"
	for _, tc := range []struct {
		name    string
		handler http.HandlerFunc
		offset  int64
		body    string
	}{
		{"shorter than its length", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			reply(w, http.StatusOK, "application/pdf", sent)
		}, 0, sent},
		{"cut chunks", func(w http.ResponseWriter, r *http.Request) {
			chunk(w, "chunk")
			cut(w, r)
		}, 0, "chunk"},
		{"a range cut short by the service", partial("bytes 4-6/10", "", "456"), 4, "456"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := newService(t, tc.handler)
			content, err := c.Content(t.Context(), archive.ContentRequest{Document: 4, Representation: archive.Original, Offset: tc.offset})
			if err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(content.Body)
			wantKind(t, err, OpOriginal, archive.KindInterrupted)
			if string(got) != tc.body {
				t.Errorf("read %q, want %q", got, tc.body)
			}
			if err := content.Body.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestContentInfo(t *testing.T) {
	c := newService(t, ranges("0123456789", `"a"`))
	got, err := c.ContentInfo(t.Context(), 4, archive.PDF)
	want := archive.Content{Size: 10, ETag: `"a"`, ContentType: "application/pdf"}
	if err != nil || *got != want {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
	_, err = c.ContentInfo(t.Context(), 4, archive.Data)
	wantKind(t, err, Operation{doing: "ask how long the data is"}, archive.KindUnsupported)

	for name, handler := range map[string]http.HandlerFunc{
		"no length": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Transfer-Encoding", "chunked") },
		"compressed": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "10")
			w.Header().Set("Content-Encoding", "gzip")
		},
	} {
		c := newService(t, handler)
		got, err := c.ContentInfo(t.Context(), 4, archive.PDF)
		if err != nil || got.Size != archive.SizeUnknown {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestContentInfoOfNoBytes(t *testing.T) {
	c := newService(t, func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Length", "0") })
	if got, err := c.ContentInfo(t.Context(), 4, archive.Original); err != nil || got.Size != 0 {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestParseContentRange(t *testing.T) {
	for field, want := range map[string]contentRange{
		"bytes 0-0/1":                   {0, 0, 1},
		"Bytes 5-9/10":                  {5, 9, 10},
		"bytes 5-9/*":                   {5, 9, archive.SizeUnknown},
		"bytes 0-9223372036854775806/*": {0, 1<<63 - 2, archive.SizeUnknown},
	} {
		if got, err := parseContentRange(field); err != nil || got != want {
			t.Errorf("%q: %v, %v; want %v", field, got, err, want)
		}
	}
	for _, field := range []string{
		"", "bytes", "bytes 5-9", "bytes */10", "bytes 9-5/10", "bytes 5-10/10", "bytes -5-9/10", "bytes 5-9/x", "bytes *-9/10",
		"items 5-9/10", "bytes 5-9/10/11", "bytes 5-99999999999999999999/*", "bytes 5 -9/10",
	} {
		if got, err := parseContentRange(field); err == nil {
			t.Errorf("%q is read as %v", field, got)
		}
	}
}

// In a bubble, because net/http gives a connection up when a busy machine has not told it within 50 ms
// that the request was written.
func TestConnectionsAreReused(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		connections, status := 0, http.StatusOK
		c := newBubbleService(t, func(w http.ResponseWriter, _ *http.Request) {
			reply(w, status, "", string(bytes.Repeat([]byte(" "), 8<<10))+"[]")
		}, func(cfg *Config) {
			transport := cfg.Transport.(*http.Transport)
			dial := transport.DialContext
			transport.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
				connections++
				return dial(ctx, network, address)
			}
		})
		for _, status = range []int{200, 404, 500, 200, 400, 200} {
			if _, err := c.Documents(t.Context(), 7, archive.ListOptions{}); (err == nil) != (status == 200) {
				t.Fatal(err)
			}
		}
		if connections != 1 {
			t.Errorf("%d connections for requests one after the other", connections)
		}
	})
}
