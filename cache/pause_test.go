package cache

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestPauseEndsWithItsTimeOrItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		if err := pause(t.Context(), time.Hour); err != nil || time.Since(start) != time.Hour {
			t.Fatalf("%v after %v, want nil after an hour", err, time.Since(start))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := pause(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) {
			t.Fatalf("got %v, want context.DeadlineExceeded", err)
		}
	})
}
