package spool

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// idLength is the length of an id: nanoseconds since 1970 in base 36, enough until 2120.
const idLength = 12

// validID reports whether s is an id. It then is a harmless file name.
func validID(s string) bool {
	if len(s) != idLength {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return false
		}
	}
	return true
}

// ids gives out ids that ascend, also when the clock does not.
type ids struct {
	mu   sync.Mutex
	last int64 // guarded by mu
}

// seen notes an id that is in use.
func (g *ids) seen(id string) {
	n, err := strconv.ParseInt(id, 36, 64)
	if err != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(g.last, n)
}

// next returns an id that was not given out and not seen.
func (g *ids) next(now time.Time) string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.last = max(now.UnixNano(), g.last+1, 0)
	s := strconv.FormatInt(g.last, 36)
	return strings.Repeat("0", max(0, idLength-len(s))) + s
}
