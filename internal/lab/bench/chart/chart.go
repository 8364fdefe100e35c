// Package chart draws how something grows or changes, as curves in SVG.
package chart

import (
	"fmt"
	"html"
	"math"
	"strconv"
	"strings"
)

// Ink is the colour of text and axes. All colours are of middle brightness: they can be read on white and
// on black.
const Ink = "#6e7781"

// Measures, in pixels.
const (
	Width = 880 // of a file: of two charts beside each other

	width  = 330 // of the area between the axes
	height = 190
	left   = 60
	top    = 40
	bottom = 90 // axis and legend
)

// Curve is a value for each place along the axis.
type Curve struct {
	Title  string
	Colour string
	Dashed bool
	Points []Point
}

// Point is a place of a curve.
type Point struct{ X, Y float64 }

// Chart is curves over one axis.
type Chart struct {
	Title  string
	Unit   string // of the values
	Curves []Curve
	// Ticks are what is written at some places of the axis.
	Ticks []Tick
	// Log makes the axis logarithmic.
	Log bool
}

// Tick is what is written at a place.
type Tick struct {
	X    float64
	Text string
}

// Draw draws charts, two beside each other, as a file.
func Draw(title string, charts ...Chart) string {
	var body strings.Builder
	for i, c := range charts {
		c.draw(&body, i%2*Width/2, i/2*(top+height+bottom))
	}
	return SVG(title, (len(charts)+1)/2*(top+height+bottom), body.String())
}

// SVG is a file with a drawing.
func SVG(title string, height int, body string) string {
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="sans-serif" font-size="12" fill="%s" role="img">
<title>%s</title>
%s</svg>
`, Width, height, Width, height, Ink, html.EscapeString(title), body)
}

// draw appends the chart with its corner at x, y.
func (c Chart) draw(out *strings.Builder, x, y int) {
	least, most, highest := c.bounds()
	at := func(p Point) (float64, float64) {
		along := (p.X - least) / (most - least)
		if c.Log {
			along = math.Log(p.X/least) / math.Log(most/least)
		}
		return left + along*width, top + height*(1-p.Y/highest)
	}
	_, _ = fmt.Fprintf(out, `<g transform="translate(%d %d)">`+"\n", x, y)
	_, _ = fmt.Fprintf(out, `<text x="10" y="24" font-weight="bold">%s</text>`+"\n", html.EscapeString(c.Title))
	for i := range 5 {
		value := highest * float64(i) / 4
		_, y := at(Point{least, value})
		_, _ = fmt.Fprintf(out, `<path d="M%d %.1f h%d" stroke="%s" stroke-opacity=".3"/><text x="%d" y="%.1f" text-anchor="end">%s %s</text>`+"\n",
			left, y, width, Ink, left-6, y+4, short(value), c.Unit)
	}
	for _, t := range c.Ticks {
		tick, _ := at(Point{t.X, 0})
		_, _ = fmt.Fprintf(out, `<text x="%.1f" y="%d" text-anchor="middle">%s</text>`+"\n", tick, top+height+18, html.EscapeString(t.Text))
	}
	for i, l := range c.Curves {
		l.draw(out, i, at)
	}
	out.WriteString("</g>\n")
}

// short is a number with three digits that say something, and without an exponent if it can.
func short(value float64) string {
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(value, 'g', 3, 64), 64) // it is a number
	return strconv.FormatFloat(rounded, 'g', -1, 64)
}

// bounds are the first and the last place, and the value at the top: a round one.
func (c Chart) bounds() (least, most, highest float64) {
	least, most = math.Inf(1), math.Inf(-1)
	for _, l := range c.Curves {
		for _, p := range l.Points {
			least, most, highest = min(least, p.X), max(most, p.X), max(highest, p.Y)
		}
	}
	round := math.Pow(10, math.Floor(math.Log10(max(highest, 1e-9))))
	for _, factor := range []float64{1, 2, 4, 8, 10} {
		if highest <= factor*round {
			return least, most, factor * round
		}
	}
	return least, most, highest
}

// draw appends the curve, and its title as the i-th of the legend.
func (l Curve) draw(out *strings.Builder, i int, at func(Point) (float64, float64)) {
	dash := ""
	if l.Dashed {
		dash = ` stroke-dasharray="5 4"`
	}
	const few = 20 // places that are marked
	var path strings.Builder
	path.WriteString("M")
	for _, p := range l.Points {
		x, y := at(p)
		fmt.Fprintf(&path, "%.1f %.1f ", x, y)
		if len(l.Points) <= few {
			_, _ = fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`, x, y, l.Colour)
		}
	}
	style := fmt.Sprintf(`fill="none" stroke="%s" stroke-width="2"%s`, l.Colour, dash)
	if len(l.Points) > 1 {
		_, _ = fmt.Fprintf(out, `<path d="%s" %s/>`+"\n", path.String(), style)
	}
	x, y := left+i/2*(width/2), top+height+44+i%2*20
	_, _ = fmt.Fprintf(out, `<path d="M%d %d h22" %s/><text x="%d" y="%d">%s</text>`+"\n", x, y, style, x+28, y+4, html.EscapeString(l.Title))
}
