package fs

import (
	"context"
	"fmt"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// maxRetryAfter is how long, in sum, a service may ask a change to wait beyond RetryFor.
const maxRetryAfter = 30 * time.Second

// The pause between two attempts of a change doubles, unless the service asks for one.
const (
	firstChangePause   = 100 * time.Millisecond
	longestChangePause = 5 * time.Second
)

// change carries out a request that must take effect exactly once. After an end that
// leaves it open whether it did, took looks at the service; only what did not take effect
// is asked for again, for as long as RetryFor allows. After a time-out it is not repeated:
// the service may still be at it. A service that asks to be waited for is, unless it does not
// even answer a look.
func (f *FileSystem) change(ctx context.Context, do func(context.Context) error, took func(context.Context) (bool, error)) error {
	deadline := f.now().Add(f.opts.RetryFor)
	pause, waited := firstChangePause, time.Duration(0)
	for {
		err := do(ctx)
		if err == nil || !archive.Doubtful(err) {
			return err
		}
		ended, asked := f.now(), archive.RetryAfter(err)
		waited += asked
		again := archive.KindOf(err) != archive.KindTimeout && waited <= maxRetryAfter
		if again {
			deadline = deadline.Add(asked)
		}
		for _, after := range []time.Duration{pause, asked} {
			wait := after - f.now().Sub(ended)
			if wait <= 0 {
				continue
			}
			if werr := f.wait(ctx, wait); werr != nil {
				return err
			}
			done, lerr := took(ctx)
			switch {
			case lerr != nil:
				return fmt.Errorf("%w; what became of it: %s", err, lerr.Error()) // the next listing may tell
			case done:
				return nil
			case !again, f.now().After(deadline):
				return err
			}
		}
		if asked == 0 {
			pause = min(2*pause, longestChangePause)
		}
	}
}

// wait sleeps for d, or until ctx is done.
func (f *FileSystem) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
