package blob

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"
	"golang.org/x/sync/errgroup"
)

const (
	// attempts is how often a request is sent before it has failed; the library waits in between.
	attempts = 3
	// removeTimeout bounds a removal: a transaction waits for it, and holds a lock no longer than a
	// minute (package store).
	removeTimeout = 20 * time.Second
	// metadataTimeout is how long the service that gives a machine its credentials has to answer.
	metadataTimeout = 5 * time.Second
)

// Bucket keeps contents as objects of a bucket with the S3 interface. Any number of processes may
// use one at the same time.
type Bucket struct {
	*staging
	address   Address
	core      minio.Core
	transport *http.Transport
	part      int64 // bytes of a part of what is sent in parts
}

// OpenBucket checks that the bucket can be used. Contents are received in the directory scratch,
// which Claim makes (0700) when it is not there and may be shared with other processes. The
// credentials are those of the environment, the files of ~/.aws, or the machine's.
func OpenBucket(ctx context.Context, address Address, scratch string) (*Bucket, error) {
	transport, err := newTransport(address)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", address, err)
	}
	cred := findCredentials()
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

// findCredentials looks where programs for S3 usually have them.
func findCredentials() *credentials.Credentials {
	return credentials.NewChainCredentials([]credentials.Provider{
		&credentials.EnvAWS{},
		&credentials.FileAWSCredentials{},
		&credentials.IAM{Client: &http.Client{Timeout: metadataTimeout}},
	})
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

// newTransport makes connections that fail when too little moves on them.
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
		return newMoving(conn, address.Timeout), nil
	}
	transport.ResponseHeaderTimeout = address.Timeout
	transport.IdleConnTimeout = address.Timeout / 2 // before the deadline of a read that waits for nothing
	return transport, nil
}

// Check reports why the bucket cannot be used now, if it cannot. It lists, because the answer to
// HEAD has no place for a reason.
func (b *Bucket) Check(ctx context.Context) error {
	for object := range b.core.ListObjectsIter(ctx, b.address.Bucket, minio.ListObjectsOptions{Prefix: b.address.Prefix, MaxKeys: 1}) {
		if object.Err != nil {
			return b.failed(object.Err)
		}
		break
	}
	return ctx.Err()
}

// Has reports whether all of the contents are kept.
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

// Remove drops a content; one that is not kept is no error.
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

// Close ends the connections that are idle.
func (b *Bucket) Close() error {
	b.transport.CloseIdleConnections()
	return nil
}

func (b *Bucket) key(digest string) string { return b.address.Prefix + digest }
