package server

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/internal/server/turns"
)

const (
	// maxAtWork is how many do at a time what takes much of the machine: each holds images in memory, or
	// has a process at work. One party has two places, and leaves one to others.
	maxAtWork = 3
	// maxInLine is how many of one party wait for one.
	maxInLine = 64
	// atWorkPatience is for how much longer than for others such a place is waited for.
	atWorkPatience = 3
)

// workers do what takes much of the machine, in turn.
type workers struct {
	*turns.Places
	patience time.Duration
}

func newWorkers() *workers {
	few := turns.New(maxAtWork)
	few.Portion, few.Line = 1, maxInLine
	return &workers{Places: few, patience: atWorkPatience * patience}
}

// do does some work for somebody. Who waits too long, or for too much, is sent away.
func (w *workers) do(ctx context.Context, who turns.Party, work func() error) error {
	if !w.Take(ctx, who, w.patience) {
		if err := ctx.Err(); err != nil {
			return err
		}
		return sentAway("previews, texts and PDFs of other documents")
	}
	defer w.Leave(who)
	return work()
}
