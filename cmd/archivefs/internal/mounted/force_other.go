//go:build !linux

package mounted

import (
	"context"
	"errors"
)

// forceUnmount does nothing: what unmounts by force is a command (unmounter).
func forceUnmount(string) error { return errors.ErrUnsupported }

// detachQuickly detaches the mount at dir.
func detachQuickly(ctx context.Context, dir string) error { return DetachMount(ctx, dir) }
