package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/pace"
)

const (
	// attempts is how often a request is sent, with pauses in between.
	attempts = 3
	// removeTimeout bounds a removal: a transaction waits for it, and may hold a lock for a minute
	// at most (package store).
	removeTimeout = 20 * time.Second
	// metadataTimeout bounds a request to the service that gives a machine its credentials.
	metadataTimeout = 5 * time.Second
)

// Bucket stores contents as objects in a bucket with the S3 interface. Any number of processes may
// use it at the same time.
type Bucket struct {
	*staging
	address   Address
	core      minio.Core
	transport *http.Transport
	part      int64 // bytes of a part in a multipart upload
}

// OpenBucket checks that the bucket can be used. Contents are received in the directory scratch,
// which Claim creates (0700) and other processes may share. The credentials come from the
// environment, the files in ~/.aws, or the machine's role.
func OpenBucket(ctx context.Context, address Address, scratch string) (*Bucket, error) {
	transport, err := newTransport(address)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	// The usual places of programs for S3.
	cred := credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{}, &credentials.FileAWSCredentials{}, &credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}},
	})
	core, err := minio.NewCore(address.Endpoint.Host, &minio.Options{
		Creds: cred, Secure: address.Endpoint.Scheme == "https", Region: address.Region,
		Transport: transport, BucketLookup: address.lookup(), MaxRetries: attempts,
	})
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	b := &Bucket{staging: newStaging(scratch, false), address: address, core: *core, transport: transport, part: partSize}
	if have, err := cred.GetWithContext(core.CredContext()); err != nil || have.AccessKeyID == "" {
		return nil, errors.Join(fmt.Errorf("open %s: no credentials were found; set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, "+
			"or AWS_PROFILE for a profile of ~/.aws", address), b.Close())
	}
	if err := b.Check(ctx); err != nil {
		return nil, errors.Join(err, b.Close())
	}
	return b, nil
}

func (a Address) lookup() minio.BucketLookupType {
	switch {
	case a.PathStyle == nil:
		return minio.BucketLookupAuto
	case *a.PathStyle:
		return minio.BucketLookupPath
	}
	return minio.BucketLookupDNS
}

// newTransport makes connections that fail when they are too slow.
func newTransport(address Address) (*http.Transport, error) {
	transport, err := minio.DefaultTransport(address.Endpoint.Scheme == "https")
	if err != nil {
		return nil, err
	}
	dialer := &net.Dialer{Timeout: address.Timeout}
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dialer.DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		return &moving{Conn: conn, watch: pace.Watch{
			Limit: address.Timeout, Expire: func() { _ = conn.SetDeadline(time.Unix(1, 0)) }, // fails for a closed connection
		}}, nil
	}
	transport.ResponseHeaderTimeout = address.Timeout
	transport.IdleConnTimeout = address.Timeout / 2 // before the read deadline of an idle connection
	return transport, nil
}

// Check returns why the bucket cannot be used now, nil if it can. It lists an object, because the
// answer to a HEAD has no body to give a reason.
func (b *Bucket) Check(ctx context.Context) error {
	for object := range b.core.ListObjectsIter(ctx, b.address.Bucket, minio.ListObjectsOptions{Prefix: b.address.Prefix, MaxKeys: 1}) {
		if object.Err != nil {
			return b.failed(object.Err)
		}
		break
	}
	return ctx.Err()
}

// Has reports whether all of the contents are stored.
func (b *Bucket) Has(ctx context.Context, digests ...string) (bool, error) {
	var lacking atomic.Bool
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(contentsAbreast)
	for _, digest := range digests {
		group.Go(func() error {
			_, err := b.core.StatObject(ctx, b.address.Bucket, b.key(digest), minio.StatObjectOptions{})
			if absent(err) || !valid(digest) {
				lacking.Store(true)
				return nil
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return false, fmt.Errorf("look for content: %w", b.failed(err))
	}
	return !lacking.Load(), nil
}

// Remove removes a content; a missing one is no error.
func (b *Bucket) Remove(ctx context.Context, digest string) error {
	if !valid(digest) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, removeTimeout)
	defer cancel()
	err := b.core.RemoveObject(ctx, b.address.Bucket, b.key(digest), minio.RemoveObjectOptions{})
	if err != nil && !absent(err) {
		return fmt.Errorf("remove content: %w", b.failed(err))
	}
	return nil
}

// Close closes idle connections.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

func (b *Bucket) key(digest string) string { return b.address.Prefix + digest }

const (
	// partSize is the size from which a content is sent in parts, and the size of a part, unless
	// that makes more parts than S3 accepts.
	partSize = 16 << 20
	maxParts = 10_000
	// contentsAbreast is how many contents are sent at a time, partsAbreast how many parts of each.
	contentsAbreast = 8
	partsAbreast    = 4
	// abortTimeout bounds the removal of a failed upload.
	abortTimeout = 30 * time.Second
)

// Publish makes staged contents durable under their digests. It returns when the bucket has all of
// them; S3 compares each with its digest. An existing content is overwritten with the same bytes,
// which renews its age. After an error some may be stored.
func (b *Bucket) Publish(ctx context.Context, contents ...Staged) error {
	files, err := b.own(contents)
	if err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(contentsAbreast)
	for _, staged := range files {
		group.Go(func() error {
			if staged.size > b.part {
				return b.putParts(ctx, staged)
			}
			return b.send(ctx, staged.reader(), func(body io.Reader) error {
				_, err := b.core.PutObject(ctx, b.address.Bucket, b.key(staged.digest), body, staged.size, "", staged.digest, putOptions())
				return err
			})
		})
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("publish content: %w", err)
	}
	return nil
}

// send sends bytes, and repeats after a failure of the service. Each attempt has its own reader:
// with a shared one, an attempt that was answered early could still be reading.
func (b *Bucket) send(ctx context.Context, bytes *io.SectionReader, request func(body io.Reader) error) error {
	pause := backoff.NewExponentialBackOff()
	pause.InitialInterval, pause.MaxInterval = minio.DefaultRetryUnit, minio.DefaultRetryCap
	_, err := backoff.Retry(ctx, func() (struct{}, error) {
		err := request(struct{ io.Reader }{io.NewSectionReader(bytes, 0, bytes.Size())})
		if err == nil {
			return struct{}{}, nil
		}
		if err = b.failed(err); archive.KindOf(err) != archive.KindUnreachable {
			err = backoff.Permanent(err)
		}
		return struct{}{}, err
	}, backoff.WithBackOff(pause), backoff.WithMaxTries(attempts))
	return err
}

// putOptions has the digest of the body signed with the request, with and without TLS.
func putOptions() minio.PutObjectOptions {
	return minio.PutObjectOptions{ContentType: "application/octet-stream", DisableContentSha256: true}
}

// putParts sends a content in parts, each compared with its own digest. A failure leaves nothing;
// parts left by a crash are removed by Walk.
func (b *Bucket) putParts(ctx context.Context, s *stagedFile) error {
	id, err := b.core.NewMultipartUpload(ctx, b.address.Bucket, b.key(s.digest), putOptions())
	if err != nil {
		return b.failed(err)
	}
	parts, err := b.sendParts(ctx, s, id)
	if err == nil {
		_, err = b.core.CompleteMultipartUpload(ctx, b.address.Bucket, b.key(s.digest), id, parts, minio.PutObjectOptions{})
		err = b.failed(err)
	}
	if err != nil {
		return errors.Join(err, b.abort(ctx, b.key(s.digest), id))
	}
	made, err := b.core.StatObject(ctx, b.address.Bucket, b.key(s.digest), minio.StatObjectOptions{})
	if err == nil && made.Size != s.size {
		return fmt.Errorf("%s stored %d bytes of %d", b.address, made.Size, s.size)
	}
	return b.failed(err)
}

// sendParts sends the parts of a content, several at a time.
func (b *Bucket) sendParts(ctx context.Context, s *stagedFile, id string) ([]minio.CompletePart, error) {
	size := max(b.part, (s.size+maxParts-1)/maxParts)
	parts := make([]minio.CompletePart, (s.size+size-1)/size)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAbreast)
	for i := range parts {
		group.Go(func() error {
			begin := int64(i) * size
			part := io.NewSectionReader(s, begin, min(size, s.size-begin))
			sum := sha256.New()
			if _, err := io.Copy(sum, part); err != nil {
				return err
			}
			return b.send(ctx, part, func(body io.Reader) error {
				made, err := b.core.PutObjectPart(ctx, b.address.Bucket, b.key(s.digest), id, i+1, body, part.Size(),
					minio.PutObjectPartOptions{Sha256Hex: hex.EncodeToString(sum.Sum(nil)), DisableContentSha256: true})
				parts[i] = minio.CompletePart{PartNumber: i + 1, ETag: made.ETag}
				return err
			})
		})
	}
	return parts, group.Wait()
}

// abort removes the parts of an incomplete content.
func (b *Bucket) abort(ctx context.Context, key, id string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTimeout)
	defer cancel()
	err := b.core.AbortMultipartUpload(ctx, b.address.Bucket, key, id)
	if err != nil && minio.ToErrorResponse(err).Code != minio.NoSuchUpload {
		return fmt.Errorf("drop the parts of a content: %w", b.failed(err))
	}
	return nil
}

const (
	// drained is how many bytes of an unneeded answer are read, so that its connection can be reused.
	drained = 64 << 10
	// streams is how many requests a reader with random access may cost, unless it was opened for a
	// part. After that it gets a copy of the content in a temporary file.
	streams = 3
)

// object reads a content of a bucket. It requests the named part, and then all that follows, so
// that sequential reading costs one request; that also compares the bytes with the digest. A broken
// answer is requested again from where it broke.
type object struct {
	ctx    context.Context // of Open; it lives as long as the reader
	bucket *Bucket
	digest string
	etag   string
	size   int64 // negative until it is known
	parted bool  // opened for a part: never copied

	at    int64         // position of the next Read
	body  io.ReadCloser // the answer from got on; nil without a request
	got   int64         // how far body was read
	until int64         // where body ends
	asked int           // number of requests
	began int64         // where body began
	short int           // consecutive answers that broke early
	sum   hash.Hash     // of all bytes up to got; nil if some were skipped
	copy  *os.File      // a copy of the content, for random access
}

// Open opens a content for reading. The error is ErrMissing if there is none. The reader needs ctx until it is closed.
func (b *Bucket) Open(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	return b.OpenPart(ctx, digest, Whole)
}

// OpenPart is Open for reading a part: it requests nothing else.
func (b *Bucket) OpenPart(ctx context.Context, digest string, part Part) (io.ReadSeekCloser, error) {
	if !valid(digest) {
		return nil, fmt.Errorf("content %q: %w", digest, ErrMissing)
	}
	o := &object{ctx: ctx, bucket: b, digest: digest, size: -1, parted: part != Whole}
	var err error
	if part == Nothing {
		err = o.look()
	} else if err = o.ask(part); beyond(err) {
		err = o.look()
	}
	if err != nil {
		return nil, err
	}
	return o, nil
}

// look determines the length of the content.
func (o *object) look() error {
	b := o.bucket
	info, err := b.core.StatObject(o.ctx, b.address.Bucket, b.key(o.digest), minio.StatObjectOptions{})
	if err != nil {
		return o.failed(err)
	}
	o.size, o.etag = info.Size, info.ETag
	return nil
}

func (o *object) failed(err error) error {
	if absent(err) {
		err = ErrMissing
	} else {
		err = o.bucket.failed(err)
	}
	return fmt.Errorf("content %s: %w", o.digest, err)
}

// ask requests a part of the content, or all from o.at on.
func (o *object) ask(part Part) error {
	var options minio.GetObjectOptions
	if part != Whole {
		options.Set("Range", string(part))
	} else if o.at > 0 {
		if err := options.SetRange(o.at, 0); err != nil {
			return err
		}
	}
	if o.etag != "" {
		if err := options.SetMatchETag(o.etag); err != nil {
			return err
		}
	}
	b := o.bucket
	body, info, header, err := b.core.GetObject(o.ctx, b.address.Bucket, b.key(o.digest), options)
	if err != nil {
		return o.failed(err)
	}
	first, until, size := int64(0), info.Size, info.Size
	if of := header.Get("Content-Range"); of != "" {
		if _, err := fmt.Sscanf(of, "bytes %d-%d/%d", &first, &until, &size); err == nil {
			until++ // Content-Range names the last byte
		}
	}
	if info.Size < 0 || until-first != info.Size || first < 0 || until > size || o.size >= 0 && size != o.size || part == Whole && (first != o.at || until != size) {
		return errors.Join(fmt.Errorf("content %s: %s did not send the bytes from %d of %d", o.digest, b.address, o.at, o.size), body.Close())
	}
	if o.size < 0 {
		o.size, o.etag = size, info.ETag
	}
	switch {
	case first == 0:
		o.sum = sha256.New()
	case first != o.got:
		o.sum = nil
	}
	o.body, o.began, o.got, o.until, o.asked = body, first, first, until, o.asked+1
	return nil
}

func (o *object) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += o.at
	case io.SeekEnd:
		offset += o.size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning of a content")
	}
	o.at = offset
	return offset, nil
}

func (o *object) Read(p []byte) (int, error) {
	if o.at >= o.size {
		return 0, io.EOF
	}
	if o.copy == nil && o.at != o.got {
		if err := o.move(); err != nil {
			return 0, err
		}
	}
	if o.copy != nil {
		n, err := o.copy.ReadAt(p, o.at)
		o.at += int64(n)
		return n, err
	}
	return o.stream(p)
}

// stream reads on, and sends another request after a broken answer.
func (o *object) stream(p []byte) (n int, err error) {
	for o.short < attempts {
		if o.body == nil {
			if err := o.ask(Whole); err != nil {
				return 0, err
			}
		}
		n, err = o.body.Read(p)
		if n > 0 {
			return o.advance(p[:n])
		}
		if err == nil {
			return 0, nil
		}
		_ = o.body.Close() // err already says what is wrong
		o.body = nil
		if o.short++; o.got-o.began > drained {
			o.short = 0
		}
	}
	o.short = 0
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return 0, fmt.Errorf("content %s breaks off at %d of %d: %w", o.digest, o.at, o.size, o.bucket.failed(err))
}

// advance counts read bytes. It holds back the last bytes of a content with a wrong digest, so that
// nobody takes it for complete.
func (o *object) advance(p []byte) (int, error) {
	if o.sum != nil {
		_, _ = o.sum.Write(p) // it never fails
		if o.got+int64(len(p)) == o.size && hex.EncodeToString(o.sum.Sum(nil)) != o.digest {
			o.drop()
			return 0, fmt.Errorf("content %s in %s: %w", o.digest, o.bucket.address, ErrDamaged)
		}
	}
	o.got += int64(len(p))
	o.at = o.got
	return len(p), nil
}

// move replaces an answer by one from o.at, or by a copy.
func (o *object) move() error {
	o.drop()
	if o.parted || o.asked < streams {
		return o.ask(Whole)
	}
	whole, err := o.bucket.Open(o.ctx, o.digest)
	if err != nil {
		return err
	}
	file, err := o.bucket.create()
	if err == nil {
		if _, err = io.Copy(file, whole); err == nil {
			o.copy = file
			return whole.Close()
		}
		_ = file.Close()
	}
	return errors.Join(err, whole.Close())
}

// drop closes an answer. Its error does not matter.
func (o *object) drop() {
	if o.body == nil {
		return
	}
	if o.until-o.got <= drained {
		_, _ = io.Copy(io.Discard, o.body)
	}
	_ = o.body.Close()
	o.body = nil
}

func (o *object) Close() error {
	o.drop()
	if o.copy != nil {
		return o.copy.Close()
	}
	return nil
}

// Claim assigns the contents to an archive, and creates the directory for receiving. The error is
// ErrForeign if they belong to another.
func (b *Bucket) Claim(ctx context.Context, id string) error {
	found, err := b.claimed(ctx)
	if absent(err) {
		options := putOptions()
		options.SetMatchETagExcept("*") // only one of two concurrent claims succeeds
		_, err = b.core.PutObject(ctx, b.address.Bucket, b.key(claim), strings.NewReader(id), int64(len(id)), "", "", options)
		if err == nil || minio.ToErrorResponse(err).Code == minio.PreconditionFailed {
			found, err = b.claimed(ctx)
		}
	}
	if err := whose(b.address.String(), found, b.failed(err), id); err != nil {
		return err
	}
	return b.prepare()
}

// Claimed returns nil if the contents belong to the archive, ErrUnclaimed if they belong to none,
// and ErrForeign if they belong to another.
func (b *Bucket) Claimed(ctx context.Context, id string) error {
	found, err := b.claimed(ctx)
	if absent(err) {
		return unclaimed(b.address.String(), fmt.Sprintf("the object %s in the bucket %s", b.key(claim), b.address.Bucket), id)
	}
	return whose(b.address.String(), found, b.failed(err), id)
}

func (b *Bucket) claimed(ctx context.Context) (string, error) {
	body, _, _, err := b.core.GetObject(ctx, b.address.Bucket, b.key(claim), minio.GetObjectOptions{})
	if err != nil {
		return "", err
	}
	found, err := io.ReadAll(body)
	return string(found), errors.Join(err, body.Close())
}

// listed is how many objects a request lists.
const listed = 1000

// Walk calls each for every content published before that time. each may remove it. It also removes
// parts of contents that were not completed since then.
func (b *Bucket) Walk(ctx context.Context, before time.Time, each func(digest string) error) error {
	if err := b.List(ctx, before, func(digest string, _ int64) error { return each(digest) }); err != nil {
		return err
	}
	return b.dropParts(ctx, before)
}

// List is Walk with sizes, and without removing anything.
func (b *Bucket) List(ctx context.Context, before time.Time, each func(digest string, size int64) error) error {
	listing := minio.ListObjectsOptions{Prefix: b.address.Prefix, Recursive: true, MaxKeys: listed}
	for object := range b.core.ListObjectsIter(ctx, b.address.Bucket, listing) {
		if object.Err != nil {
			return fmt.Errorf("list contents: %w", b.failed(object.Err))
		}
		digest := object.Key[len(b.address.Prefix):]
		if !valid(digest) || object.LastModified.After(before) {
			continue
		}
		if err := each(digest, object.Size); err != nil {
			return err
		}
	}
	return nil
}

// dropParts removes the parts of incomplete contents, which a crash left.
func (b *Bucket) dropParts(ctx context.Context, before time.Time) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel() // ends the listing
	for upload := range b.core.ListIncompleteUploads(ctx, b.address.Bucket, b.address.Prefix, true) {
		if upload.Err != nil {
			return fmt.Errorf("list contents: %w", b.failed(upload.Err))
		}
		if upload.Initiated.After(before) {
			continue
		}
		if err := b.abort(ctx, upload.Key, upload.UploadID); err != nil {
			return err
		}
	}
	return nil
}

// absent reports whether err says that there is no such object.
func absent(err error) bool { return minio.ToErrorResponse(err).Code == minio.NoSuchKey }

// beyond reports whether err says that a range begins beyond the end of an object.
func beyond(err error) bool {
	answer := minio.ErrorResponse{}
	return errors.As(err, &answer) && answer.StatusCode == http.StatusRequestedRangeNotSatisfiable
}

// failed turns an error of the bucket into one for people, which says whether a retry makes sense.
// Errors of the caller and of local files are returned unchanged.
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
			err = request.Err // the rest of it is the request's address
		}
	case answer.StatusCode == http.StatusInsufficientStorage:
		what, err = "it has no room left", fmt.Errorf("%w: %w", syscall.ENOSPC, err)
	case answer.StatusCode >= http.StatusInternalServerError, answer.StatusCode == http.StatusTooManyRequests, answer.StatusCode == http.StatusRequestTimeout:
		kind, what = archive.KindUnreachable, "it cannot answer now"
	case answer.Code == minio.NoSuchBucket:
		return &archive.Error{Op: "bucket " + b.address.Bucket, Kind: archive.KindUnreachable, Err: fmt.Errorf("%s has no such bucket; make it, or name another one", b.address.Endpoint)}
	case answer.StatusCode == http.StatusForbidden, answer.StatusCode == http.StatusUnauthorized:
		what = "it refuses the credentials, or they do not allow this; check AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and the policy of the bucket"
	case answer.StatusCode == http.StatusMovedPermanently, answer.StatusCode == http.StatusBadRequest:
		what = "it rejects the request; check endpoint, region and path-style"
	default:
		what = "it refused the request"
	}
	return &archive.Error{Op: "bucket " + b.address.Bucket, Kind: kind, Err: fmt.Errorf("%s: %s: %w", b.address.Endpoint, what, err)}
}
