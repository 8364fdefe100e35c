//go:build linux

package lab

import (
	"fmt"
	"io"
	"time"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/lab/faultlab/writer"
)

// The words that make a process a helper.
const (
	wordWrite   = "write"
	wordInspect = "inspect"
)

// restFor is how long a mount may take to come to rest when nothing fails any more.
const restFor = 30 * time.Second

// Help is the helper process: args are what Bench starts it with, after Bench.Helper. It
// returns the exit status.
func Help(args []string, in io.Reader, out, errs io.Writer) int {
	switch {
	case len(args) == 1 && args[0] == wordWrite:
		return writer.Main(in, out)
	case len(args) == 2 && args[0] == wordInspect:
		if err := writer.Inspect(args[1], []string{history.Mandator, history.Inbox}, restFor, out); err != nil {
			fmt.Fprintln(errs, err) //nolint:errcheck // nowhere to say it
			return 1
		}
		return 0
	}
	fmt.Fprintf(errs, "no helper does %q\n", args) //nolint:errcheck // nowhere to say it
	return 2
}
