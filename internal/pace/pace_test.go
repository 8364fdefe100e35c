package pace

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
		"at the pace":                    {each: Least, every: time.Second},
		"in steps":                       {each: 25 * Least, every: 25 * time.Second},
		"nothing":                        {each: 0, every: time.Second, cut: limit},
		"a byte now and then":            {each: 1, every: 29 * time.Second, cut: limit},
		"bytes in a row":                 {each: 1, every: 10 * time.Millisecond, cut: 34 * time.Second},
		"half the pace":                  {each: Least / 2, every: time.Second, cut: 60 * time.Second},
		"at the pace, within":            {each: Least, every: time.Second, within: true},
		"in steps, within":               {each: 25 * Least, every: 25 * time.Second, within: true},
		"a byte now and then, within":    {each: 1, every: 29 * time.Second, within: true, cut: 31 * time.Second},
		"half the pace, within":          {each: Least / 2, every: time.Second, within: true, cut: 60 * time.Second},
		"nothing, within":                {each: 0, every: time.Second, within: true, cut: limit},
		"a large step after half a wait": {each: 100 * Least, every: 15 * time.Second, within: true},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began, cut, total := time.Now(), time.Duration(0), new(atomic.Int64)
				w := Watch{Limit: limit, Expire: func() { cut = time.Since(began) }}
				if test.within {
					w.Taken = total.Load
					w.Begin()
				}
				for range time.Hour / test.every {
					if !test.within {
						w.Begin()
					}
					if time.Sleep(test.every); w.Expired() {
						break
					}
					total.Add(test.each)
					if !test.within {
						w.End(test.each, Least)
						time.Sleep(2 * limit) // a slow disk
						began = began.Add(2 * limit)
					}
				}
				if test.within || w.Expired() {
					w.End(0, Least)
				}
				if d := cut - test.cut; d < -time.Second || d > time.Second || cut == 0 != (test.cut == 0) {
					t.Errorf("cut after %s, want %s", cut, test.cut)
				}
			})
		})
	}
}

// Time passes while there are more calls of Begin than of End, in whatever order they come.
func TestWaits(t *testing.T) {
	const limit = 30 * time.Second
	for name, test := range map[string]struct {
		calls  string // b: Begin, e: End, one every 20 seconds
		silent time.Duration
		cut    bool
	}{
		"one":                       {calls: "b", silent: 20 * time.Second},
		"one that ended":            {calls: "be"},
		"one that is too long":      {calls: "b ", silent: 40 * time.Second, cut: true},
		"two, apart":                {calls: "beb", silent: 20 * time.Second, cut: true}, // 40 seconds in all
		"two of which one ended":    {calls: "bbe", silent: 60 * time.Second, cut: true},
		"an end before its begin":   {calls: "eb  "},
		"one after that":            {calls: "ebb", silent: 20 * time.Second},
		"one that ended with bytes": {calls: "bE  "},
		"again after bytes":         {calls: "bEb", silent: 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cut := false
				w := Watch{Limit: limit, Expire: func() { cut = true }}
				for _, call := range test.calls {
					switch call {
					case 'b':
						w.Begin()
					case 'e':
						w.End(0, Least)
					case 'E':
						w.End(20*Least, Least)
					}
					time.Sleep(20 * time.Second)
					synctest.Wait()
				}
				if got := w.Silent(); got != test.silent || cut != test.cut || w.Expired() != test.cut {
					t.Errorf("silent for %s, want %s; cut %t, want %t", got, test.silent, cut, test.cut)
				}
				w.End(0, Least)
			})
		})
	}
}
