package fs

import (
	"context"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/retry"
)

// changer changes folders and documents.
type changer interface {
	CreateFolder(ctx context.Context, parent archive.ID, name string) (archive.Folder, error)
	Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error
	Rename(ctx context.Context, doc archive.ID, name string) error
	Delete(ctx context.Context, doc archive.ID) error
	// LacksReplace reports whether it is known that the service has no operation that
	// replaces a document. It asks nothing.
	LacksReplace() bool
}

// changePause is how long to wait after so many attempts of a change, unless the service asks
// for another pause.
func changePause(attempts int) time.Duration {
	return retry.Backoff{First: 100 * time.Millisecond, Longest: 5 * time.Second}.After(attempts)
}

// change carries out a request that must take effect exactly once. After an end that
// leaves it open whether it did, took looks at the service; only what did not take effect
// is asked for again, for as long as RetryFor allows. After a time-out it is not repeated:
// the service may still be at it. A service that asks to be waited for is, unless it does not
// even answer a look.
func (f *FileSystem) change(ctx context.Context, do func(context.Context) error, took func(context.Context) (bool, error)) error {
	budget := retry.NewBudget(f.now(), f.opts.RetryFor)
	for attempts := 1; ; {
		err := do(ctx)
		if err == nil || !archive.Doubtful(err) {
			return err
		}
		ended, asked := f.now(), archive.RetryAfter(err)
		again := archive.KindOf(err) != archive.KindTimeout && budget.Grant(asked)
		for _, after := range []time.Duration{changePause(attempts), asked} {
			wait := after - f.now().Sub(ended)
			if wait <= 0 {
				continue
			}
			if werr := retry.Sleep(ctx, wait); werr != nil {
				return err
			}
			done, lerr := took(ctx)
			switch {
			case lerr != nil:
				return fmt.Errorf("%w; what became of it: %s", err, lerr.Error()) // the next listing may tell
			case done:
				return nil
			case !again, budget.Left(f.now()) < 0:
				return err
			}
		}
		if asked == 0 {
			attempts++
		}
	}
}
