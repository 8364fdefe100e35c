package node

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// However many names change, epochs begin a few times a second, and one after the last change.
func TestEpochsAreFew(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e epochs
		e.Begin() // nobody listens yet
		var epochs atomic.Int64
		begun := func() int64 {
			synctest.Wait()
			return epochs.Load()
		}
		e.Start(func() { epochs.Add(1) })
		for i := range 3 * time.Second / time.Millisecond {
			e.Begin()
			if n := epochs.Load(); i == 0 && n != 1 {
				t.Errorf("%d begun by the first change, want it at once", n)
			}
			time.Sleep(time.Millisecond)
		}
		if n := begun(); n < 14 || n > 16 {
			t.Errorf("%d begun in 3 s, want 5 a second", n)
		}
		time.Sleep(2 * epochPause)
		before := begun()
		e.Begin()
		e.Begin()
		time.Sleep(epochPause)
		if n := begun() - before; n != 2 {
			t.Errorf("%d begun by two changes at once, want the first and the last", n)
		}
		time.Sleep(epochPause)
		e.Begin()
		e.Begin()
		before = begun()
		e.Stop()
		e.Begin()
		time.Sleep(epochPause)
		if begun() != before {
			t.Error("begun after the end of the mount")
		}
	})
}
