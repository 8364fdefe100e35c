package report

import (
	"math"

	"github.com/archivefs/archivefs/internal/lab/bench/chart"
	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// charts are those of the growth of archives: time for each document, and memory.
func charts(s result.Set) []chart.Chart {
	times := chart.Chart{Title: "find, for each million documents", Unit: "s", Log: true}
	memory := chart.Chart{Title: "memory of the mount", Unit: "MB", Log: true}
	for _, by := range []struct{ system, title, colour string }{{own, "archivefs", ownColour}, {foreign, "bare service", bareColour}} {
		of := func(title string, dashed bool, value func(n int) (float64, bool)) chart.Curve {
			l := chart.Curve{Title: by.title + ", " + title, Colour: by.colour, Dashed: dashed}
			for _, n := range growthSizes(s, by.system) {
				if v, ok := value(n); ok {
					l.Points = append(l.Points, chart.Point{X: float64(n), Y: v})
				}
			}
			return l
		}
		find := func(what string) func(int) (float64, bool) {
			return func(n int) (float64, bool) { return perMillion(s, by.system, n, what) }
		}
		resident := func(what string) func(int) (float64, bool) {
			return func(n int) (float64, bool) { return s.Best(by.system, growthOf(n, what)) }
		}
		times.Curves = append(times.Curves, of("cold", false, find("find")), of("warm", true, find("find_warm")))
		memory.Curves = append(memory.Curves, of("after find", false, resident("rss_MB")), of("at most", true, resident("peak_MB")))
	}
	times.Ticks, memory.Ticks = powers(times), powers(memory)
	return []chart.Chart{times, memory}
}

// powers are the places along the axis where it has grown ten times.
func powers(c chart.Chart) (ticks []chart.Tick) {
	least, most := math.MaxInt, 0
	for _, l := range c.Curves {
		for _, p := range l.Points {
			least, most = min(least, int(p.X)), max(most, int(p.X))
		}
	}
	for n := least; n <= most; n *= 10 {
		ticks = append(ticks, chart.Tick{X: float64(n), Text: thousands(n)})
	}
	return ticks
}

// growthPlot draws the charts beside each other. It is empty with fewer than two sizes.
func growthPlot(s result.Set) string {
	if len(growthSizes(s, own)) < 2 {
		return ""
	}
	return chart.Draw(growthTitle, charts(s)...)
}

// The plot of growth.
const (
	growthTitle = "Growth"
	growthFile  = "growth.svg"
)
