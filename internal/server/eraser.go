package server

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

const (
	// eraseEvery is how often an instance looks for documents whose term in the trash is over.
	eraseEvery = 3 * time.Second
	// erasedTogether is how many documents are erased before their remains are scrubbed.
	erasedTogether = 1000
)

// scrubber is a storage of contents that may still have the bytes of removed ones.
type scrubber interface {
	Scrub(ctx context.Context) error
}

// eraser erases documents whose term in the trash is over. Each step can be repeated: what a crash has
// interrupted goes on in the next round, of this process or another one.
type eraser struct {
	trash *store.Trash
	uses  *store.Uses
	vault *vault
	log   logrus.FieldLogger
}

func (s *Server) startErasing(ctx context.Context) {
	e := &eraser{trash: s.db.Trash, uses: s.db.Uses, vault: s.vault, log: s.log}
	s.inBackground(ctx, e.run)
}

func (e *eraser) run(ctx context.Context) {
	tick := time.NewTicker(eraseEvery)
	defer tick.Stop()
	for {
		erased, err := e.round(ctx, time.Now())
		switch {
		case ctx.Err() != nil:
		case err != nil:
			e.log.WithError(err).Warn("documents whose term in the trash is over are not erased yet")
		case erased > 0:
			e.log.WithField("documents", erased).Info("erased documents whose term in the trash was over")
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// round erases what is due, and returns how many documents that were. First the documents can no longer be
// restored; then their contents are removed, which a backup may delay; then what is left of them in logs
// and indexes; and at last they are noted as erased. One that fails does not keep the others.
func (e *eraser) round(ctx context.Context, now time.Time) (erased int, err error) {
	due, err := e.trash.Due(ctx, now, erasedTogether)
	if err != nil || len(due) == 0 {
		return 0, err
	}
	var gone []archive.ID
	var failed []error
	for _, d := range due {
		digest, err := e.trash.Begin(ctx, d.ID, now)
		removed := false
		if err == nil && digest != "" {
			removed, err = e.remove(ctx, digest)
		}
		if removed {
			gone = append(gone, d.ID)
		}
		if err != nil {
			failed = append(failed, fmt.Errorf("document %d: %w", d.ID, err))
		}
	}
	if len(gone) > 0 {
		err = e.scrub(ctx)
	}
	for i := 0; i < len(gone) && err == nil; i++ {
		if err = e.trash.End(ctx, gone[i]); err == nil {
			erased++
		}
	}
	return erased, errors.Join(append(failed, err)...)
}

// scrub removes what is left of removed contents and rows in logs and indexes.
func (e *eraser) scrub(ctx context.Context) error {
	if contents, ok := e.vault.contents.(scrubber); ok {
		if err := contents.Scrub(ctx); err != nil {
			return err
		}
	}
	return e.trash.Scrub(ctx)
}

// remove removes a content that nothing refers to, with its renditions. It reports false if it is still
// stored.
func (e *eraser) remove(ctx context.Context, digest string) (removed bool, err error) {
	if err := e.uses.Drop(ctx, digest, e.vault.Remove); err != nil {
		return false, err
	}
	if used, err := e.uses.Referenced(ctx, digest); err != nil || used {
		return used && err == nil, err
	}
	stored, err := e.vault.Has(ctx, digest)
	return !stored, err
}
