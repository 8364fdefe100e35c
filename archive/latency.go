package archive

import "time"

// LatencyBounds are the upper bounds of the buckets of Latency, in order. The last bucket has none.
var LatencyBounds = [...]time.Duration{
	time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond,
	10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
	100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 20 * time.Second, 50 * time.Second,
}

// Latency counts requests by duration. Bucket i counts those that took at most LatencyBounds[i] and
// longer than the bound before it; the last bucket counts all others.
type Latency [len(LatencyBounds) + 1]int64

// Add counts one request.
func (l *Latency) Add(took time.Duration) {
	i := 0
	for i < len(LatencyBounds) && took > LatencyBounds[i] {
		i++
	}
	l[i]++
}

// Within returns the smallest bound within which the share of the requests, 0 to 1, was answered.
// False: there was no request, or no bound is large enough.
func (l *Latency) Within(share float64) (time.Duration, bool) {
	var all, counted int64
	for _, n := range l {
		all += n
	}
	for i, bound := range LatencyBounds {
		counted += l[i]
		if all > 0 && float64(counted) >= share*float64(all) {
			return bound, true
		}
	}
	return 0, false
}
