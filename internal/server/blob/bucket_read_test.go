package blob_test

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/minio/minio-go/v7"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

// cutting truncates an answer after some bytes.
type cutting struct {
	http.ResponseWriter
	left int
}

func (c *cutting) Write(p []byte) (int, error) {
	if len(p) > c.left {
		_, _ = c.ResponseWriter.Write(p[:c.left])
		panic(http.ErrAbortHandler)
	}
	c.left -= len(p)
	return c.ResponseWriter.Write(p)
}

// receiving counts requests for contents, and injects a fault into them.
func receiving(s3 *s3test.Service, fault func(n int, w http.ResponseWriter, r *http.Request) bool) *atomic.Int32 {
	var n atomic.Int32
	s3.Fail(func(w http.ResponseWriter, r *http.Request) bool {
		return r.Method == http.MethodGet && r.URL.Path != "/"+bucketName+"/" && fault(int(n.Add(1)), w, r)
	})
	return &n
}

func TestReadingFails(t *testing.T) {
	patient, impatient, s3 := broken(t)
	content := strings.Repeat("0123456789", 200_000)
	keep(t, patient, content)
	tests := map[string]struct {
		fault    func(n int, w http.ResponseWriter, r *http.Request) bool
		requests int
		whole    bool
	}{
		"well": {func(int, http.ResponseWriter, *http.Request) bool { return false }, 1, true},
		"cut each time": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			s3.Pass(&cutting{w, 700_000}, r)
			return true
		}, 3, true},
		"cut before the first byte": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n > 1 {
				s3.Pass(&cutting{w, 0}, r)
			}
			s3.Pass(&cutting{w, 700_000}, r)
			return true
		}, 0, false},
		"silent after some bytes": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			if n > 1 {
				return false
			}
			w.Header().Set("Content-Length", "2000000")
			w.Header().Set("Last-Modified", "Wed, 22 Nov 2023 14:14:29 GMT")
			_, _ = io.WriteString(w, content[:1000])
			_ = http.NewResponseController(w).Flush()
			<-r.Context().Done()
			return true
		}, 2, true},
		"other bytes": {func(n int, w http.ResponseWriter, _ *http.Request) bool {
			w.Header().Set("Last-Modified", "Wed, 22 Nov 2023 14:14:29 GMT")
			w.Header().Set("Content-Length", "2000000")
			_, _ = io.WriteString(w, strings.Repeat("9876543210", 200_000))
			return true
		}, 1, false},
		"no range where it goes on": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			r.Header.Del("Range")
			s3.Pass(&cutting{w, 700_000}, r)
			return true
		}, 2, false},
		"no length": {func(n int, w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("Last-Modified", "Wed, 22 Nov 2023 14:14:29 GMT")
			_ = http.NewResponseController(w).Flush()
			_, _ = io.WriteString(w, content)
			return true
		}, 1, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			n := receiving(s3, tt.fault)
			bucket := patient
			if strings.HasPrefix(name, "silent") {
				bucket = impatient
			}
			var got []byte
			r, err := bucket.Open(t.Context(), digest(content))
			if err == nil {
				got, err = io.ReadAll(r)
				_ = r.Close()
			}
			s3.Fail(nil)
			if tt.whole && (err != nil || string(got) != content) || !tt.whole && (err == nil || len(got) >= len(content)) {
				t.Errorf("got %d bytes of %d, %v", len(got), len(content), err)
			}
			if tt.requests > 0 && int(n.Load()) != tt.requests {
				t.Errorf("%d requests, want %d", n.Load(), tt.requests)
			}
		})
	}
}

// Bytes of different contents are never mixed if an object is replaced while it is read.
func TestReplacedWhileItIsRead(t *testing.T) {
	bucket, _, s3 := broken(t)
	content := strings.Repeat("0123456789", 200_000)
	keep(t, bucket, content)
	receiving(s3, func(_ int, w http.ResponseWriter, r *http.Request) bool {
		s3.Pass(&cutting{w, 700_000}, r)
		return true
	})
	r, err := bucket.Open(t.Context(), digest(content))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	other := strings.Repeat("9876543210", 200_000)
	if _, err := s3.Client.PutObject(t.Context(), bucketName, digest(content), strings.NewReader(other), int64(len(other)), "", "", minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	if err == nil || !strings.HasPrefix(content, string(got)) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// Random access costs few requests.
func TestReadingHereAndThereCostsLittle(t *testing.T) {
	bucket, _, s3 := broken(t)
	content := strings.Repeat("0123456789", 200_000)
	keep(t, bucket, content)
	n := receiving(s3, func(int, http.ResponseWriter, *http.Request) bool { return false })
	r, err := bucket.Open(t.Context(), digest(content))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	for at := int64(len(content)) - 1; at > 0; at -= 1000 {
		if _, err := r.Seek(at, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if n.Load() > 4 {
		t.Errorf("%d requests", n.Load())
	}
}

// A content that is read completely is compared with its digest, even if it was opened for a part.
func TestPartsThatAreReadWhole(t *testing.T) {
	bucket, _, s3 := broken(t)
	content := strings.Repeat("0123456789", 200_000)
	keep(t, bucket, content)
	read := func(part blob.Part) (string, error) {
		r, err := bucket.OpenPart(t.Context(), digest(content), part)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = r.Close() }()
		if size, err := r.Seek(0, io.SeekEnd); err != nil || size != int64(len(content)) {
			t.Errorf("%q: the size is %d, %v", part, size, err)
		}
		if _, err := r.Seek(0, io.SeekStart); err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(r)
		return string(got), err
	}
	parts := []blob.Part{blob.Whole, blob.Nothing, "bytes=5-9", "bytes=0-9", "bytes=0-", "bytes=-5", "bytes=-9000000", "bytes=9000000-"}
	for _, part := range parts {
		if got, err := read(part); got != content || err != nil {
			t.Errorf("%q: %d bytes, %v", part, len(got), err)
		}
	}
	other := strings.Repeat("9876543210", 200_000)
	if _, err := s3.Client.PutObject(t.Context(), bucketName, digest(content), strings.NewReader(other), int64(len(other)), "", "", minio.PutObjectOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, part := range parts {
		if got, err := read(part); len(got) >= len(content) || err == nil {
			t.Errorf("%q: %d other bytes, %v", part, len(got), err)
		}
	}
	for _, part := range parts {
		if _, err := bucket.OpenPart(t.Context(), digest("none"), part); !errors.Is(err, blob.ErrMissing) {
			t.Errorf("%q of a content that is not there: %v", part, err)
		}
	}
}
