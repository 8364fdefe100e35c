package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Uses knows what refers to contents, and keeps those apart who refer to one and who remove it.
type Uses struct {
	*database
	inUse *pins
	left  *leftovers
}

// Keeping is how contents and what refers to them are kept together.
type Keeping struct {
	// Digests name the contents that Record relies on.
	Digests []string
	// Publish makes those durable that are new. It may be called again.
	Publish func(ctx context.Context) error
	// Kept reports whether all of the contents are durable.
	Kept func(ctx context.Context, digests ...string) (bool, error)
	// Record adds what refers to the contents. What it does with its context is one
	// transaction, or none of it is done; it may be called again after it failed.
	Record func(ctx context.Context) error
}

// attempts is how often contents are published that other processes remove meanwhile.
const attempts = 5

// errRemoved says that a content was removed after it had been published.
var errRemoved = errors.New("a content was removed by another process while a document of it was added; try again")

// Keep publishes contents and then records what refers to them: a reference is never without
// its content, whoever removes contents meanwhile (see Drop), in this process or in another
// one that uses the database. Contents that nothing refers to in the end are left to Drop,
// also after an error.
//
// Other processes are kept out by a lock that lasts as long as the transaction of Record, and
// no longer: to publish can take minutes. So it is done before, and once the lock is held, it
// is looked whether the contents are still there.
func (u *Uses) Keep(ctx context.Context, k Keeping) error {
	u.inUse.share(k.Digests)
	defer u.inUse.release(k.Digests)
	err := errRemoved
	for n := 0; n < attempts && errors.Is(err, errRemoved); n++ {
		if err := k.Publish(ctx); err != nil {
			return err
		}
		if !u.several() {
			return k.Record(ctx)
		}
		err = u.write.change(ctx, func(tx changing) error {
			if err := u.share(ctx, tx, k.Digests); err != nil {
				return err
			}
			kept, err := k.Kept(ctx, k.Digests...)
			if err != nil {
				return err
			}
			if !kept {
				return errRemoved
			}
			return k.Record(within(ctx, tx))
		})
	}
	return err
}

// Drop removes a content and what was made of it, unless something refers to it, somebody is
// about to. The function removes it; it may be called for more contents than one. While contents
// are held (see HoldContents) this one is left to DropLeft.
func (u *Uses) Drop(ctx context.Context, digest string, remove func(ctx context.Context, digest string) error) error {
	used, err := u.Referenced(ctx, digest) // most are; this costs no transaction
	if err != nil || used {
		return err
	}
	if !u.inUse.claim(digest) {
		return nil // who shares it removes it, when it is not used in the end
	}
	made, err := u.removeUnused(ctx, digest, remove)
	u.inUse.disclaim(digest)
	errs := []error{err}
	for _, rendition := range made {
		errs = append(errs, u.Drop(ctx, rendition, remove))
	}
	return errors.Join(errs...)
}

// removeUnused removes a content that this process has claimed, and returns what was made of
// it.
func (u *Uses) removeUnused(ctx context.Context, digest string, remove func(ctx context.Context, digest string) error) (made []string, err error) {
	unused, removed, left := false, false, false
	err = u.write.change(ctx, func(tx changing) error {
		alone, err := u.claim(ctx, tx, digest)
		if err != nil || !alone {
			return err
		}
		used, err := referenced(ctx, tx, digest)
		switch {
		case err != nil:
			return err
		case used && removed: // the connection, and the lock with it, was lost before the commit
			return fmt.Errorf("content %s was removed while another instance added a document of it; bring it back from a backup", digest)
		case used:
			return nil
		}
		unused = true
		if made, err = dropRenditions(ctx, tx, digest); err != nil || !u.several() {
			return err
		}
		if removed, err = u.removable(ctx, tx); err != nil || !removed {
			left = err == nil
			return err
		}
		return remove(ctx, digest) // as long as the lock between processes lasts
	})
	switch {
	case err != nil:
	case left:
		u.left.add(digest)
	case unused && !u.several():
		err = remove(ctx, digest)
	}
	return made, err
}

// HoldContents keeps instances from removing contents: all that a transaction refers to which
// begins after this returns are there until Release. What is left meanwhile is removed by the
// instances' search for contents without a use.
//
// The context that is returned ends when the hold is lost with its connection; what was done
// under the hold counts when Check says after it that it still lasts.
func (u *Uses) HoldContents(ctx context.Context) (held context.Context, h *Hold, err error) {
	return u.hold(ctx, "backup", lockBackup, func(tx session) error {
		var replica bool
		if err := tx.row(ctx, "SELECT pg_is_in_recovery()").Scan(&replica); err != nil {
			return err
		}
		if replica {
			return errors.New("the database is a replica, and what holds contents there holds them nowhere else; name the primary")
		}
		return u.lock(ctx, tx, lockRemoval) // waits for removals that are under way
	})
}

const selectUse = `SELECT EXISTS (SELECT 1 FROM document WHERE digest = ?1)
	OR EXISTS (SELECT 1 FROM rendition WHERE digest = ?1)`

// Referenced reports whether a document or a rendition uses the content.
func (u *Uses) Referenced(ctx context.Context, digest string) (bool, error) {
	return referenced(ctx, u.read, digest)
}

func referenced(ctx context.Context, q session, digest string) (used bool, err error) {
	if err := q.row(ctx, selectUse, digest).Scan(&used); err != nil {
		return false, fmt.Errorf("look for uses of content: %w", err)
	}
	return used, nil
}

// pins are the contents that this process is about to refer to, or to remove.
type pins struct {
	mu      sync.Mutex
	changed sync.Cond
	// count is how many share it, or claimed.
	count map[string]int // +checklocks:mu
}

// claimed is the count of a content that is about to be removed.
const claimed = -1

func newPins() *pins {
	p := &pins{count: map[string]int{}}
	p.changed.L = &p.mu
	return p
}

// share waits until nobody removes a content.
func (p *pins) share(digests []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, digest := range digests {
		for p.count[digest] == claimed {
			p.changed.Wait()
		}
		p.count[digest]++
	}
}

func (p *pins) release(digests []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, digest := range digests {
		if p.count[digest]--; p.count[digest] == 0 {
			delete(p.count, digest)
		}
	}
}

// claim reports whether nobody shares or claims a content, which is then claimed.
func (p *pins) claim(digest string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.count[digest] != 0 {
		return false
	}
	p.count[digest] = claimed
	return true
}

func (p *pins) disclaim(digest string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.count, digest)
	p.changed.Broadcast()
}

// mostLeft bounds the memory of what is left, some 10 MB. More is found by a search for contents
// without a use.
const mostLeft = 100_000

// leftovers are contents that Drop left in their place because they were held.
type leftovers struct {
	mu      sync.Mutex
	digests map[string]struct{} // +checklocks:mu
}

func (l *leftovers) add(digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.digests == nil {
		l.digests = map[string]struct{}{}
	}
	if len(l.digests) < mostLeft {
		l.digests[digest] = struct{}{}
	}
}

// take returns one of them, empty when there is none.
func (l *leftovers) take() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	for digest := range l.digests {
		delete(l.digests, digest)
		return digest
	}
	return ""
}

func (l *leftovers) has(digest string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_, ok := l.digests[digest]
	return ok
}

// DropLeft removes the contents that Drop left in this process, once nobody holds them any more.
func (u *Uses) DropLeft(ctx context.Context, remove func(ctx context.Context, digest string) error) error {
	for digest := u.left.take(); digest != ""; digest = u.left.take() {
		if err := u.Drop(ctx, digest, remove); err != nil {
			u.left.add(digest)
			return err
		}
		if u.left.has(digest) { // they are held, all of them
			break
		}
	}
	return nil
}

// Rendition returns the digest of the PDF made of a content, empty when none was made.
// The variant tells apart renditions that depend on more than the content.
func (u *Uses) Rendition(ctx context.Context, source, variant string) (string, error) {
	var digest string
	err := u.read.row(ctx, "SELECT digest FROM rendition WHERE source = ? AND variant = ?",
		source, variant).Scan(&digest)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", fmt.Errorf("look for rendition: %w", err)
	}
	return digest, nil
}

// AddRendition records the PDF made of a content. When no document uses that any more it is
// KindNotFound: nobody would forget the rendition.
func (u *Uses) AddRendition(ctx context.Context, source, variant, digest string) error {
	return u.write.change(ctx, func(tx changing) error {
		result, err := tx.exec(ctx, `INSERT INTO rendition (source, variant, digest)
			SELECT DISTINCT digest, CAST(?2 AS TEXT), CAST(?3 AS TEXT) FROM document WHERE digest = ?1
			ON CONFLICT (source, variant) DO UPDATE SET digest = excluded.digest`, source, variant, digest)
		if err != nil {
			return fmt.Errorf("add rendition: %w", err)
		}
		n, err := result.RowsAffected()
		if err == nil && n == 0 {
			return refuse(archive.KindNotFound, "there is no document of this content any more")
		}
		return err
	})
}

// dropRenditions forgets the renditions of a content and returns their digests.
func dropRenditions(ctx context.Context, tx changing, source string) ([]string, error) {
	return collect(ctx, tx, "drop renditions", func(row scanner) (digest string, err error) {
		err = row.Scan(&digest)
		return digest, err
	}, "DELETE FROM rendition WHERE source = ? RETURNING digest", source)
}

const (
	// holdEvery is how often it is looked whether a hold lasts. Nothing on the way then takes its
	// connection for idle.
	holdEvery = 2 * time.Second
	// holdTimeout is how long the database has to answer that.
	holdTimeout = 30 * time.Second
)

// Hold is a lock between all processes that use a PostgreSQL database, for as long as a
// connection lasts.
type Hold struct {
	tx     *sql.Tx
	what   string
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

// hold takes the lock of that name, of which there is one, and what else take takes.
func (d *database) hold(ctx context.Context, what, name string, take func(session) error) (held context.Context, h *Hold, err error) {
	// A connection beside those that the URL allows: who holds works with them.
	d.write.db.SetMaxOpenConns(d.write.db.Stats().MaxOpenConnections + 1)
	// No snapshot is kept: the server goes on to tidy up meanwhile. A lock of a transaction, and
	// not of a session, so that a pool of connections in between does not matter.
	began, err := d.write.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted, ReadOnly: true})
	if err != nil {
		return nil, nil, fmt.Errorf("begin %s: %w", what, err)
	}
	tx := &transaction{tx: began, pool: d.write}
	alone, err := d.claim(ctx, tx, name)
	if err == nil && !alone {
		err = fmt.Errorf("another %s is under way", what)
	}
	if err == nil {
		_, err = tx.exec(ctx, withoutLimits)
	}
	if err == nil {
		err = take(tx)
	}
	if err != nil {
		return nil, nil, errors.Join(err, began.Rollback())
	}
	h = &Hold{tx: began, what: what, ended: make(chan struct{})}
	held, h.cancel = context.WithCancelCause(ctx)
	go h.watch(held)
	return held, h, nil
}

// watch ends the context of a hold that is lost.
func (h *Hold) watch(ctx context.Context) {
	defer close(h.ended)
	for sleep(ctx, holdEvery) == nil {
		if err := h.Check(ctx); err != nil {
			h.cancel(err)
			return
		}
	}
}

// Check is an error unless the hold has lasted until now.
func (h *Hold) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout) // who cancelled it would end the hold
	defer cancel()
	if _, err := h.tx.ExecContext(ctx, "SELECT 1"); err != nil {
		return fmt.Errorf("the %s lost its connection to the database, and with it what kept others away; call it again: %w", h.what, err)
	}
	return nil
}

// Release ends the hold. One whose connection is gone has ended.
func (h *Hold) Release() {
	h.cancel(nil)
	<-h.ended
	_ = h.tx.Rollback()
}
