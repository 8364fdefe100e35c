package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
)

// clearScreen puts the next character at the top left of an empty terminal (ECMA-48, CUP
// and ED).
const clearScreen = "\x1b[H\x1b[2J"

// watchStatus shows the status of the mount at dir now and at each tick, until the command
// is ended by a signal or the mount is gone. On a terminal each takes the place of the one
// before; as JSON each is a line.
func watchStatus(c *cli.Context, dir string, ticks <-chan time.Time) error {
	w := &watch{dir: dir, out: c.App.Writer, json: c.Bool("json"), screen: isTerminal(c.App.Writer)}
	for {
		if err := w.show(time.Now()); err != nil {
			return err
		}
		select {
		case <-c.Done():
			return nil
		case <-ticks:
		}
	}
}

// watch is what a watched status needs to know of the one before.
type watch struct {
	dir    string
	out    io.Writer
	json   bool
	screen bool // out is a terminal

	last           time.Time // zero before the first one
	requests       int64
	sent, received int64
}

// show reads and shows one status. It is written at once, so that a screen does not flicker.
func (w *watch) show(now time.Time) error {
	text, status, err := readStatus(w.dir)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	switch {
	case w.json:
		if err := json.Compact(&b, text); err != nil {
			return fmt.Errorf("the mount at %s answers with something else than a status: %w", w.dir, err)
		}
		b.WriteByte('\n')
	default:
		if w.screen {
			b.WriteString(clearScreen)
		}
		if err := printStatus(&b, w.dir, status); err != nil {
			return err
		}
		fmt.Fprintf(&b, "\n%s  %s\n", now.Local().Format(time.DateTime), w.pace(now, status))
	}
	_, err = w.out.Write(b.Bytes())
	return err
}

// pace says what happened since the status before.
func (w *watch) pace(now time.Time, status *fs.Status) string {
	sent, received := traffic(status.Requests)
	requests := int64(0)
	for i := range status.Requests {
		requests += status.Requests[i].Requests
	}
	text := "Ctrl-C ends this"
	if !w.last.IsZero() {
		seconds := max(now.Sub(w.last).Seconds(), 1e-3)
		per := func(now, before int64) float64 { return float64(now-before) / seconds }
		text = fmt.Sprintf("%.0f requests, %s sent, %s received a second", per(requests, w.requests),
			size(int64(per(sent, w.sent))), size(int64(per(received, w.received))))
	}
	w.last, w.requests, w.sent, w.received = now, requests, sent, received
	return text
}
