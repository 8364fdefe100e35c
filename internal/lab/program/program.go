// Package program is what the main functions of the laboratory have in common.
package program

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// Run carries out a command line, and ends the process if that fails: with 2 if read refuses the
// arguments, and with 1 if the work that read returns fails. SIGINT and SIGTERM end the context of
// the work.
func Run(name string, read func(args []string) (work func(ctx context.Context) error, err error)) {
	work, err := read(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: %v\n", name, err)
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := work(ctx); err != nil {
		_, _ = fmt.Fprintf(os.Stderr, "%s: FAILED\n%v\n", name, err)
		os.Exit(1) // stop has nothing left to do
	}
}
