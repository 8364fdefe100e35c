//go:build linux

package load

import (
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"
)

// diary is what people did, and how long it took.
type diary struct {
	began time.Time

	mu     sync.Mutex
	waits  map[Kind][]wait // guarded by mu
	failed []string        // guarded by mu
}

// wait is how long something took that began some time after the beginning.
type wait struct{ at, took time.Duration }

func newDiary() *diary { return &diary{began: time.Now(), waits: map[Kind][]wait{}} }

// note notes something that has ended.
func (d *diary) note(kind Kind, began time.Time, err error) {
	took := time.Since(began)
	d.mu.Lock()
	defer d.mu.Unlock()
	if err != nil {
		d.failed = append(d.failed, fmt.Sprintf("after %.0f s: %s, which took %.1f s: %v", time.Since(d.began).Seconds(), kind, took.Seconds(), err))
		return
	}
	d.waits[kind] = append(d.waits[kind], wait{began.Sub(d.began), took})
}

// between is how long what began in some time took, and how often that was.
func (d *diary) between(kind Kind, from, to time.Duration) Waits {
	d.mu.Lock()
	defer d.mu.Unlock()
	var w Waits
	for _, one := range d.waits[kind] {
		if from <= one.at && one.at < to {
			w = append(w, one.took)
		}
	}
	slices.Sort(w)
	return w
}

// Waits are how long something took, in ascending order.
type Waits []time.Duration

// At is the wait that a share of all do not exceed, 0 of none.
func (w Waits) At(share float64) time.Duration {
	if len(w) == 0 {
		return 0
	}
	return w[min(len(w)-1, int(share*float64(len(w))))]
}

// String has the median, the 99th percentile and the longest, in milliseconds.
func (w Waits) String() string {
	ms := func(share float64) string {
		if took := w.At(share); took < 100*time.Millisecond {
			return fmt.Sprintf("%.3g", took.Seconds()*1000)
		}
		return strconv.FormatInt(w.At(share).Milliseconds(), 10)
	}
	return ms(.5) + " / " + ms(.99) + " / " + ms(1)
}
