package blob

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"syscall"

	"github.com/minio/minio-go/v7"

	"github.com/archivefs/archivefs/archive"
)

// absent reports whether err says that there is no such object.
func absent(err error) bool { return minio.ToErrorResponse(err).Code == minio.NoSuchKey }

// beyond reports whether err says that an object has no such bytes.
func beyond(err error) bool {
	answer := minio.ErrorResponse{}
	return errors.As(err, &answer) && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable
}

// failed says what went wrong with the bucket, and whether it is worth to try again later. What
// is wrong with the caller or with a file here is passed on as it is.
func (b *Bucket) failed(err error) error {
	if err == nil {
		return nil
	}
	if local := new(fs.PathError); errors.Is(err, context.Canceled) || errors.As(err, &local) {
		return err
	}
	kind, what := archive.KindServer, ""
	answer := minio.ErrorResponse{}
	switch {
	case !errors.As(err, &answer):
		kind, what = archive.KindUnreachable, "it cannot be reached; look whether it runs, and at endpoint"
		if request := new(url.Error); errors.As(err, &request) {
			err = request.Err // the request's address says nothing more
		}
	case answer.StatusCode == http.StatusInsufficientStorage:
		what, err = "it has no room left", fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	case answer.StatusCode >= http.StatusInternalServerError, answer.StatusCode == http.StatusTooManyRequests, answer.StatusCode == http.StatusRequestTimeout:
		kind, what = archive.KindUnreachable, "it cannot answer now"
	case answer.Code == minio.NoSuchBucket:
		return &archive.Error{Op: "bucket " + b.address.Bucket, Kind: archive.KindUnreachable, Err: fmt.Errorf("%s has no such bucket; make it, or name another one", b.address.Endpoint)}
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusUnauthorized:
		what = "it refuses the credentials, or they do not allow this; look at AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the policy of the bucket"
	case answer.StatusCode == http.StatusMovedPermanently, answer.StatusCode == http.StatusBadRequest:
		what = "it does not take the request; look at endpoint, region and path-style"
	default:
		what = "it refused the request"
	}
	return &archive.Error{Op: "bucket " + b.address.Bucket, Kind: kind, Err: fmt.Errorf("%s: %s: %w", b.address.Endpoint, what, err)}
}
