package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Target says where an inbox document is archived.
type Target struct {
	Folder   archive.ID
	Name     string   // empty to keep the current one
	Keywords []string // added to the current ones
	At       time.Time
}

// ArchiveDocument archives an inbox document: it is removed, and a new document with an id of its own is added to the
// target folder. The error is KindConflict for a document that is not in an inbox, KindInvalid for a target that is.
func (a Archive) ArchiveDocument(ctx context.Context, id archive.ID, t Target) (made archive.ID, err error) {
	err = a.change(ctx, func(e edit) error {
		d, err := e.inboxDocument(ctx, id, archive.KindConflict)
		if err != nil {
			return err
		}
		before := d
		target, err := findFolder(ctx, e, e.tenant, t.Folder)
		if err != nil {
			return err
		}
		if target.Inbox {
			return refuse(archive.KindInvalid, "folder %d lies in an inbox", t.Folder)
		}
		d.Name, d.Keywords = cmp.Or(t.Name, d.Name), union(d.Keywords, t.Keywords)
		keywords, err := encodeStrings(d.Keywords)
		if err != nil {
			return err
		}
		by, err := e.person(ctx, e.user)
		if err != nil {
			return err
		}
		err = e.row(ctx, `INSERT INTO document (tenant, folder, name, archived, archiver_id, keywords, said,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, creator_id, external_id, source, upload, pairs)
			SELECT tenant, ?, ?, ?, ?, ?, CAST(? AS TEXT) || `+remarks+`,
			created, pages, size, content_type, metadata, auto_export, digest, types, creator, creator_id, external_id, source, upload, pairs
			FROM document WHERE id = ? RETURNING id`, t.Folder, d.Name, t.At.Unix(), by, keywords, said(d), id).Scan(&made)
		if err != nil {
			return fmt.Errorf("archive document: %w", err)
		}
		if err := run(ctx, e, "move annotations", "UPDATE annotation SET document = ? WHERE document = ?", made, id); err != nil {
			return err
		}
		if err := e.remove(ctx, id); err != nil {
			return err
		}
		d.ID, d.Folder = made, t.Folder
		return e.recordArchived(ctx, before, d)
	})
	return made, err
}

// recordArchived records that an inbox document was archived.
func (e edit) recordArchived(ctx context.Context, before, after Document) error {
	was, err := e.place(ctx, before.Folder, before.Name)
	if err != nil {
		return err
	}
	became, err := e.place(ctx, after.Folder, after.Name)
	if err != nil {
		return err
	}
	entries, err := differences(before, after)
	if err != nil {
		return err
	}
	archived := Entry{Action: DocumentArchived, Document: after.ID, Former: before.ID, Folder: before.Folder, Was: was, Became: became}
	return e.record(ctx, append([]Entry{archived}, entries...)...)
}

// union appends the added values that are new.
func union(have, added []string) []string {
	have = slices.Clip(have)
	for _, value := range added {
		if !slices.Contains(have, value) {
			have = append(have, value)
		}
	}
	return have
}

// Alteration changes the metadata of a document. If it returns an error nothing is changed.
type Alteration func(d *Document) error

// Alter changes the metadata of a document, and records the differences. The error is KindNotFound if
// there is no such document.
func (a Archive) Alter(ctx context.Context, id archive.ID, how Alteration) error {
	return a.change(ctx, func(e edit) error {
		d, err := findDocument(ctx, e, changeDocument, e.tenant, id)
		if err != nil {
			return err
		}
		before := d
		if err := how(&d); err != nil {
			return err
		}
		return e.describe(ctx, before, d)
	})
}

// SetAutoExport sets the auto-export status.
func SetAutoExport(on bool) Alteration {
	return func(d *Document) error { d.AutoExport = on; return nil }
}

// SetName renames a document.
func SetName(name string) Alteration {
	return func(d *Document) error { d.Name = name; return nil }
}

// SetKeywords replaces a document's keywords.
func SetKeywords(keywords []string) Alteration {
	return func(d *Document) error { d.Keywords = keywords; return nil }
}

const (
	// MaxEntries bounds the keywords, the document types and the metadata entries of a document, each.
	MaxEntries = 1000
	// MaxMetadata bounds all keys and values of a document's metadata together, in bytes.
	MaxMetadata = 1 << 20
)

// SetMetadata sets the given keys, removes those whose value is nil, and leaves the others and their
// order unchanged. New keys are appended in alphabetical order. The error is KindTooLarge if a limit is
// exceeded, unless the document had as much before.
func SetMetadata(change map[string]*string) Alteration {
	return func(d *Document) error {
		before := d.Metadata
		d.Metadata = changed(before, change)
		if n := len(d.Metadata); n > MaxEntries && n > len(before) {
			return refuse(archive.KindTooLarge, "the document would have more than %d entries", MaxEntries)
		}
		if n := length(d.Metadata); n > MaxMetadata && n > length(before) {
			return refuse(archive.KindTooLarge, "the document would have more than %d bytes of metadata", MaxMetadata)
		}
		return nil
	}
}

// length is the length of all keys and values, in bytes.
func length(metadata []archive.KeyValue) (n int) {
	for _, pair := range metadata {
		n += len(pair.Key) + len(pair.Value)
	}
	return n
}

// describe writes and records the changed metadata of a document, if anything has changed.
func (e edit) describe(ctx context.Context, before, d Document) error {
	entries, err := differences(before, d)
	if err != nil || len(entries) == 0 {
		return err
	}
	keywords, err1 := encodeStrings(d.Keywords)
	metadata, err2 := encodeMetadata(d.Metadata)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	err = run(ctx, e, "change document", "UPDATE document SET name = ?, keywords = ?, metadata = ?, auto_export = ?, pairs = ?, said = CAST(? AS TEXT) || "+remarks+" WHERE id = ?",
		d.Name, keywords, metadata, d.AutoExport, pairs(d), said(d), d.ID)
	if err != nil {
		return err
	}
	return e.record(ctx, entries...)
}

func changed(metadata []archive.KeyValue, change map[string]*string) []archive.KeyValue {
	var result []archive.KeyValue
	seen := map[string]bool{}
	for _, pair := range metadata {
		value, named := change[pair.Key]
		switch {
		case !named:
			result = append(result, pair)
		case value != nil && !seen[pair.Key]:
			result = append(result, archive.KeyValue{Key: pair.Key, Value: *value})
		}
		seen[pair.Key] = true
	}
	for _, key := range slices.Sorted(maps.Keys(change)) {
		if value := change[key]; value != nil && !seen[key] {
			result = append(result, archive.KeyValue{Key: key, Value: *value})
		}
	}
	return result
}

// Content describes new content of a document.
type Content struct {
	Digest      string
	Size        int64
	ContentType string
	Pages       int
	Keywords    []string // nil to keep the current ones
}

// ReplaceContent gives an inbox document new content and returns the digest of the old one. The error
// is KindForbidden for an archived document.
func (a Archive) ReplaceContent(ctx context.Context, id archive.ID, c Content) (old string, err error) {
	err = a.change(ctx, func(e edit) error {
		d, err := e.inboxDocument(ctx, id, archive.KindForbidden)
		if err != nil {
			return err
		}
		if err := run(ctx, e, "replace content", "UPDATE document SET digest = ?, source = NULL, size = ?, content_type = ?, pages = ? WHERE id = ?",
			c.Digest, c.Size, c.ContentType, c.Pages, id); err != nil {
			return err
		}
		old = d.Digest
		err = e.record(ctx, Entry{Action: ContentReplaced, Document: id, Was: d.Digest, Became: c.Digest})
		if err != nil || c.Keywords == nil {
			return err
		}
		before := d
		d.Keywords = c.Keywords
		return e.describe(ctx, before, d)
	})
	return old, err
}

// DeleteDocument removes an inbox document and returns the digest of its content. The error is
// KindForbidden for an archived document.
func (a Archive) DeleteDocument(ctx context.Context, id archive.ID) (digest string, err error) {
	err = a.change(ctx, func(e edit) error {
		d, err := e.inboxDocument(ctx, id, archive.KindForbidden)
		if err != nil {
			return err
		}
		digest = d.Digest
		was, err := e.place(ctx, d.Folder, d.Name)
		if err != nil {
			return err
		}
		if err := e.remove(ctx, id); err != nil {
			return err
		}
		return e.record(ctx, Entry{Action: DocumentRemoved, Document: id, Was: was + " " + digest})
	})
	return digest, err
}

// inboxDocument returns an inbox document. The error for an archived one has the given kind.
func (e edit) inboxDocument(ctx context.Context, id archive.ID, kind archive.Kind) (Document, error) {
	d, err := findDocument(ctx, e, changeDocument, e.tenant, id)
	if err != nil {
		return Document{}, err
	}
	in, err := findFolder(ctx, e, e.tenant, d.Folder)
	if err != nil {
		return Document{}, err
	}
	if !in.Inbox {
		return Document{}, refuse(kind, "document %d is archived already", id)
	}
	return d, nil
}

func (e edit) remove(ctx context.Context, id archive.ID) error {
	return run(ctx, e, "remove document", "DELETE FROM document WHERE id = ?", id)
}

// AddDocuments adds the documents of one upload, in order, all or none, and returns their ids. With reuse the external
// id is an idempotency key: if the first one's folder has a document with the same external id and the same uploaded
// content, nothing is added and its id is returned. For an inbox, documents that were archived from it count, too: a
// client that repeats an upload because the answer was lost does not know that its document was archived.
func (a Archive) AddDocuments(ctx context.Context, documents []Document, reuse bool) (ids []archive.ID, err error) {
	err = a.change(ctx, func(e edit) error {
		ids = nil
		if reuse {
			id, err := e.known(ctx, documents[0])
			if err != nil {
				return err
			}
			if id != 0 {
				ids = []archive.ID{id}
				return nil
			}
		}
		for _, d := range documents {
			id, err := e.insert(ctx, d)
			if err != nil {
				return err
			}
			ids = append(ids, id)
		}
		return e.group(ctx, ids)
	})
	return ids, err
}

const selectKnown = `SELECT id FROM document
	WHERE external_id = ? AND folder = ? AND +tenant = ? AND coalesce(source, digest) = ? ORDER BY id LIMIT 1`

// selectLeft finds a document by its digest, because many documents may have the same external id.
const selectLeft = `SELECT document.id FROM document JOIN audit ON audit.document = document.id
	WHERE digest = ? AND external_id || '' = ? AND +document.tenant = ? AND coalesce(source, digest) = ?
	AND audit.folder = ? AND action = 'archive' ORDER BY document.id LIMIT 1`

// known returns the document of an earlier upload with the same external id, content and folder, 0 if there is none.
func (e edit) known(ctx context.Context, d Document) (archive.ID, error) {
	source := cmp.Or(d.Source, d.Digest)
	if err := e.engine.lock(ctx, e, fmt.Sprintf("external id %d %s", d.Folder, d.ExternalID)); err != nil {
		return 0, fmt.Errorf("lock external id: %w", err)
	}
	id, err := only[archive.ID](e.row(ctx, selectKnown, d.ExternalID, d.Folder, e.tenant, source))
	if errors.Is(err, sql.ErrNoRows) && d.Archived.IsZero() {
		id, err = only[archive.ID](e.row(ctx, selectLeft, d.Digest, d.ExternalID, e.tenant, source, d.Folder))
	}
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, wrapped("look for external id", err)
}

const insertDocument = `INSERT INTO document (tenant, folder, name, created, archived, pages, size, content_type,
	keywords, metadata, auto_export, digest, types, creator, creator_id, archiver_id, external_id, source, said, pairs)
	VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING id`

func (e edit) insert(ctx context.Context, d Document) (archive.ID, error) {
	in, err := findFolder(ctx, e, e.tenant, d.Folder)
	if err != nil {
		return 0, err
	}
	if in.Inbox != d.Archived.IsZero() {
		return 0, refuse(archive.KindConflict, "documents have an archiving date in folders, and none in inboxes")
	}
	keywords, err1 := encodeStrings(d.Keywords)
	types, err2 := encodeStrings(d.Types)
	metadata, err3 := encodeMetadata(d.Metadata)
	if err := errors.Join(err1, err2, err3); err != nil {
		return 0, err
	}
	if d.CreatorID, err = e.person(ctx, d.Creator); err != nil {
		return 0, err
	}
	if d.ArchiverID = 0; !d.Archived.IsZero() {
		if d.ArchiverID, err = e.person(ctx, e.user); err != nil {
			return 0, err
		}
	}
	var id archive.ID
	err = e.row(ctx, insertDocument,
		e.tenant, d.Folder, d.Name, d.Created.Unix(), seconds(d.Archived), d.Pages, d.Size, d.ContentType,
		keywords, metadata, d.AutoExport, d.Digest, types, d.Creator, d.CreatorID, d.ArchiverID, optional(d.ExternalID), optional(d.Source), said(d), pairs(d)).Scan(&id)
	if err != nil {
		return 0, fmt.Errorf("add document: %w", err)
	}
	return id, e.annotate(ctx, id, d)
}

func (e edit) annotate(ctx context.Context, id archive.ID, d Document) error {
	add := func(kind, title, text, date, creator, foldedTitle string) error {
		by, err := e.person(ctx, creator)
		if err != nil {
			return err
		}
		return run(ctx, e, "add "+kind, `INSERT INTO annotation (document, page, kind, title, text, date, creator, creator_id, folded_title, folded_text)
			VALUES (?, 1, ?, ?, ?, ?, ?, ?, ?, ?)`, id, kind, title, text, date, creator, by, foldedTitle, fold(text))
	}
	for _, n := range d.Notes {
		if err := add("note", "", n.Text, n.Date, n.Creator, ""); err != nil {
			return err
		}
	}
	for _, n := range d.Stamps {
		if err := add("stamp", n.Title, n.Text, n.Date, n.Creator, fold(n.Title)); err != nil {
			return err
		}
	}
	return nil
}

// group marks several documents as parts of one upload, which is named by the first one's id.
func (e edit) group(ctx context.Context, ids []archive.ID) error {
	if len(ids) < 2 {
		return nil
	}
	for _, id := range ids {
		if err := run(ctx, e, "group upload", "UPDATE document SET upload = ? WHERE id = ?", ids[0], id); err != nil {
			return err
		}
	}
	return nil
}

// group makes changes of a database with one connection for writing. Those that arrive during a commit share the next
// transaction, and so its sync: each has a savepoint of its own, so that one that fails takes none of the others along.
type group struct {
	mu sync.Mutex
	// busy says that a transaction is under way.
	busy bool // +checklocks:mu
	// waiting are the members of the next one.
	waiting []*member // +checklocks:mu
}

type member struct {
	ctx      context.Context // of the change, which ends with turn
	do       func(changing) error
	err      error
	panicked any
	// turn gets the members of a transaction, by the first one of them, or nil when it has ended.
	turn chan []*member
}

// change makes a change in a transaction, which it may share.
func (g *group) change(ctx context.Context, p *pool, do func(changing) error) error {
	m := &member{ctx: ctx, do: do, turn: make(chan []*member, 1)}
	if members := g.join(m); members != nil {
		g.lead(p, members) //nolint:contextcheck // each change has its own
	}
	if m.panicked != nil {
		panic(m.panicked)
	}
	return m.err
}

// join waits for a transaction with m to end, and then returns nil. If m is to make it, it returns its
// members, m first.
func (g *group) join(m *member) []*member {
	g.mu.Lock()
	if g.busy {
		g.waiting = append(g.waiting, m)
		g.mu.Unlock()
		return <-m.turn
	}
	defer g.mu.Unlock()
	g.busy = true
	return []*member{m}
}

// lead makes the transaction of members, and passes the next one on to the first of those who wait.
func (g *group) lead(p *pool, members []*member) {
	defer func() {
		g.mu.Lock()
		next := g.waiting
		g.waiting, g.busy = nil, len(next) > 0
		g.mu.Unlock()
		if len(next) > 0 {
			next[0].turn <- next
		}
		for _, m := range members[1:] {
			m.turn <- nil
		}
	}()
	if len(members) > 1 && p.share(members) {
		return
	}
	for _, m := range members {
		m.alone(p)
	}
}

func (m *member) alone(p *pool) {
	defer func() { m.panicked = recover() }()
	m.err = p.once(m.ctx, m.do)
}

// share makes changes in one transaction. It reports false if that failed before the commit, so that
// nothing was changed. After a failed commit each of them has failed.
func (p *pool) share(members []*member) bool {
	began, err := p.db.BeginTx(context.WithoutCancel(members[0].ctx), nil)
	if err != nil {
		return false
	}
	defer began.Rollback() //nolint:errcheck // it does nothing after the commit
	tx := &transaction{tx: began, pool: p}
	for _, m := range members {
		if err := m.apart(tx); err != nil {
			return false
		}
	}
	if err := began.Commit(); err != nil {
		for _, m := range members {
			if m.err == nil {
				m.err = fmt.Errorf("commit: %w", err)
			}
		}
	}
	return true
}

const (
	beginPart  = "SAVEPOINT part"
	dropPart   = "ROLLBACK TO part"
	finishPart = "RELEASE part"
)

// apart makes a change in a savepoint. An error says that the transaction has failed as a whole: after
// some errors SQLite rolls all of it back.
func (m *member) apart(tx *transaction) error {
	ctx := context.WithoutCancel(m.ctx)
	if _, err := tx.exec(ctx, beginPart); err != nil {
		return err
	}
	m.run(tx)
	var err error
	if m.err != nil || m.panicked != nil {
		_, err = tx.exec(ctx, dropPart)
	}
	_, ferr := tx.exec(ctx, finishPart)
	return errors.Join(err, ferr)
}

func (m *member) run(tx *transaction) {
	m.err, m.panicked = m.ctx.Err(), nil
	if m.err != nil {
		return
	}
	defer func() { m.panicked = recover() }()
	m.err = m.do(tx)
}
