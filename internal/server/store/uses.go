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

// Uses knows what refers to contents, and keeps a content from being removed while a reference to it is added.
type Uses struct {
	*database
	inUse *pins
	left  *leftovers
}

// Keeping describes contents and the references to them that are to be added.
type Keeping struct {
	// Digests name the contents that Record relies on.
	Digests []string
	// Publish makes new contents durable. It may be called again.
	Publish func(ctx context.Context) error
	// Brief says that Publish takes about as long as a commit, so that a transaction may wait for it.
	Brief bool
	// Kept reports whether all of the contents are durable.
	Kept func(ctx context.Context, digests ...string) (bool, error)
	// Record adds the references, by one change that belongs to in. It may be called again after it failed.
	Record func(in Scope) error
}

// attempts is how often contents are published if other processes remove them meanwhile.
const attempts = 5

// errRemoved says that a content was removed after it had been published.
var errRemoved = errors.New("a content was removed by another process while a document of it was added; try again")

// Keep publishes contents and then records references to them. No reference is ever without its content,
// even if Drop runs at the same time, in this process or another one. Contents that remain unused, also
// after an error, are left to Drop.
//
// Publishing can take minutes, so it is done first, without a lock, unless it is brief and no other process
// can remove the contents: then only the commit of Record waits for it. The lock between processes is held
// only during the transaction of Record, and once it is held, Keep checks that the contents still exist.
func (u *Uses) Keep(ctx context.Context, k Keeping) error {
	u.inUse.share(k.Digests)
	defer u.inUse.release(k.Digests)
	if k.Brief && !u.several() {
		return k.together(ctx)
	}
	err := errRemoved
	for n := 0; n < attempts && errors.Is(err, errRemoved); n++ {
		if err := k.Publish(ctx); err != nil {
			return err
		}
		if !u.several() {
			return k.Record(Scope{})
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
			return k.Record(Scope{tx: tx})
		})
	}
	return err
}

// together publishes contents while references to them are recorded.
func (k Keeping) together(ctx context.Context) (err error) {
	ended := make(chan error, 1)
	go func() { ended <- k.Publish(ctx) }()
	published := sync.OnceValue(func() error { return <-ended })
	defer func() {
		if failed := published(); failed != nil { // nothing was committed
			err = failed
		}
	}()
	return k.Record(Scope{await: published})
}

// Drop removes a content and its renditions, unless something refers to it or is about to. remove may be
// called for several contents. During a hold (see HoldContents) the content is left to DropLeft.
func (u *Uses) Drop(ctx context.Context, digest string, remove func(ctx context.Context, digest string) error) error {
	used, err := u.Referenced(ctx, digest) // most are; this check needs no transaction
	if err != nil || used {
		return err
	}
	if !u.inUse.claim(digest) {
		return nil // whoever shares it calls Drop later
	}
	made, err := u.removeUnused(ctx, digest, remove)
	u.inUse.disclaim(digest)
	errs := []error{err}
	for _, rendition := range made {
		errs = append(errs, u.Drop(ctx, rendition, remove))
	}
	return errors.Join(errs...)
}

// removeUnused removes a content that this process has claimed, and returns its renditions.
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
		case used && removed: // the connection was lost before the commit, and the lock with it
			return fmt.Errorf("content %s was removed while another instance added a document of it; restore it from a backup", digest)
		case used:
			return nil
		}
		unused = true
		made, err = collect(ctx, tx, "drop renditions", only[string], "DELETE FROM rendition WHERE source = ? RETURNING digest", digest)
		if err != nil || !u.several() {
			return err
		}
		if removed, err = u.removable(ctx, tx); err != nil || !removed {
			left = err == nil
			return err
		}
		return remove(ctx, digest) // while the lock between processes lasts
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

// HoldContents keeps all instances from removing contents until Release: every content that a later
// transaction refers to stays. Unused contents that are not removed meanwhile are removed later.
//
// The returned context ends if the hold is lost with its connection. Work under the hold is valid only if
// Check succeeds after it.
func (u *Uses) HoldContents(ctx context.Context) (held context.Context, h *Hold, err error) {
	return u.hold(ctx, "backup", lockBackup, func(tx session) error {
		var replica bool
		if err := tx.row(ctx, "SELECT pg_is_in_recovery()").Scan(&replica); err != nil {
			return err
		}
		if replica {
			return errors.New("the database is a replica, where contents cannot be held; name the primary")
		}
		return u.lock(ctx, tx, lockRemoval) // waits for removals that are under way
	})
}

const selectUse = `SELECT EXISTS (SELECT 1 FROM document WHERE digest = ?1)
	OR EXISTS (SELECT 1 FROM rendition WHERE digest = ?1)
	OR EXISTS (SELECT 1 FROM trash WHERE digest = ?1 AND NOT erasing)`

// Referenced reports whether a document, also one in the trash, or a rendition uses the content.
func (u *Uses) Referenced(ctx context.Context, digest string) (bool, error) {
	return referenced(ctx, u.read, digest)
}

func referenced(ctx context.Context, q session, digest string) (used bool, err error) {
	return single[bool](ctx, q, "look for uses of content", selectUse, digest)
}

// pins are the contents that this process is about to refer to, or to remove.
type pins struct {
	mu      sync.Mutex
	changed sync.Cond
	// count is how many share a content, or claimed.
	count map[string]int // +checklocks:mu
}

// claimed is the count of a content that is about to be removed.
const claimed = -1

func newPins() *pins {
	p := &pins{count: map[string]int{}}
	p.changed.L = &p.mu
	return p
}

// share shares contents. It waits for removals of them to end.
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

// claim claims a content, and reports false if somebody shares or claims it.
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

// mostLeft bounds the memory of leftovers, some 10 MB. The daily sweep finds the rest.
const mostLeft = 100_000

// leftovers are unused contents that Drop did not remove because of a hold.
type leftovers struct {
	mu      sync.Mutex
	digests map[string]struct{} // +checklocks:mu
}

func (l *leftovers) add(digest string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.digests) < mostLeft {
		l.digests[digest] = struct{}{}
	}
}

// take removes and returns one of them, empty if there is none.
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

// DropLeft removes the contents that Drop left in this process, once the hold has ended.
func (u *Uses) DropLeft(ctx context.Context, remove func(ctx context.Context, digest string) error) error {
	for digest := u.left.take(); digest != ""; digest = u.left.take() {
		if err := u.Drop(ctx, digest, remove); err != nil {
			u.left.add(digest)
			return err
		}
		if u.left.has(digest) { // the hold still lasts, for all of them
			break
		}
	}
	return nil
}

// Rendition returns the digest of a rendition of a content, empty if there is none. The variant tells
// apart several renditions of one content.
func (u *Uses) Rendition(ctx context.Context, source, variant string) (string, error) {
	digest, err := only[string](u.read.row(ctx, "SELECT digest FROM rendition WHERE source = ? AND variant = ?", source, variant))
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return digest, wrapped("look for rendition", err)
}

// AddRendition records a rendition of a content. The error is KindNotFound if no document has the content
// any more, because the rendition would never be removed.
func (u *Uses) AddRendition(ctx context.Context, in Scope, source, variant, digest string) error {
	return u.write.in(in).change(ctx, func(tx changing) error {
		n, err := affected(tx.exec(ctx, `INSERT INTO rendition (source, variant, digest)
			SELECT DISTINCT digest, CAST(?2 AS TEXT), CAST(?3 AS TEXT) FROM document WHERE digest = ?1
			ON CONFLICT (source, variant) DO UPDATE SET digest = excluded.digest`, source, variant, digest))
		if err == nil && n == 0 {
			return refuse(archive.KindNotFound, "there is no document of this content any more")
		}
		return wrapped("add rendition", err)
	})
}

// SetPages records how many pages a content has.
func (u *Uses) SetPages(ctx context.Context, digest string, pages int) error {
	return u.write.change(ctx, func(tx changing) error {
		return run(ctx, tx, "set pages", "UPDATE document SET pages = ?1 WHERE digest = ?2 AND pages <> ?1", pages, digest)
	})
}

const (
	// holdEvery is how often a hold is checked, which also keeps its connection from looking idle.
	holdEvery = 2 * time.Second
	// holdTimeout bounds a check.
	holdTimeout = 30 * time.Second
)

// Hold is a lock between all processes that use a PostgreSQL database. It lasts as long as its connection.
type Hold struct {
	tx     *sql.Tx
	what   string
	cancel context.CancelCauseFunc
	ended  chan struct{}
}

// hold takes the exclusive lock of a name, and the further locks of take.
func (d *database) hold(ctx context.Context, what, name string, take func(session) error) (held context.Context, h *Hold, err error) {
	// The hold has a connection in addition to those that the URL allows, which its owner needs.
	d.write.db.SetMaxOpenConns(d.write.db.Stats().MaxOpenConnections + 1)
	// Read committed keeps no snapshot, so the server can vacuum meanwhile. The lock belongs to a
	// transaction, not to a session, so that it works through a connection pooler.
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

// Check returns an error unless the hold has lasted until now.
func (h *Hold) Check(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), holdTimeout) // cancelling it would end the hold
	defer cancel()
	_, err := h.tx.ExecContext(ctx, "SELECT 1")
	return wrapped("the "+h.what+" lost its connection to the database, and with it its lock; call it again", err)
}

// Release ends the hold.
func (h *Hold) Release() {
	h.cancel(nil)
	<-h.ended
	_ = h.tx.Rollback()
}
