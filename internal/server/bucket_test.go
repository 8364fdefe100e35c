package server_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// inBucket is a service whose contents lie in a bucket that fails as the test says.
func inBucket(t *testing.T) (*service, *s3test.Service) {
	t.Helper()
	s3 := s3test.Start(t)
	address, err := blob.ParseAddress(s3.Bucket(t, "contents"))
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := blob.OpenBucket(t.Context(), address, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = bucket.Close() })
	h := start(t)
	h.SetContents(bucket)
	return h, s3
}

// awayFor makes requests of a method fail.
func awayFor(s3 *s3test.Service, method string) {
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if r.Method == method {
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}
		return false
	})
}

func TestContentsInABucket(t *testing.T) {
	t.Parallel()
	h, _ := inBucket(t)
	o := furnish(t, h)
	content := strings.Repeat("a line of text\n", 20_000)
	path := "/document/" + text(h.uploaded("letter.txt", content, "target-folder-id", text(o.year))) + "/pdf"
	if a := h.get(path + "?original=true"); a.status != http.StatusOK || a.body != content {
		t.Errorf("%d, %d bytes", a.status, len(a.body))
	}
	if a := h.get(path+"?original=true", "Range", "bytes=100000-100099"); a.status != http.StatusPartialContent || a.body != content[100_000:100_100] {
		t.Errorf("%d, %q", a.status, a.body)
	}
	if a := h.get(path); a.status != http.StatusOK || !strings.HasPrefix(a.body, "%PDF-") {
		t.Errorf("%d %.20q", a.status, a.body)
	}
	if a := h.send(http.MethodHead, path+"?original=true", "", nil); a.status != http.StatusOK || a.header.Get("Content-Length") != "300000" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

// While the bucket is unreachable uploads are refused, with a Retry-After.
func TestBucketIsAway(t *testing.T) {
	t.Parallel()
	h, s3 := inBucket(t)
	o := furnish(t, h)
	upload := func() answer {
		return h.upload("letter.txt", "text", "target-folder-id", text(o.other), "external-id", "x")
	}
	awayFor(s3, http.MethodPut)
	if a := upload(); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		w.WriteHeader(http.StatusInsufficientStorage)
		return true
	})
	if a := upload(); a.status != http.StatusInsufficientStorage || a.header.Get("Retry-After") != "60" {
		t.Errorf("a full bucket: %d %s", a.status, a.body)
	}
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, "<Error><Code>NoSuchBucket</Code><Message>gone</Message></Error>")
		return true
	})
	if a := upload(); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" || strings.Contains(a.body, "bucket") {
		t.Errorf("a bucket that is gone: %d %s", a.status, a.body)
	}
	awayFor(s3, http.MethodGet)
	if a := h.get("/document/" + text(o.a) + "/pdf?original=true"); a.status != http.StatusServiceUnavailable {
		t.Errorf("%d %s", a.status, a.body)
	}
	s3.Fail(nil)
	if found := h.list(o.other); len(found) != 0 {
		t.Errorf("the archive has %q", names(found))
	}
	if a := upload(); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	if found := h.list(o.other); len(found) != 1 {
		t.Errorf("the archive has %q", names(found))
	}
}

// If reading from the bucket fails for good, the client's answer is cut, not shortened.
func TestHalfAContentIsNotServed(t *testing.T) {
	t.Parallel()
	h, s3 := inBucket(t)
	o := furnish(t, h)
	path := "/document/" + text(h.uploaded("letter.txt", strings.Repeat("text", 1_000_000), "target-folder-id", text(o.year))) + "/pdf?original=true"
	n := 0
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		if n++; n == 1 {
			w.Header().Set("Content-Length", "4000000")
			w.Header().Set("Last-Modified", "Wed, 22 Nov 2023 14:14:29 GMT")
			_, _ = io.WriteString(w, strings.Repeat("text", 500_000))
		} else {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		return true
	})
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, h.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("API-Key", testKey)
	response, err := h.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	got, err := io.ReadAll(response.Body)
	if response.ContentLength != 4_000_000 || !errors.Is(err, io.ErrUnexpectedEOF) || len(got) > 2_000_000 {
		t.Errorf("%d of %d bytes, %v", len(got), response.ContentLength, err)
	}
}

// The bucket is asked only for what the client requested.
func TestRequestsToTheBucket(t *testing.T) {
	t.Parallel()
	h, s3 := inBucket(t)
	o := furnish(t, h)
	content := strings.Repeat("0123456789", 500_000)
	path := "/document/" + text(h.uploaded("a.bin", content, "target-folder-id", text(o.year))) + "/pdf?original=true"
	for _, test := range []struct {
		name, method string
		header       []string
		status       int
		body         string
		want         []string
	}{
		{"whole", "GET", nil, 200, content, []string{"GET"}},
		{"length", "HEAD", nil, 200, "", []string{"HEAD"}},
		{"unchanged", "GET", []string{"If-None-Match", etag(content)}, 304, "", []string{"HEAD"}},
		{"changed", "GET", []string{"If-None-Match", `"x"`}, 200, content, []string{"HEAD", "GET"}},
		{"middle", "GET", []string{"Range", "bytes=2000001-2000100"}, 206, content[2_000_001:2_000_101], []string{"GET bytes=2000001-2000100"}},
		{"from", "GET", []string{"Range", "bytes=2000001-"}, 206, content[2_000_001:], []string{"GET bytes=2000001-"}},
		{"all of it", "GET", []string{"Range", "bytes=0-"}, 206, content, []string{"GET bytes=0-"}},
		{"beyond", "GET", []string{"Range", "bytes=4999990-6000000"}, 206, content[4_999_990:], []string{"GET bytes=4999990-6000000"}},
		{"end", "GET", []string{"Range", "bytes=-100"}, 206, content[len(content)-100:], []string{"GET bytes=-100"}},
		{"end of more", "GET", []string{"Range", "bytes=-6000000"}, 206, content, []string{"GET bytes=-6000000"}},
		{"none", "GET", []string{"Range", "bytes=5000000-"}, 416, "", []string{"GET bytes=5000000-", "HEAD"}},
		{"of another content", "GET", []string{"Range", "bytes=5-9", "If-Range", `"x"`}, 200, content, []string{"GET bytes=5-9", "GET"}},
		{"of this content", "GET", []string{"Range", "bytes=5-9", "If-Range", etag(content)}, 206, content[5:10], []string{"GET bytes=5-9"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			asked := asking(s3)
			a := h.send(test.method, path, "", nil, test.header...)
			if a.status != test.status || a.status < 300 && a.body != test.body {
				t.Errorf("%d, %d bytes of %d", a.status, len(a.body), len(test.body))
			}
			if got := asked(); !slices.Equal(got, test.want) {
				t.Errorf("asked %q, want %q", got, test.want)
			}
		})
	}
	asked := asking(s3)
	for n := range 8 {
		at := 600_000 * n
		if a := h.get(path, "Range", fmt.Sprintf("bytes=%d-%d", at, at+599_999)); a.body != content[at:at+600_000] {
			t.Errorf("%d, %d bytes", a.status, len(a.body))
		}
	}
	if got := asked(); len(got) != 8 {
		t.Errorf("8 ranges in a row: %q", got)
	}
	asked = asking(s3)
	a := h.get(path, "Range", "bytes=4000000-4000009,3000000-3000009,2000000-2000009,1000000-1000009,0-9")
	if got := asked(); a.status != http.StatusPartialContent || strings.Count(a.body, "0123456789") != 5 || len(got) != 6 || got[0] != "HEAD" {
		t.Errorf("5 ranges at once: %d %q, asked %q", a.status, a.body, got)
	}
}

// asking records the requests to the bucket from now on, and returns them.
func asking(s3 *s3test.Service) (asked func() []string) {
	var mu sync.Mutex
	var list []string
	s3.Fail(func(_ http.ResponseWriter, r *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		list = append(list, strings.TrimSpace(r.Method+" "+r.Header.Get("Range")))
		return false
	})
	return func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(list)
	}
}
