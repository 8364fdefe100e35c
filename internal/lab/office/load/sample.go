//go:build linux

package load

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/machine"
	"github.com/archivefs/archivefs/internal/lab/office/host"
)

// Sample is what the mount has at some time.
type Sample struct {
	At          time.Duration // since the beginning
	Resident    float64       // MiB
	Descriptors float64
	Goroutines  float64
	Load        float64 // of the machine: how many processes want to run
}

// watch takes samples until ctx ends, and tells of one in sixty.
func watch(ctx context.Context, h *host.Host, began time.Time, every time.Duration, log func(format string, args ...any)) (all []Sample, err error) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return all, nil
		case <-tick.C:
		}
		s, err := sample(context.WithoutCancel(ctx), h)
		if err != nil {
			return all, err
		}
		s.At = time.Since(began)
		all = append(all, s)
		if len(all)%60 == 0 {
			log("after %.0f s: %.0f MiB, %.0f descriptors, %.0f goroutines; load of the machine %.1f", s.At.Seconds(), s.Resident, s.Descriptors, s.Goroutines, s.Load)
		}
	}
}

func sample(ctx context.Context, h *host.Host) (s Sample, err error) {
	fds, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.MountPID()))
	if err != nil {
		return s, err
	}
	s.Descriptors = float64(len(fds))
	s.Resident = machine.UsageOf([]int{h.MountPID()}).Resident
	if s.Goroutines, err = metric(ctx, h.Metrics, "go_goroutines"); err != nil {
		return s, err
	}
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return s, err
	}
	s.Load, err = strconv.ParseFloat(strings.Fields(string(text))[0], 64)
	return s, err
}

// metric asks for a metric without labels.
func metric(ctx context.Context, address, name string) (float64, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return 0, err
	}
	for line := range strings.Lines(string(text)) {
		if value, is := strings.CutPrefix(line, name+" "); is {
			return strconv.ParseFloat(strings.TrimSpace(value), 64)
		}
	}
	return 0, fmt.Errorf("there is no metric %s", name)
}

// Trend is how a measure of the mount changed.
type Trend struct {
	Second, Last float64 // the means of the second and of the last third of the time
	Hourly       float64 // by a line through both of them, fitted by least squares
}

// growth is how much more a measure may have in the last third than in the second: such a difference
// comes and goes with what is under way.
const growth = 1.1

// Flat says that a measure does not grow.
func (t Trend) Flat() bool { return t.Last <= growth*t.Second }

// trend finds how a measure changed after the first third of the time, in which caches fill.
func trend(all []Sample, of func(Sample) float64) (t Trend) {
	all = all[len(all)/3:]
	half := len(all) / 2
	mean := func(part []Sample) (x, y float64) {
		for _, s := range part {
			x += s.At.Hours() / float64(len(part))
			y += of(s) / float64(len(part))
		}
		return x, y
	}
	_, t.Second = mean(all[:half])
	_, t.Last = mean(all[half:])
	x, y := mean(all)
	var above, below float64
	for _, s := range all {
		above += (s.At.Hours() - x) * (of(s) - y)
		below += (s.At.Hours() - x) * (s.At.Hours() - x)
	}
	if below > 0 {
		t.Hourly = above / below
	}
	return t
}
