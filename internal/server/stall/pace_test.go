package stall

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A client that keeps the pace may take as long as it needs; any other is cut.
func TestPace(t *testing.T) {
	const limit = 30 * time.Second
	for name, test := range map[string]struct {
		each   int64 // bytes of a read, or taken within the one write
		every  time.Duration
		within bool
		cut    time.Duration // 0: never
	}{
		"fast":                           {each: 1 << 20, every: 100 * time.Millisecond},
		"at the pace":                    {each: Pace, every: time.Second},
		"in steps":                       {each: 25 * Pace, every: 25 * time.Second},
		"nothing":                        {each: 0, every: time.Second, cut: limit},
		"a byte now and then":            {each: 1, every: 29 * time.Second, cut: limit},
		"bytes in a row":                 {each: 1, every: 10 * time.Millisecond, cut: 34 * time.Second},
		"half the pace":                  {each: Pace / 2, every: time.Second, cut: 60 * time.Second},
		"at the pace, within":            {each: Pace, every: time.Second, within: true},
		"in steps, within":               {each: 25 * Pace, every: 25 * time.Second, within: true},
		"a byte now and then, within":    {each: 1, every: 29 * time.Second, within: true, cut: 31 * time.Second},
		"half the pace, within":          {each: Pace / 2, every: time.Second, within: true, cut: 60 * time.Second},
		"nothing, within":                {each: 0, every: time.Second, within: true, cut: limit},
		"a large step after half a wait": {each: 100 * Pace, every: 15 * time.Second, within: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, cut, total := time.Now(), time.Duration(0), new(atomic.Int64)
				w := watch{limit: limit, cut: func(time.Time) error { cut = time.Since(began); return nil }}
				if test.within {
					w.taken = total.Load
					w.Begin()
				}
				for range time.Hour / test.every {
					if !test.within {
						w.Begin()
					}
					if time.Sleep(test.every); w.Stalled() {
						break
					}
					total.Add(test.each)
					if !test.within {
						w.End(test.each)
						time.Sleep(2 * limit) // a slow disk
						began = began.Add(2 * limit)
					}
				}
				if test.within || w.Stalled() {
					w.End(0)
				}
				if d := cut - test.cut; d < -time.Second || d > time.Second || cut == 0 != (test.cut == 0) {
					t.Errorf("cut after %s, want %s", cut, test.cut)
				}
			})
		})
	}
}
