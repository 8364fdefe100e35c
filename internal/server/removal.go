package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os/user"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/blob"
	"github.com/archivefs/archivefs/internal/server/datalock"
	"github.com/archivefs/archivefs/internal/server/refusal"
	"github.com/archivefs/archivefs/internal/server/store"
)

// There is no operation of the API for what follows: no client, whatever its key, can remove an archived document.

// ErrWaits says that documents are erased by the next service, because none that runs has done so.
var ErrWaits = errors.New("no service has erased them so far; one that runs does so within a minute, else the next one that starts")

// maxReason bounds the reason of a removal, in bytes.
const maxReason = 1000

// Remove moves documents into the trash, for a term. All are removed or none. The error is KindNotFound
// for a document that does not exist, KindConflict for one that is in the trash already, KindForbidden for
// one that is retained, unless law says that the law demands the erasure.
func (a *Admin) Remove(ctx context.Context, ids []archive.ID, reason string, term Term, law bool) error {
	if reason = strings.TrimSpace(reason); reason == "" || len(reason) > maxReason {
		return refusal.New(archive.KindInvalid, "a removal needs a reason of at most %d bytes, which the audit trail keeps", maxReason)
	}
	now := time.Now()
	return a.db.Together(ctx, func(in store.Scope) error {
		for _, id := range ids {
			err := a.db.Trash.Put(ctx, a.audited().In(in), id, store.Removal{Reason: reason, At: now, Due: term.after(now), Law: law})
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// audited is the archive for changes by an administrator, who is named in the audit trail.
func (a *Admin) audited() store.Archive {
	who := "admin"
	if account, err := user.Current(); err == nil {
		who += " " + account.Username
	}
	return a.archive().By(who)
}

// Trashed is a document in the trash.
type Trashed struct {
	ID      archive.ID `json:"id"`
	Place   string     `json:"place"`
	Size    int64      `json:"size"`
	Removed time.Time  `json:"removed"`
	Due     time.Time  `json:"due"`
	Law     bool       `json:"by-law"`
	Erasing bool       `json:"erasing"` // it cannot be restored any more
	Who     string     `json:"who"`
	Reason  string     `json:"reason"`
}

// Trash returns the documents in the trash, by ascending id.
func (a *Admin) Trash(ctx context.Context) ([]Trashed, error) {
	found, err := a.db.Trash.List(ctx, a.tenant)
	if err != nil {
		return nil, err
	}
	all := make([]Trashed, 0, len(found))
	for _, d := range found {
		all = append(all, Trashed{d.ID, d.Place, d.Size, d.At, d.Due, d.Law, d.Erasing, d.Who, d.Reason})
	}
	return all, nil
}

// RestoreTrash moves documents back to their folders, all or none.
func (a *Admin) RestoreTrash(ctx context.Context, ids []archive.ID) error {
	return a.db.Together(ctx, func(in store.Scope) error {
		for _, id := range ids {
			if err := a.db.Trash.Restore(ctx, a.audited().In(in), id); err != nil {
				return err
			}
		}
		return nil
	})
}

// EmptyTrash erases documents of the trash before their term is over, and waits until they are erased. The
// error is KindForbidden if one is retained, and nothing is erased then; ErrWaits if no service begins.
func (a *Admin) EmptyTrash(ctx context.Context, ids []archive.ID) error {
	err := a.db.Together(ctx, func(in store.Scope) error {
		for _, id := range ids {
			if err := a.db.Trash.Expire(ctx, a.audited().In(in), id, time.Now()); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return a.await(ctx, ids)
}

const (
	// awaitErased is how long EmptyTrash waits for a service to begin.
	awaitErased = time.Minute
	// lookErased is how often it looks.
	lookErased = 200 * time.Millisecond
)

// await erases documents that are due if no service uses the archive, else waits for one that does.
func (a *Admin) await(ctx context.Context, ids []archive.ID) error {
	for ends := time.Now().Add(awaitErased); ; {
		if err := a.erase(ctx); err != nil {
			return err
		}
		left, err := a.db.Trash.List(ctx, a.tenant)
		if err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(d store.Trashed) bool { return !slices.Contains(ids, d.ID) })
		begun := slices.ContainsFunc(left, func(d store.Trashed) bool { return d.Erasing })
		switch {
		case len(left) == 0:
			return nil
		case !begun && time.Now().After(ends):
			return ErrWaits
		}
		if err := pause(ctx, lookErased); err != nil {
			return err
		}
	}
}

// erase erases what is due in a data directory that no service uses. It does nothing for others.
func (a *Admin) erase(ctx context.Context) (err error) {
	if a.place.Database != "" {
		return nil
	}
	lock, err := datalock.Take(a.place.Data)
	if used := new(datalock.InUseError); errors.As(err, &used) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, lock.Release(!lock.Interrupted)) }()
	log := logrus.New()
	log.SetLevel(logrus.WarnLevel)
	files, err := blob.OpenFiles(filepath.Join(a.place.Data, "contents"))
	if err == nil {
		err = files.KeepLog(cmp.Or(a.place.LogSize, logSize), log)
	}
	if err != nil {
		return fmt.Errorf("open contents: %w", err)
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	e := &eraser{trash: a.db.Trash, uses: a.db.Uses, vault: &vault{contents: files, uses: a.db.Uses, log: log}, log: log}
	for erased := 1; err == nil && erased > 0; {
		erased, err = e.round(ctx, time.Now())
	}
	return err
}

// Term is a length of time in the calendar.
type Term struct{ Months, Days int }

func (t Term) after(at time.Time) time.Time { return at.AddDate(0, t.Months, t.Days) }

// NewRetention describes a retention rule: documents are kept for the term after they were archived.
type NewRetention struct {
	Name string // of the class
	Term Term
	// Folder is the path of the folder from its mandator, in or below which the documents are; empty: anywhere.
	Folder []string
	Type   string // their document type; empty: any
}

// AddRetention adds a retention rule. The error is KindNotFound for an unknown folder.
func (a *Admin) AddRetention(ctx context.Context, n NewRetention) (int64, error) {
	if n.Name == "" || len(n.Name) > maxUserName || n.Term.Months == 0 && n.Term.Days == 0 {
		return 0, refusal.New(archive.KindInvalid, "a retention class has a name of at most %d bytes, and a term", maxUserName)
	}
	var folder archive.ID
	for _, name := range n.Folder {
		child, err := a.archive().Child(ctx, folder, name)
		if err != nil {
			return 0, err
		}
		folder = child.ID
	}
	return a.db.Trash.AddRetention(ctx, a.audited(), store.Retention{
		Name: n.Name, Months: n.Term.Months, Days: n.Term.Days, Folder: folder, Type: n.Type,
	})
}

// RemoveRetention removes a retention rule.
func (a *Admin) RemoveRetention(ctx context.Context, id int64) error {
	return a.db.Trash.RemoveRetention(ctx, a.audited(), id)
}

// Retention is a retention rule.
type Retention struct {
	ID     int64  `json:"id"`
	Name   string `json:"name"`
	Term   string `json:"term"`
	Folder string `json:"folder,omitempty"` // its path; empty: anywhere
	Type   string `json:"type,omitempty"`
}

// Retentions returns all retention rules, by name.
func (a *Admin) Retentions(ctx context.Context) ([]Retention, error) {
	found, err := a.db.Trash.Retentions(ctx, a.tenant)
	if err != nil {
		return nil, err
	}
	rules := make([]Retention, 0, len(found))
	for _, r := range found {
		rule := Retention{ID: r.ID, Name: r.Name, Term: r.Term(), Type: r.Type}
		if r.Folder != 0 {
			lineage, err := a.archive().Lineage(ctx, r.Folder)
			if err != nil {
				return nil, err
			}
			mandator, below := location(lineage)
			rule.Folder = strings.TrimSuffix(mandator+below, "/")
		}
		rules = append(rules, rule)
	}
	return rules, nil
}

const (
	// eraseEvery is how often an instance looks for documents whose term in the trash is over.
	eraseEvery = 3 * time.Second
	// erasedTogether is how many documents are erased before their remains are scrubbed.
	erasedTogether = 1000
)

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
	for more := true; more; more = pause(ctx, eraseEvery) == nil {
		erased, err := e.round(ctx, time.Now())
		switch {
		case ctx.Err() != nil:
		case err != nil:
			e.log.WithError(err).Warn("documents whose term in the trash is over are not erased yet")
		case erased > 0:
			e.log.WithField("documents", erased).Info("erased documents whose term in the trash was over")
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
	if contents, ok := e.vault.contents.(interface{ Scrub(context.Context) error }); ok { // with the bytes of removed ones
		if err := contents.Scrub(ctx); err != nil {
			return err
		}
	}
	return e.trash.Scrub(ctx)
}

// remove removes a content that nothing refers to, with its renditions. It reports false if it is still stored.
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
