package care

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sync/errgroup"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// batch is how many references are read, or suspects kept, at a time.
	batch = 1000
	// abreast is how many contents are read side by side.
	abreast = 2
	// portion is how many bytes of a content are read at a time.
	portion = 256 << 10
)

// references are all contents that are referred to, in ascending order, as they are when they
// are asked for.
type references struct {
	store *store.Store
	ahead []store.Reference
	last  string // the greatest that was read
	ended bool
}

// peek returns the next one, and io.EOF at the end.
func (r *references) peek(ctx context.Context) (store.Reference, error) {
	if len(r.ahead) == 0 && !r.ended {
		more, err := r.store.Verification.References(ctx, r.last, batch)
		if err != nil {
			return store.Reference{}, err
		}
		if r.ahead, r.ended = more, len(more) == 0; !r.ended {
			r.last = more[len(more)-1].Digest
		}
	}
	if r.ended {
		return store.Reference{}, io.EOF
	}
	return r.ahead[0], nil
}

// next returns the next one and goes on to the one after it.
func (r *references) next(ctx context.Context) (store.Reference, error) {
	first, err := r.peek(ctx)
	if err == nil {
		r.ahead = r.ahead[1:]
	}
	return first, err
}

// has reports whether a content is among them. It must be asked in ascending order.
func (r *references) has(ctx context.Context, digest string) (bool, error) {
	for {
		first, err := r.peek(ctx)
		if errors.Is(err, io.EOF) {
			return false, nil
		}
		if err != nil || first.Digest >= digest {
			return first.Digest == digest, err
		}
		r.ahead = r.ahead[1:]
	}
}

// referenced compares all contents that something refers to with what is kept.
func (v *verifying) referenced(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(abreast)
	all := references{store: v.Store}
	for ctx.Err() == nil {
		r, err := all.next(ctx)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return errors.Join(err, group.Wait())
		}
		v.mu.Lock()
		v.result.Contents++
		v.result.Documents += r.Documents
		v.mu.Unlock()
		group.Go(func() error { return v.content(ctx, r) })
	}
	return group.Wait()
}

// content compares one content with its name and with what documents say of it.
func (v *verifying) content(ctx context.Context, r store.Reference) error {
	size, sum, err := v.read(ctx, r.Digest)
	v.Seen.Contents.Add(1)
	switch {
	case errors.Is(err, blob.ErrMissing):
		// Rightly so, when nothing refers to it any more.
		if used, err := v.Store.Uses.Referenced(ctx, r.Digest); err != nil || !used {
			return err
		}
		if again, err := v.length(ctx, r.Digest); err == nil && again >= 0 {
			return nil // removed and published again
		}
		return v.about(ctx, Missing, r.Digest, "it is not kept")
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return v.about(ctx, Damaged, r.Digest, fmt.Sprintf("it cannot be read: %v", err))
	case sum != "" && sum != r.Digest:
		return v.about(ctx, Damaged, r.Digest, fmt.Sprintf("its %d bytes have another SHA-256: %s", size, sum))
	case r.Documents > 0 && (r.Smallest != size || r.Largest != size):
		return v.about(ctx, Size, r.Digest, fmt.Sprintf("it has %d bytes, and documents say %d to %d", size, r.Smallest, r.Largest))
	}
	return nil
}

// about reports a finding about a content, with the documents that need it.
func (v *verifying) about(ctx context.Context, kind Kind, digest, text string) error {
	holders, err := v.Store.Verification.Holders(ctx, digest, named)
	if err != nil {
		return err
	}
	if len(holders) == named {
		text += fmt.Sprintf("; the first %d of its documents are", named)
	}
	return v.found(Finding{Kind: kind, Content: digest, Text: text, Documents: holders})
}

// read returns the length of a content and its SHA-256, which a fast verification leaves empty.
func (v *verifying) read(ctx context.Context, digest string) (size int64, sum string, err error) {
	if v.Fast {
		size, err = v.length(ctx, digest)
		v.Seen.Bytes.Add(max(size, 0))
		return size, "", err
	}
	content, err := v.Contents.Open(ctx, digest)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = content.Close() }()
	hash, buffer := sha256.New(), v.buffers.Get().(*[portion]byte) // of Verify
	defer v.buffers.Put(buffer)
	p := buffer[:]
	for {
		n, err := content.Read(p)
		_, _ = hash.Write(p[:n]) // it never fails
		size += int64(n)
		v.Seen.Bytes.Add(int64(n))
		if errors.Is(err, io.EOF) {
			return size, hex.EncodeToString(hash.Sum(nil)), nil
		}
		if err == nil {
			err = ctx.Err()
		}
		if err != nil {
			return size, "", err
		}
	}
}

// length is that of a content; one that is not kept is blob.ErrMissing, and has -1.
func (v *verifying) length(ctx context.Context, digest string) (int64, error) {
	return length(ctx, v.Contents, digest)
}

func length(ctx context.Context, in Contents, digest string) (int64, error) {
	content, err := in.Open(ctx, digest)
	if err != nil {
		return -1, err
	}
	defer func() { _ = content.Close() }()
	return content.Seek(0, io.SeekEnd)
}
