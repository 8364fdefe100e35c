package care

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/store"
)

// Verification is how an archive is verified.
type Verification struct {
	// Fast looks for contents and their sizes, and does not read them.
	Fast bool
	// Grace is the age from which on a content without a use is an orphan. Services publish
	// contents before they refer to them.
	Grace time.Duration
	// Settle is how long a service may need from a change to what it then removes: what is found
	// is looked for again after that. 0 is a second.
	Settle time.Duration
	// RemoveOrphans removes them; the Store can then be written to, and in SQLite nobody else
	// may use it.
	RemoveOrphans bool
	// Found is called for each finding, by one goroutine at a time. An error ends it all.
	Found func(Finding) error
	// Seen, where it is set, counts contents and bytes as they are read.
	Seen *Progress
}

// Progress counts what is done. Its fields may be read at any time.
type Progress struct {
	Contents, Bytes atomic.Int64
	// RowsLeft is how many rows of a database are still to be written, where that takes long.
	RowsLeft atomic.Int64
}

// Verified are the numbers of a verification.
type Verified struct {
	Documents int64        `json:"documents"`
	Contents  int64        `json:"contents"`
	Bytes     int64        `json:"bytes"` // that were read or, in a fast one, looked for
	Findings  map[Kind]int `json:"findings"`
	Removed   int          `json:"orphans-removed"`
}

// All is the number of all findings that are left.
func (v Verified) All() int {
	n := -v.Removed
	for _, count := range v.Findings {
		n += count
	}
	return n
}

// verifying is a verification under way.
type verifying struct {
	*Archive
	Verification
	began   time.Time
	buffers sync.Pool // of *[portion]byte

	mu     sync.Mutex
	result Verified // +checklocks:mu
}

// Verify compares every row with its content and every content with its name, and looks for
// rows that break rules. The memory that it needs does not grow with the archive, and no
// read of the database lasts longer than a pass over one table. What it cannot read at all is
// an error, unless that is the damage.
func (a *Archive) Verify(ctx context.Context, how Verification) (Verified, error) {
	if how.Seen == nil {
		how.Seen = &Progress{}
	}
	v := &verifying{
		Archive: a, Verification: how, began: time.Now(), result: Verified{Findings: map[Kind]int{}},
		buffers: sync.Pool{New: func() any { return new([portion]byte) }},
	}
	for _, part := range []func(context.Context) error{v.claimed, v.database, v.rules, v.referenced, v.orphans} {
		if err := part(ctx); err != nil {
			return v.result, err
		}
	}
	v.result.Bytes = how.Seen.Bytes.Load()
	return v.result, nil
}

// found reports a finding.
func (v *verifying) found(f Finding) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.result.Findings[f.Kind]++
	return v.Found(f)
}

// database has the database examine itself. A damage can end that.
func (v *verifying) database(ctx context.Context) error {
	err := v.Store.Verification.Integrity(ctx, func(text string) error { return v.found(Finding{Kind: Database, Text: text}) })
	if err != nil && ctx.Err() == nil {
		return v.found(Finding{Kind: Database, Text: err.Error()})
	}
	return err
}

// rules looks for rows that break one. What is found is looked for once more: a service removes a
// document and the renditions of its content one after the other.
func (v *verifying) rules(ctx context.Context) error {
	first := map[store.Violation]bool{}
	err := v.Store.Verification.Violations(ctx, func(b store.Violation) error {
		if len(first) < batch {
			first[b] = true
		}
		return nil
	})
	if err != nil || len(first) == 0 {
		return err
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	return v.Store.Verification.Violations(ctx, func(b store.Violation) error {
		if len(first) < batch && !first[b] {
			return nil
		}
		return v.found(Finding{Kind: Rule, Text: b.Rule, Folder: b.Folder, Document: b.Document, Content: b.Content})
	})
}

// settle waits until services have ended what they had begun.
func (v *verifying) settle(ctx context.Context) error {
	if v.RemoveOrphans { // there are none
		return nil
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(cmp.Or(v.Settle, time.Second)):
		return nil
	}
}

// orphans looks for contents without a use, and removes them where that is asked for.
func (v *verifying) orphans(ctx context.Context) error {
	used := references{store: v.Store}
	var suspects []string
	judge := func() error {
		err := v.judge(ctx, suspects)
		suspects = suspects[:0]
		return err
	}
	err := v.Contents.Walk(ctx, v.began.Add(-v.Grace), func(digest string) error {
		has, err := used.has(ctx, digest)
		if err != nil || has {
			return err
		}
		if suspects = append(suspects, digest); len(suspects) < batch {
			return nil
		}
		return judge()
	})
	if err != nil {
		return fmt.Errorf("look for orphans: %w", err)
	}
	return judge()
}

// judge looks again at contents that nothing seemed to refer to: a service may have begun to
// use them, or be about to remove them.
func (v *verifying) judge(ctx context.Context, suspects []string) error {
	if len(suspects) == 0 {
		return nil
	}
	if err := v.settle(ctx); err != nil {
		return err
	}
	for _, digest := range suspects {
		used, err := v.Store.Uses.Referenced(ctx, digest)
		if err != nil {
			return err
		}
		kept, err := v.length(ctx, digest)
		if used || errors.Is(err, blob.ErrMissing) {
			continue
		}
		if err != nil {
			return err
		}
		if err := v.orphan(ctx, digest, kept); err != nil {
			return err
		}
	}
	return nil
}

func (v *verifying) orphan(ctx context.Context, digest string, size int64) error {
	text := fmt.Sprintf("nothing refers to it; %d bytes", size)
	var err error
	if v.RemoveOrphans {
		err = v.Store.Uses.Drop(ctx, digest, func(ctx context.Context, digest string) error {
			if err := v.Contents.Remove(ctx, digest); err != nil {
				return err
			}
			v.mu.Lock()
			v.result.Removed++
			v.mu.Unlock()
			text += "; removed"
			return nil
		})
	}
	return errors.Join(err, v.found(Finding{Kind: Orphan, Content: digest, Text: text}))
}
