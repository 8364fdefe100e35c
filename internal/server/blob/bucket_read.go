package blob

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"

	"github.com/minio/minio-go/v7"
)

const (
	// drained is how many bytes of an answer are read although nobody wants them, so that its
	// connection can be used again.
	drained = 64 << 10
	// streams is how many requests a reader may cost that reads here and there, and named no part. Then
	// it gets a copy of the content in a temporary file.
	streams = 3
)

// object reads a content of a bucket. It asks for the part that was named, and then for all that follows when it is read, so that
// who reads from the beginning to the end costs one request; that compares the bytes with the
// digest. An answer that breaks off is asked for again from there.
type object struct {
	ctx    context.Context // of Open: it lives as long as the reader
	bucket *Bucket
	digest string
	etag   string
	size   int64 // below 0 until it is known
	parted bool  // a part was to be read: of those there are a few

	at    int64         // where the next Read begins
	body  io.ReadCloser // what follows got; nil when nothing was asked for
	got   int64         // how far the content was read by body
	until int64         // where body ends
	asked int           // for how many streams
	began int64         // where body began
	short int           // answers in a row that broke off after little
	sum   hash.Hash     // of all bytes up to got; nil once some were left out
	copy  *os.File      // the whole content, for who reads here and there
}

// Open opens a content for reading. It returns ErrMissing when it is not kept. The reader
// needs ctx until it is closed.
func (b *Bucket) Open(ctx context.Context, digest string) (io.ReadSeekCloser, error) {
	return b.OpenPart(ctx, digest, Whole)
}

// OpenPart is Open for who reads a part, which is all that the bucket is asked for then.
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

// look finds out how long the content is.
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

// ask begins an answer: with a part of the content, or with all from o.at on.
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
			until++ // the field has the last byte
		}
	}
	if info.Size < 0 || until-first != info.Size || first < 0 || until > size || o.size >= 0 && size != o.size || part == Whole && (first != o.at || until != size) {
		return errors.Join(fmt.Errorf("content %s: %s answers with other bytes than those from %d of %d", o.digest, b.address, o.at, o.size), body.Close())
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

// Seek implements io.Seeker.
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

// Read implements io.Reader.
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

// stream reads on, and asks again for what an answer did not bring.
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
		_ = o.body.Close() // what is wrong with it is known
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

// advance counts what was read. The last bytes of a content that is not what its digest says
// are kept back, so that nobody takes it for whole.
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

// move gives up an answer for one from o.at, or for a copy.
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

// drop ends an answer. The error of one that nobody reads on is of no concern.
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

// Close implements io.Closer.
func (o *object) Close() error {
	o.drop()
	if o.copy != nil {
		return o.copy.Close()
	}
	return nil
}
