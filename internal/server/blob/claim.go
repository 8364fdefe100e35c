package blob

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/minio/minio-go/v7"

	"github.com/archivefs/archivefs/internal/durable"
)

// claim names what says whose the contents are. It is no digest, so that nothing takes it for
// a content.
const claim = "archive-id"

// ErrForeign says that the contents belong to another archive, which would lose those that
// this one does not know.
var ErrForeign = errors.New("it holds the contents of another archive, whose database is another one")

// ErrUnclaimed says that no archive has ever kept contents there.
var ErrUnclaimed = errors.New("it does not hold the contents of this archive, which has documents already: there is no " + claim + " in it; " +
	"name the bucket, or the directory, where its contents are")

// unclaimed is ErrUnclaimed of a place, and how to put back the claim where that alone was lost: what
// it is, and the id in it, which is no secret.
func unclaimed(place, what, id string) error {
	return fmt.Errorf("%s: %w; where they are here for certain, and %s alone was lost, make %s with the text %s, and then let archivefs admin verify look for each of them",
		place, ErrUnclaimed, claim, what, id)
}

// WithoutClaim returns nil when no archive has claimed what is in dir, also where there is no dir.
func WithoutClaim(dir string) error {
	_, err := os.Lstat(filepath.Join(dir, claim))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return fmt.Errorf("look whose %s is: %w", dir, err)
	}
	return fmt.Errorf("%s: %w", dir, ErrForeign)
}

// whose compares the claim that was found with the archive's own.
func whose(found, id string) error {
	if strings.TrimSpace(found) != id {
		return ErrForeign
	}
	return nil
}

// Claim has the contents belong to an archive, and makes the directories for them. It returns
// ErrForeign when they belong to another.
func (f *Files) Claim(_ context.Context, id string) error {
	path := filepath.Join(f.dir, claim)
	found, err := os.ReadFile(path) //nolint:gosec // the operator names the directory
	first := errors.Is(err, fs.ErrNotExist)
	if !first {
		if err := f.compare(found, err, id); err != nil {
			return err
		}
	}
	if err := f.prepare(); err != nil || !first {
		return err
	}
	return durable.WriteFile(path, []byte(id+"\n"), 0o600)
}

// Claimed returns nil when the contents belong to the archive, ErrUnclaimed when they belong
// to none, and ErrForeign when they belong to another.
func (f *Files) Claimed(_ context.Context, id string) error {
	found, err := os.ReadFile(filepath.Join(f.dir, claim))
	if errors.Is(err, fs.ErrNotExist) {
		return unclaimed(f.dir, "the file "+filepath.Join(f.dir, claim), id)
	}
	return f.compare(found, err, id)
}

func (f *Files) compare(found []byte, err error, id string) error {
	if err != nil {
		return fmt.Errorf("look whose %s is: %w", f.dir, err)
	}
	if err := whose(string(found), id); err != nil {
		return fmt.Errorf("%s: %w", f.dir, err)
	}
	return nil
}

// Claim has the contents belong to an archive, and makes the directory in which they are received.
// It returns ErrForeign when they belong to another.
func (b *Bucket) Claim(ctx context.Context, id string) error {
	found, err := b.claimed(ctx)
	if absent(err) {
		options := putOptions()
		options.SetMatchETagExcept("*") // of two that are first at the same time one is
		_, err = b.core.PutObject(ctx, b.address.Bucket, b.key(claim), strings.NewReader(id), int64(len(id)), "", "", options)
		if err == nil || minio.ToErrorResponse(err).Code == minio.PreconditionFailed {
			found, err = b.claimed(ctx)
		}
	}
	if err := b.compare(found, err, id); err != nil {
		return err
	}
	return b.prepare()
}

// Claimed returns nil when the contents belong to the archive, ErrUnclaimed when they belong
// to none, and ErrForeign when they belong to another.
func (b *Bucket) Claimed(ctx context.Context, id string) error {
	found, err := b.claimed(ctx)
	if absent(err) {
		return unclaimed(b.address.String(), fmt.Sprintf("the object %s in the bucket %s", b.key(claim), b.address.Bucket), id)
	}
	return b.compare(found, err, id)
}

func (b *Bucket) compare(found string, err error, id string) error {
	if err != nil {
		return fmt.Errorf("look whose %s is: %w", b.address, b.failed(err))
	}
	if err := whose(found, id); err != nil {
		return fmt.Errorf("%s: %w", b.address, err)
	}
	return nil
}

func (b *Bucket) claimed(ctx context.Context) (string, error) {
	body, _, _, err := b.core.GetObject(ctx, b.address.Bucket, b.key(claim), minio.GetObjectOptions{})
	if err != nil {
		return "", err
	}
	found, err := io.ReadAll(body)
	return string(found), errors.Join(err, body.Close())
}
