package archive

import (
	"testing"
	"time"
)

func TestLatencyWithin(t *testing.T) {
	var l Latency
	if d, ok := l.Within(0.5); ok {
		t.Errorf("half of no requests within %s; want no answer", d)
	}
	for range 98 {
		l.Add(3 * time.Millisecond)
	}
	l.Add(5 * time.Millisecond) // the bound belongs to its bucket
	l.Add(time.Minute)          // longer than every bound
	for _, c := range []struct {
		share float64
		want  time.Duration
		ok    bool
	}{
		{0.01, 5 * time.Millisecond, true},
		{0.5, 5 * time.Millisecond, true},
		{0.99, 5 * time.Millisecond, true},
		{1, 0, false},
	} {
		if got, ok := l.Within(c.share); got != c.want || ok != c.ok {
			t.Errorf("Within(%v) is %s, %v; want %s, %v", c.share, got, ok, c.want, c.ok)
		}
	}
	if l[2] != 99 || l[len(l)-1] != 1 {
		t.Errorf("buckets %v", l)
	}
}
