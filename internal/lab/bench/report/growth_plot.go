package report

import (
	"fmt"
	"html"
	"math"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// Measures of a chart, in pixels.
const (
	chartWidth  = 330 // of the area between the axes
	chartHeight = 190
	chartLeft   = 60
	chartTop    = 40
	chartBottom = 90 // axis and legend
)

// curve is a value for each number of documents.
type curve struct {
	title  string
	colour string
	dashed bool
	points []point
}

type point struct {
	documents int
	value     float64
}

// chart shows how something grows with the documents, on a logarithmic axis.
type chart struct {
	title  string
	unit   string
	curves []curve
}

// charts are those of the growth of archives: time for each document, and memory.
func charts(s result.Set) []chart {
	times := chart{title: "find, for each million documents", unit: "s"}
	memory := chart{title: "memory of the mount", unit: "MB"}
	for _, by := range []struct{ system, title, colour string }{{own, "archivefs", ownColour}, {foreign, "bare service", bareColour}} {
		of := func(title string, dashed bool, value func(n int) (float64, bool)) curve {
			l := curve{title: by.title + ", " + title, colour: by.colour, dashed: dashed}
			for _, n := range growthSizes(s, by.system) {
				if v, ok := value(n); ok {
					l.points = append(l.points, point{n, v})
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
		times.curves = append(times.curves, of("cold", false, find("find")), of("warm", true, find("find_warm")))
		memory.curves = append(memory.curves, of("after find", false, resident("rss_MB")), of("at most", true, resident("peak_MB")))
	}
	return []chart{times, memory}
}

// growthPlot draws the charts beside each other. It is empty with fewer than two sizes.
func growthPlot(s result.Set) string {
	if len(growthSizes(s, own)) < 2 {
		return ""
	}
	var body strings.Builder
	for i, c := range charts(s) {
		c.draw(&body, i*plotWidth/2)
	}
	return svg(growthTitle, chartTop+chartHeight+chartBottom, body.String())
}

// The plot of growth.
const (
	growthTitle = "Growth"
	growthFile  = "growth.svg"
)

// draw appends the chart at x.
func (c chart) draw(out *strings.Builder, x int) {
	least, most, top := c.bounds()
	at := func(p point) (float64, float64) {
		along := math.Log(float64(p.documents)/float64(least)) / math.Log(float64(most)/float64(least))
		return chartLeft + along*chartWidth, chartTop + chartHeight*(1-p.value/top)
	}
	_, _ = fmt.Fprintf(out, `<g transform="translate(%d 0)">`+"\n", x)
	_, _ = fmt.Fprintf(out, `<text x="10" y="24" font-weight="bold">%s</text>`+"\n", html.EscapeString(c.title))
	for i := range 5 {
		value := top * float64(i) / 4
		_, y := at(point{least, value})
		_, _ = fmt.Fprintf(out, `<path d="M%d %.1f h%d" stroke="%s" stroke-opacity=".3"/><text x="%d" y="%.1f" text-anchor="end">%.3g %s</text>`+"\n",
			chartLeft, y, chartWidth, inkColour, chartLeft-6, y+4, value, c.unit)
	}
	for n := least; n <= most; n *= 10 {
		tick, _ := at(point{n, 0})
		_, _ = fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", tick, chartTop+chartHeight+18, thousands(n))
	}
	for i, l := range c.curves {
		l.draw(out, i, at)
	}
	out.WriteString("</g>\n")
}

// bounds are the least and most documents, and the value at the top: a round one.
func (c chart) bounds() (least, most int, top float64) {
	least = math.MaxInt
	for _, l := range c.curves {
		for _, p := range l.points {
			least, most, top = min(least, p.documents), max(most, p.documents), max(top, p.value)
		}
	}
	round := math.Pow(10, math.Floor(math.Log10(max(top, 1e-9))))
	for _, factor := range []float64{1, 2, 4, 8, 10} {
		if top <= factor*round {
			return least, most, factor * round
		}
	}
	return least, most, top
}

// draw appends the curve, and its title as the i-th of the legend.
func (l curve) draw(out *strings.Builder, i int, at func(point) (float64, float64)) {
	dash := ""
	if l.dashed {
		dash = ` stroke-dasharray="5 4"`
	}
	path := "M"
	for _, p := range l.points {
		x, y := at(p)
		path += fmt.Sprintf("%.1f %.1f ", x, y)
		_, _ = fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, l.colour)
	}
	style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"%s`, l.colour, dash)
	if len(l.points) > 1 {
		_, _ = fmt.Fprintf(out, `<path d="%s" %s/>`+"\n", path, style)
	}
	x, y := chartLeft+i/2*(chartWidth/2), chartTop+chartHeight+44+i%2*20
	_, _ = fmt.Fprintf(out, `<path d="M%d %d h22" %s/><text x="%d" y="%d">%s</text>`+"\n", x, y, style, x+28, y+4, html.EscapeString(l.title))
}
