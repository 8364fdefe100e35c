//go:build linux

package load

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/template"
	"time"

	"github.com/archivefs/archivefs/internal/lab/bench/chart"
	"github.com/archivefs/archivefs/internal/lab/office/host"
)

//go:embed load.md.tmpl
var page string

// Measure is something that the mount has.
type Measure struct {
	Name  string
	Trend Trend
	// Each is how much more it is for each file that was written; only memory may grow with them.
	Each float64 // KiB
	of   func(Sample) float64
}

// most is what a file may cost: the mount knows it from then on, and has its content in its cache.
const most = 8 // KiB

// Right says that a measure does not grow, or no more than the archive lets it.
func (m Measure) Right() bool { return m.Trend.Flat() || m.Each > 0 && m.Each <= most }

// String says so.
func (m Measure) String() string {
	switch {
	case m.Trend.Flat():
		return "flat"
	case m.Each > 0:
		return fmt.Sprintf("%.1f KiB for each file that was written", m.Each)
	default:
		return "**it grows**"
	}
}

// Measures are what the mount has.
func (r *Result) Measures() []Measure {
	all := []Measure{
		{Name: "memory, MiB", of: func(s Sample) float64 { return s.Resident }},
		{Name: "descriptors", of: func(s Sample) float64 { return s.Descriptors }},
		{Name: "goroutines", of: func(s Sample) float64 { return s.Goroutines }},
	}
	for i := range all {
		all[i].Trend = trend(r.Samples, all[i].of)
	}
	if r.Verdict.Told > 0 {
		all[0].Each = all[0].Trend.Hourly * (1 << 10) * r.Took.Hours() / float64(r.Verdict.Told)
	}
	return all
}

// content is what the page is filled with.
type content struct {
	*Result
	Kinds              []Kind
	Windows            []Window
	Documents, Folders int
	Processors, Others int
	Load, MostLoad     float64
}

// Write writes the page and its plots into a directory.
func (r *Result) Write(dir string) error {
	c := content{Result: r, Kinds: Kinds(), Windows: r.Windows(), Processors: runtime.NumCPU(), Others: r.Plan.Clients - 1}
	c.Documents = len(host.Old()) + folders*inFolder + r.Plan.Clients*(ownEach+1) + walkedAll
	c.Folders = folders + r.Plan.Clients*(ownEach+1) + walkedAll
	for _, s := range r.Samples {
		c.Load += s.Load / float64(len(r.Samples))
		c.MostLoad = max(c.MostLoad, s.Load)
	}
	t, err := template.New("page").Funcs(template.FuncMap{"minutes": minutes(r.Plan.For)}).Parse(page)
	if err != nil {
		return err
	}
	var b strings.Builder
	if err := t.Execute(&b, c); err != nil {
		return err
	}
	var all error
	for name, text := range map[string]string{"load.md": b.String(), "load-waits.svg": r.waitsPlot(), "load-mount.svg": r.mountPlot()} {
		all = errors.Join(all, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644)) //nolint:gosec // a page for everybody
	}
	return all
}

// minutes writes which minutes a window has.
func minutes(whole time.Duration) func(Window) string {
	return func(w Window) string {
		if w.From == 0 && w.To == whole && whole > window {
			return "all"
		}
		return fmt.Sprintf("%g to %g", w.From.Minutes(), w.To.Minutes())
	}
}

// The colours of curves.
const (
	first  = "#2da44e"
	second = "#1b9aaa"
	third  = "#bf8700"
)

// waitsPlot draws the waits of each minute.
func (r *Result) waitsPlot() string {
	var charts []chart.Chart
	for _, k := range []Kind{List, Small} {
		c := chart.Chart{Title: string(k), Unit: "ms", Ticks: r.ticks(), Curves: []chart.Curve{{Title: "median", Colour: first}, {Title: "99 of 100", Colour: second}}}
		for from := time.Duration(0); from < r.Plan.For; from += time.Minute {
			w := r.diary.between(k, from, from+time.Minute)
			for i, share := range []float64{.5, .99} {
				c.Curves[i].Points = append(c.Curves[i].Points, chart.Point{X: from.Minutes(), Y: w.At(share).Seconds() * 1000})
			}
		}
		charts = append(charts, c)
	}
	return chart.Draw("How long people waited", charts...)
}

// mountPlot draws what the mount has.
func (r *Result) mountPlot() string {
	memory := chart.Chart{Title: "memory of the mount", Unit: "MiB", Ticks: r.ticks()}
	counts := chart.Chart{Title: "what it has open", Ticks: r.ticks()}
	for i, m := range r.Measures() {
		curve := chart.Curve{Title: m.Name, Colour: []string{first, second, third}[i]}
		for _, s := range r.Samples {
			curve.Points = append(curve.Points, chart.Point{X: s.At.Minutes(), Y: m.of(s)})
		}
		if i == 0 {
			memory.Curves = append(memory.Curves, curve)
		} else {
			counts.Curves = append(counts.Curves, curve)
		}
	}
	return chart.Draw("What the mount takes", memory, counts)
}

// ticks are minutes along the axis.
func (r *Result) ticks() (all []chart.Tick) {
	step := max(1, int(r.Plan.For.Minutes())/6)
	for m := 0; m <= int(r.Plan.For.Minutes()); m += step {
		all = append(all, chart.Tick{X: float64(m), Text: fmt.Sprintf("%d min", m)})
	}
	return all
}
