package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// grid is a surface whose letters all have the same width.
type grid struct {
	t     *testing.T
	pages [][]string
}

func (g *grid) newPage() { g.pages = append(g.pages, nil) }

func (g *grid) width(text string, f face) float64 {
	return float64(utf8.RuneCountInString(text)) * f.size / 2 / pointsPerMM
}

func (g *grid) text(x, y float64, text string, f face) {
	if x < leftMargin-0.01 || x+g.width(text, f) > pageWidth-rightMargin+0.01 || y < topMargin || y > pageHeight {
		g.t.Errorf("%q at %.1f, %.1f is outside the margins", text, x, y)
	}
	last := len(g.pages) - 1
	g.pages[last] = append(g.pages[last], text)
}

func (g *grid) rule(x1, x2, y float64) {
	if x1 >= x2 || y > pageHeight {
		g.t.Errorf("rule from %.1f to %.1f at %.1f", x1, x2, y)
	}
}

func TestSetWrapsAtTheMargin(t *testing.T) {
	var p paper
	p.author = "Muster GmbH"
	p.add(styleBody, strings.Repeat("Wärmerückgewinnung ", 40)+"\nEnde")
	p.add(styleRight, "Musterstadt, 14.03.2025")
	g := &grid{t: t}
	if pages := set(p, g); pages != 1 {
		t.Fatalf("%d pages, want 1", pages)
	}
	all := strings.Join(g.pages[0], " ")
	if n := strings.Count(all, "Wärmerückgewinnung"); n != 40 {
		t.Errorf("%d words were set, want 40", n)
	}
	for _, want := range []string{"Ende", "Muster GmbH", "Seite 1", "Musterstadt, 14.03.2025"} {
		if !strings.Contains(all, want) {
			t.Errorf("%q was not set", want)
		}
	}
}

func TestSetRepeatsTheHeadOfATable(t *testing.T) {
	tab := table{columns: []column{{title: "Bezeichnung", width: 60}, {title: "Betrag", width: 30, right: true}}}
	for i := range 120 {
		tab.rows = append(tab.rows, row{cells: []string{fmt.Sprintf("Posten %d", i), "1,00"}})
	}
	var p paper
	p.addTable(tab)
	g := &grid{t: t}
	pages := set(p, g)
	if pages < 2 || pages != len(g.pages) {
		t.Fatalf("%d pages reported, %d made, want at least 2", pages, len(g.pages))
	}
	rows := 0
	for i, page := range g.pages {
		text := strings.Join(page, "\n")
		if strings.Count(text, "Bezeichnung") != 1 {
			t.Errorf("page %d does not have the head once", i+1)
		}
		rows += strings.Count(text, "Posten")
	}
	if rows != len(tab.rows) {
		t.Errorf("%d rows were set, want %d", rows, len(tab.rows))
	}
}

func TestSetKeepsAHeadingWithItsText(t *testing.T) {
	for lines := range 60 {
		var p paper
		p.add(styleBody, strings.Repeat("Zeile\n", lines)+"Zeile")
		p.add(styleHeading, "Überschrift")
		p.add(styleBody, "Text")
		g := &grid{t: t}
		set(p, g)
		for i, page := range g.pages {
			text := strings.Join(page, "\n")
			if strings.Contains(text, "Überschrift") != strings.Contains(text, "\nText") {
				t.Errorf("after %d lines the heading on page %d stands apart from its text", lines, i+1)
			}
		}
	}
}
