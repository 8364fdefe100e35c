package blob_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/testing/s3test"
)

func TestMain(m *testing.M) {
	minio.DefaultRetryUnit = time.Millisecond
	minio.DefaultRetryCap = time.Millisecond
	os.Exit(m.Run())
}

const bucketName = "contents"

// s3part is the smallest part that S3 accepts.
const s3part = 5 << 20

func openBucket(t *testing.T, address, scratch string) *blob.Bucket {
	t.Helper()
	bucket, err := tryBucket(t, address, scratch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := bucket.Close(); err != nil {
			t.Error(err)
		}
	})
	return bucket
}

func tryBucket(t *testing.T, address, scratch string) (*blob.Bucket, error) {
	t.Helper()
	parsed, err := blob.ParseAddress(address)
	if err != nil {
		t.Fatal(err)
	}
	return blob.OpenBucket(t.Context(), parsed, scratch)
}

// broken is a bucket whose service fails as the test says. The impatient one is the same bucket,
// whose service may be silent for two seconds.
func broken(t *testing.T) (bucket, impatient *blob.Bucket, s3 *s3test.Service) {
	t.Helper()
	s3 = s3test.Start(t)
	address := s3.Bucket(t, bucketName)
	bucket, impatient = openBucket(t, address, t.TempDir()), openBucket(t, address+"&timeout=2s", t.TempDir())
	bucket.SetPart(s3part)
	return bucket, impatient, s3
}

// inBucket counts the objects, and the incomplete uploads.
func inBucket(t *testing.T, s3 *s3test.Service) (objects, unfinished int) {
	t.Helper()
	for object := range s3.Client.ListObjectsIter(t.Context(), bucketName, minio.ListObjectsOptions{Recursive: true}) {
		if object.Err != nil {
			t.Fatal(object.Err)
		}
		objects++
	}
	listed, err := s3.Client.ListMultipartUploads(t.Context(), bucketName, "", "", "", "", 100)
	if err != nil {
		t.Fatal(err)
	}
	return objects, len(listed.Uploads)
}

// With TLS requests are signed differently.
func TestBucketWithTLS(t *testing.T) {
	s3 := s3test.Start(t)
	plain := s3.Bucket(t, bucketName)
	if _, err := tryBucket(t, "s3://contents?endpoint="+strings.Replace(s3.URL, "http:", "https:", 1), t.TempDir()); archive.KindOf(err) != archive.KindUnreachable {
		t.Errorf("got %v", err)
	}
	bucket := openBucket(t, "s3://contents?endpoint="+s3.Secure(t), t.TempDir())
	bucket.SetPart(s3part)
	for _, content := range []string{"", "small", strings.Repeat("in parts", s3part/4)} {
		keep(t, bucket, content)
		if got := read(t, openBucket(t, plain, t.TempDir()), digest(content)); got != content {
			t.Errorf("%d bytes of %d", len(got), len(content))
		}
		s3.Fail(func(w http.ResponseWriter, r *http.Request) bool { return isLarge(r) && sending["altered"](w, r) })
		if err := bucket.Publish(t.Context(), stage(t, bucket, content+"!")); err == nil {
			t.Error("published other bytes")
		}
		s3.Fail(nil)
		wantMissing(t, bucket, content+"!")
	}
}

func TestAwayService(t *testing.T) {
	bucket, impatient, s3 := broken(t)
	keep(t, bucket, "content")
	for name, fault := range sending {
		if name == "cut" || name == "altered" {
			continue
		}
		s3.Fail(fault)
		_, openErr := impatient.Open(t.Context(), digest("content"))
		failures := map[string]error{"open": openErr}
		if name != "silent" { // which takes long
			failures["walk"] = bucket.Walk(t.Context(), time.Now(), nil)
			_, failures["has"] = bucket.Has(t.Context(), digest("content"))
			failures["check"], failures["remove"] = bucket.Check(t.Context()), bucket.Remove(t.Context(), digest("content"))
		}
		for what, err := range failures {
			if archive.KindOf(err) != archive.KindUnreachable || errors.Is(err, blob.ErrMissing) {
				t.Errorf("%s, %s: %v, want unreachable", name, what, err)
			}
		}
	}
	s3.Fail(nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bucket.Open(ctx, digest("content")); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if got := read(t, bucket, digest("content")); got != "content" {
		t.Errorf("%q", got)
	}
}

// OpenBucket reports what is wrong with a bucket, and what to do.
func TestBucketThatCannotBeUsed(t *testing.T) {
	s3 := s3test.Start(t)
	good := s3.Bucket(t, bucketName)
	const nobody = "http://127.0.0.1:1" // no system's service
	tests := map[string]struct {
		address string
		environ map[string]string
		want    string
	}{
		"no such bucket":   {strings.Replace(good, bucketName, "other", 1), nil, "bucket other: service unreachable: " + s3.URL + " has no such bucket; make it"},
		"wrong secret":     {good, map[string]string{"AWS_SECRET_ACCESS_KEY": "hunter2"}, "refuses the credentials"},
		"unknown key":      {good, map[string]string{"AWS_ACCESS_KEY_ID": "nobody"}, "refuse"},
		"nobody there":     {"s3://contents?timeout=1s&endpoint=" + nobody, nil, "cannot be reached"},
		"no bucket's name": {strings.Replace(good, bucketName, "X_Y", 1), nil, "bucket"},
		"no credentials": {good, map[string]string{
			"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": nobody, "HOME": t.TempDir(),
		}, "set AWS_ACCESS_KEY_ID"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			for name, value := range tt.environ {
				t.Setenv(name, value)
			}
			_, err := tryBucket(t, tt.address, t.TempDir())
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), s3test.SecretKey) {
				t.Errorf("tells a secret: %v", err)
			}
		})
	}
}
