package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// Charts stand beside each other and below, with a curve from corner to corner.
func TestDraw(t *testing.T) {
	c := Chart{Title: "a < b", Unit: "ms", Curves: []Curve{{Title: "it", Colour: "#000", Points: []Point{{1, 0}, {100, 4000}}}}, Ticks: []Tick{{10, "ten"}}}
	log := c
	log.Log = true
	got := Draw("title", c, log, c)
	for _, want := range []string{
		`<g transform="translate(440 0)">`, `<g transform="translate(0 320)">`, `height="640"`, "a &lt; b", ">4000 ms<", ">0 ms<",
		`<path d="M60.0 230.0 390.0 40.0 "`, `<text x="90.0" y="248" text-anchor="middle">ten`, `<text x="225.0" y="248" text-anchor="middle">ten`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("it lacks %q:\n%s", want, got)
		}
	}
	d := xml.NewDecoder(strings.NewReader(got))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestShort(t *testing.T) {
	for value, want := range map[float64]string{0: "0", 4000: "4000", .75: "0.75", 1234.5: "1230", 1e7: "1e+07"} {
		if got := short(value); got != want {
			t.Errorf("%g: %q, want %q", value, got, want)
		}
	}
}
