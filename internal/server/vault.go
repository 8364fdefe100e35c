package server

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/archivefs/archivefs/internal/server/blob"
)

// vault joins contents with their uses: it makes a content durable before the
// transaction that refers to it, and removes it when nothing refers to it any more.
type vault struct {
	contents
	uses renditions

	mu sync.Mutex
	// pins counts the changes in flight that rely on a content, which may not be
	// removed although no document refers to it yet. Guarded by mu.
	pins map[string]int
}

// keep publishes what was staged and calls record, which commits the documents that
// refer to it. Whatever fails, contents without a use are removed again.
func (v *vault) keep(ctx context.Context, staged []blob.Staged, record func() error) (err error) {
	digests := make([]string, 0, len(staged))
	for _, s := range staged {
		digests = append(digests, s.Digest())
	}
	v.pin(digests)
	defer func() { err = errors.Join(err, v.unpin(ctx, digests)) }()
	if err := v.Publish(ctx, staged...); err != nil {
		return fmt.Errorf("keep content: %w", err)
	}
	return record()
}

// hold keeps a content from being removed until release was called.
func (v *vault) hold(ctx context.Context, digest string) (release func() error) {
	v.pin([]string{digest})
	return func() error { return v.unpin(ctx, []string{digest}) }
}

// drop removes a content and its renditions unless something refers to it.
func (v *vault) drop(ctx context.Context, digest string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.dropLocked(ctx, digest)
}

func (v *vault) dropLocked(ctx context.Context, digest string) error {
	if v.pins[digest] > 0 {
		return nil
	}
	used, err := v.uses.Referenced(ctx, digest)
	if err != nil || used {
		return err
	}
	made, err := v.uses.DropRenditions(ctx, digest)
	if err != nil {
		return err
	}
	for _, rendition := range made {
		if err := v.dropLocked(ctx, rendition); err != nil {
			return err
		}
	}
	return v.Remove(ctx, digest)
}

func (v *vault) pin(digests []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, digest := range digests {
		v.pins[digest]++
	}
}

// unpin ends a change and drops what it left unused.
func (v *vault) unpin(ctx context.Context, digests []string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	var errs []error
	for _, digest := range digests {
		if v.pins[digest]--; v.pins[digest] > 0 {
			continue
		}
		delete(v.pins, digest)
		errs = append(errs, v.dropLocked(ctx, digest))
	}
	return errors.Join(errs...)
}

// sweep removes the contents that nothing refers to.
func (v *vault) sweep(ctx context.Context) (int, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.Sweep(ctx, v.uses.Referenced)
}
