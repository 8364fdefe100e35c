//go:build linux

package screen

import (
	"context"
	"fmt"
	"strings"
)

// Key presses keys as xdotool names them (ctrl+c), one after the other.
func (s *Screen) Key(ctx context.Context, keys ...string) error {
	_, err := s.Run(ctx, "xdotool key --clearmodifiers --delay 30 "+strings.Join(keys, " "))
	return err
}

// Type types a text.
func (s *Screen) Type(ctx context.Context, text string) error {
	_, err := s.Run(ctx, "xdotool type --clearmodifiers --delay 15 -- "+quoted(text))
	return err
}

// Click clicks in the middle of a node: button 1 is the left one, 3 the right one.
func (s *Screen) Click(ctx context.Context, n *Node, button int) error {
	x, y := n.Middle()
	_, err := s.Run(ctx, fmt.Sprintf("xdotool mousemove --sync %d %d click %d", x, y, button))
	return err
}

// Drag moves a node to another with the mouse. Programs begin a drag after some pixels, and
// look at every place on the way. A key, unless empty, is held at its end.
func (s *Screen) Drag(ctx context.Context, from, to *Node, key string) error {
	x, y := from.Middle()
	tx, ty := to.Middle()
	var line strings.Builder
	fmt.Fprintf(&line, "xdotool mousemove --sync %d %d sleep 0.2 mousedown 1 sleep 0.3", x, y)
	const steps = 20
	for i := 1; i <= steps; i++ {
		fmt.Fprintf(&line, " mousemove %d %d sleep 0.05", x+(tx-x)*i/steps, y+(ty-y)*i/steps)
	}
	hold, release := "", ""
	if key != "" {
		hold, release = " keydown "+key+" sleep 0.1", " sleep 0.3 keyup "+key
	}
	line.WriteString(hold + fmt.Sprintf(" mousemove %d %d sleep 0.5 mousemove %d %d sleep 0.7 mouseup 1", tx+2, ty+2, tx, ty) + release)
	_, err := s.Run(ctx, line.String())
	return err
}

// Middle is where a node is clicked: near its begin, where a wide one has its text.
func (n *Node) Middle() (x, y int) { return n.X + min(n.W/2, 80), n.Y + n.H/2 }

// Place moves the window with the focus.
func (s *Screen) Place(ctx context.Context, window string, x, y, w, h int) error {
	_, err := s.Run(ctx, fmt.Sprintf("xdotool windowsize --sync %s %d %d windowmove --sync %s %d %d", window, w, h, window, x, y))
	return err
}

// Windows are the ids of the windows that are shown with that text in their titles.
func (s *Screen) Windows(ctx context.Context, title string) []string {
	out, err := s.Run(ctx, "xdotool search --onlyvisible --name "+quoted(title))
	if err != nil {
		return nil // xdotool fails when it finds none
	}
	return strings.Fields(out)
}

// Picture writes what is shown to a file, as a PNG of few colours, without
// the free space around it.
func (s *Screen) Picture(ctx context.Context, file string) error {
	_, err := s.Run(ctx, "import -silent -window root miff:- | convert miff:- -bordercolor black -border 1 -trim +repage png:- | pngquant --force --speed 3 64 - >"+quoted(file))
	return err
}

// Painted says whether a window shows more than darkness.
func (s *Screen) Painted(ctx context.Context, window string) (bool, error) {
	out, err := s.Run(ctx, "import -silent -window "+window+" miff:- | convert miff:- -format '%[fx:mean>0.3]' info:-")
	return out == "1", err
}
