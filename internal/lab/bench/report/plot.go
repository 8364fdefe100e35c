package report

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/bench/chart"
	"github.com/archivefs/archivefs/internal/lab/bench/result"
)

// plot is a file of panels.
type plot struct {
	name, title string
	workloads   []string
}

func plots() []plot {
	return []plot{
		{"metadata", "Listing and walking", []string{"mount_ls", "lsl_W_cold", "lsl_W_warm", "find_M_cold", "find_M_warm", "findls_M_cold", "findls_M_warm"}},
		{"content", "Reading", []string{"cat512_cold", "cat512_warm", "cat2000_cold", "cat2000_warm", "cat2000p8_cold", "cat2000p8_warm"}},
		{"copy", "Copying in", []string{"cpin500", "cpin512", "cpin500_ret", "cpin512_ret"}},
		{"delay", "With 20 ms for each request", []string{"lat_lsR_S", "lat_find_M500", "lat_cat200p8"}},
		{"cost", "What the mount takes for find M", []string{"rss_MB", "cpu_find_s"}},
	}
}

// Measures of a plot, in pixels.
const (
	panelWidth = 430
	barLeft    = 185 // where bars begin in a panel
	barRoom    = 155 // the longest one
	barHeight  = 13
	lineHeight = 18
	titleRoom  = 30
	panelGap   = 16
)

// The colours of systems.
const (
	ownColour    = "#2da44e"
	bareColour   = "#1b9aaa"
	peerColour   = "#7d8fa9"
	nativeColour = "#bf8700"
)

// bar is one system in a panel.
type bar struct {
	system string
	value  float64
}

// panel is one workload.
type panel struct {
	title string
	unit  unit
	bars  []bar
}

// panelOf collects what was measured of a workload, the best first.
func panelOf(s result.Set, row target) panel {
	p := panel{title: strings.ReplaceAll(strings.Split(row.title, ", sync")[0], "`", ""), unit: row.unit}
	for _, system := range mounts(s) {
		if v, ok := s.Best(system, row.workload); ok {
			p.bars = append(p.bars, bar{system, row.unit.value(s, v)})
		}
	}
	slices.SortStableFunc(p.bars, func(a, b bar) int {
		if row.unit.better(a.value, b.value) {
			return -1
		}
		return 1
	})
	return p
}

func (p panel) height() int { return titleRoom + len(p.bars)*lineHeight + panelGap }

// longest is the value of a bar of full length: what is more than four times the median is
// cut, else one slow system would make all others look alike.
func (p panel) longest() float64 {
	var values []float64
	for _, b := range p.bars {
		values = append(values, b.value)
	}
	slices.Sort(values)
	return math.Min(values[len(values)-1], 4*values[len(values)/2])
}

// draw appends the panel with its corner at x, y.
func (p panel) draw(out *strings.Builder, x, y int) {
	better := "less is better"
	if p.unit == speed {
		better = "more is better"
	}
	_, _ = fmt.Fprintf(out, `<g transform="translate(%d %d)">`+"\n", x, y)
	_, _ = fmt.Fprintf(out, `<text x="0" y="14" font-weight="bold">%s</text><text x="%d" y="14" text-anchor="end" font-size="11">%s</text>`+"\n",
		html.EscapeString(p.title), panelWidth-20, better)
	full := p.longest()
	for i, b := range p.bars {
		top := titleRoom - 6 + i*lineHeight
		length := math.Max(1, barRoom*math.Min(1, b.value/full))
		_, _ = fmt.Fprintf(out, `<text x="%d" y="%d" text-anchor="end"%s>%s</text>`, barLeft-8, top+11, weight(b.system), html.EscapeString(b.system))
		_, _ = fmt.Fprintf(out, `<rect x="%d" y="%d" width="%.1f" height="%d" fill="%s"/>`, barLeft, top, length, barHeight, colour(b.system))
		if b.value > full {
			_, _ = fmt.Fprintf(out, `<path d="M%d %d l6 -%d m4 0 l-6 %d" stroke="#fff" stroke-width="2"/>`, barLeft+barRoom-22, top+barHeight, barHeight, barHeight)
		}
		_, _ = fmt.Fprintf(out, `<text x="%.1f" y="%d">%s</text>`+"\n", barLeft+length+5, top+11, p.unit.text(b.value))
	}
	out.WriteString("</g>\n")
}

func colour(system string) string {
	switch {
	case isBare(system):
		return bareColour
	case isOwn(system):
		return ownColour
	case isReference(system):
		return nativeColour
	default:
		return peerColour
	}
}

func weight(system string) string {
	if isOwn(system) {
		return ` font-weight="bold"`
	}
	return ""
}

// svg draws a plot: panels in two columns. It is empty when nothing was measured.
func (p plot) svg(s result.Set) string {
	all := everyWorkload()
	var panels []panel
	for _, workload := range p.workloads {
		i := slices.IndexFunc(all, func(t target) bool { return t.workload == workload })
		if made := panelOf(s, all[i]); len(made.bars) > 0 {
			panels = append(panels, made)
		}
	}
	if len(panels) == 0 {
		return ""
	}
	var body strings.Builder
	var bottom [2]int
	for _, made := range panels {
		column := 0
		if bottom[1] < bottom[0] {
			column = 1
		}
		made.draw(&body, 10+column*(chart.Width/2), 10+bottom[column])
		bottom[column] += made.height()
	}
	return chart.SVG(p.title, max(bottom[0], bottom[1])+10, body.String())
}
