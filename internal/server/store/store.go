// Package store is the database of the archive service: folders, documents and settings of all tenants,
// in SQLite or PostgreSQL. An Archive is the view of one tenant. The other parts of a Store are about
// all tenants: Access, Uses of contents, the search Index, and Verification.
//
// Every change is one transaction, durable when its method returns. In SQLite (WAL, synchronous=FULL)
// one connection writes and a pool of others reads, so that readers never wait for a writer; only one
// process uses the file. Any number of processes may use the same PostgreSQL database. Errors that a
// caller can act on have a kind (archive.KindOf): KindNotFound for a missing row, KindConflict for a name
// that is taken, KindConflict or KindForbidden for a change that the state of a document or folder does
// not allow, and KindUnreachable for an unavailable database.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/archivefs/archivefs/archive"
)

// Store is an open database with the archives of all tenants. Its methods, and those of its
// parts and views, may be called concurrently.
type Store struct {
	*database
	Access       *Access
	Uses         *Uses
	Index        *Index
	Verification *Verification
	Trash        *Trash
}

// database is shared by the parts of a Store and its views.
type database struct {
	engine
	write *pool // in SQLite one connection, for which writers queue, instead of for the database's lock
	read  *pool
	watch *watch // nil: nobody knows what others commit
}

func newStore(e engine) *Store {
	d := &database{engine: e}
	return &Store{
		database: d, Access: &Access{d}, Index: &Index{d}, Verification: &Verification{d}, Trash: &Trash{d},
		Uses: &Uses{database: d, inUse: newPins(), left: &leftovers{digests: map[string]struct{}{}}},
	}
}

// Close closes the database. Completed changes are already durable.
func (s *Store) Close() error {
	errs := []error{s.watch.close()}
	for _, p := range []*pool{s.read, s.write} {
		if p != nil {
			errs = append(errs, p.db.Close())
		}
	}
	return wrapped("close database", errors.Join(errs...))
}

// TenantID identifies a tenant within this database. Clients never see it.
type TenantID int64

// DefaultTenant is the first tenant, which every database has.
const DefaultTenant TenantID = 1

// Tenant is a tenant of the database.
type Tenant struct {
	ID      TenantID `json:"id"`
	CloudID string   `json:"cloud-id,omitempty"` // empty for the default one
	Name    string   `json:"name,omitempty"`     // for people; may be empty
}

// AddTenant adds a tenant that clients name by its cloud id. The error is KindConflict if that is taken.
func (s *Store) AddTenant(ctx context.Context, cloudID, name string) (id TenantID, err error) {
	err = s.write.change(ctx, func(tx changing) error {
		return tx.row(ctx, "INSERT INTO tenant (cloud_id, name) VALUES (?, ?) RETURNING id", cloudID, name).Scan(&id)
	})
	if s.taken(err) {
		return 0, refuse(archive.KindConflict, "there is a tenant of this cloud id already")
	}
	return id, wrapped("add tenant", err)
}

// Tenants returns all tenants, the default one first.
func (s *Store) Tenants(ctx context.Context) ([]Tenant, error) {
	return collect(ctx, s.read, "list tenants", func(row scanner) (t Tenant, err error) {
		err = row.Scan(&t.ID, &t.CloudID, &t.Name)
		return t, err
	}, "SELECT id, coalesce(cloud_id, ''), name FROM tenant ORDER BY id")
}

// FindTenant returns the tenant of a cloud id. The error is KindNotFound if there is none.
func (s *Store) FindTenant(ctx context.Context, cloudID string) (TenantID, error) {
	id, err := only[TenantID](s.read.row(ctx, "SELECT id FROM tenant WHERE cloud_id = ?", cloudID))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, refuse(archive.KindNotFound, "there is no tenant of this cloud id")
	}
	return id, wrapped("find tenant", err)
}

// Check returns an error unless the database answers.
func (s *Store) Check(ctx context.Context) error {
	_, err := single[int](ctx, s.read, "check database", "SELECT count(*) FROM setting")
	return err
}

// Count counts the folders and documents of all tenants. It scans an index of each.
func (s *Store) Count(ctx context.Context) (folders, documents int64, err error) {
	err = s.read.row(ctx, "SELECT (SELECT count(*) FROM folder), (SELECT count(*) FROM document)").Scan(&folders, &documents)
	return folders, documents, wrapped("count documents", err)
}

// Together makes the changes that belong to what do is called with in one transaction, all or none. It may be
// called again after it failed.
func (s *Store) Together(ctx context.Context, do func(in Scope) error) error {
	return s.write.change(ctx, func(tx changing) error { return do(Scope{tx: tx}) })
}

// Used reports whether any tenant has a document.
func (s *Store) Used(ctx context.Context) (used bool, err error) {
	return single[bool](ctx, s.read, "look for documents", "SELECT EXISTS (SELECT 1 FROM document)")
}

// Pools returns the statistics of the connections, by purpose.
func (s *Store) Pools() map[string]sql.DBStats {
	if s.read == s.write {
		return map[string]sql.DBStats{"all": s.write.db.Stats()}
	}
	return map[string]sql.DBStats{"read": s.read.db.Stats(), "write": s.write.db.Stats()}
}

// Totals are the totals of a database, over all tenants.
type Totals struct {
	Tenants   int64 `json:"tenants"`
	Mandators int64 `json:"mandators"`
	Inboxes   int64 `json:"inboxes"`
	Folders   int64 `json:"folders"` // all but mandators and inboxes
	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"` // of all documents, each counted
	// Contents are the distinct contents of documents, without renditions.
	Contents       int64 `json:"contents"`
	ContentBytes   int64 `json:"content-bytes"`
	SharedContents int64 `json:"shared-contents"` // of more than one document
	Renditions     int64 `json:"renditions"`
	Trash          int64 `json:"trash"` // documents in the trash, which are not counted above
	InboxDocuments int64 `json:"inbox-documents"`
	// OldestInbox is the creation date of the oldest document in an inbox, nil without one.
	OldestInbox *time.Time `json:"oldest-inbox-document,omitempty"`
	// Texts counts contents by the state of their text.
	Texts map[Reading]int64 `json:"texts"`
}

// Totals counts.
func (s *Store) Totals(ctx context.Context) (t Totals, err error) {
	var oldest sql.NullInt64
	for _, count := range []struct {
		query string
		into  []any
	}{
		{"SELECT count(*) FROM tenant", []any{&t.Tenants}},
		{`SELECT coalesce(sum(CASE WHEN parent IS NULL AND NOT inbox THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN parent IS NULL AND inbox THEN 1 ELSE 0 END), 0),
			coalesce(sum(CASE WHEN parent IS NULL THEN 0 ELSE 1 END), 0) FROM folder`, []any{&t.Mandators, &t.Inboxes, &t.Folders}},
		{"SELECT count(*), coalesce(sum(size), 0) FROM document", []any{&t.Documents, &t.Bytes}},
		{
			`SELECT count(*), coalesce(sum(size), 0), coalesce(sum(CASE WHEN n > 1 THEN 1 ELSE 0 END), 0)
			FROM (SELECT max(size) AS size, count(*) AS n FROM document GROUP BY digest) AS content`,
			[]any{&t.Contents, &t.ContentBytes, &t.SharedContents},
		},
		{"SELECT count(*) FROM rendition", []any{&t.Renditions}},
		{"SELECT count(*) FROM trash", []any{&t.Trash}},
		{"SELECT count(*), min(d.created) FROM document d JOIN folder f ON f.id = d.folder WHERE f.inbox", []any{&t.InboxDocuments, &oldest}},
	} {
		if err := s.read.row(ctx, count.query).Scan(count.into...); err != nil {
			return t, fmt.Errorf("count: %w", err)
		}
	}
	if oldest.Valid {
		at := time.Unix(oldest.Int64, 0).UTC()
		t.OldestInbox = &at
	}
	t.Texts, err = s.Index.Texts(ctx)
	return t, err
}

// refuse makes an error that a caller can act on, with a detail for people.
func refuse(kind archive.Kind, format string, args ...any) error {
	return &archive.Error{Op: "store", Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func noFolder(id archive.ID) error {
	return refuse(archive.KindNotFound, "there is no folder %d", id)
}

// engine is a kind of database. Queries are written once, for SQLite; other engines translate them.
// Texts that are compared without regard to case are stored folded, so that all engines agree.
type engine interface {
	// text translates a query for this engine.
	text(query string) string
	// migrate brings the schema to the newest version, once, even if several processes try. A
	// database of a newer version is refused.
	migrate(ctx context.Context, p *pool) error
	// taken reports whether err is a violated unique index.
	taken(err error) bool
	// again reports whether err is transient and nothing was changed: a deadlock, or a lost
	// connection. settle decides about a failed commit.
	again(err error) bool
	// full reports whether err says that the disk is full.
	full(err error) bool
	// begin begins a transaction that changes something, and returns a mark of it for settle.
	begin(ctx context.Context, tx changing) (mark string, err error)
	// settle determines the outcome of a transaction whose commit failed: nil if it was committed, an
	// error for again if it was rolled back.
	settle(ctx context.Context, db *sql.DB, mark string, failed error) error

	// mention holds if a folded text occurs in the metadata of a document d. quick says that an index
	// finds these documents.
	mention(folded string) (holds condition, quick bool)
	// indexSaid adds up to n documents to that index, and reports whether there are more.
	indexSaid(ctx context.Context, tx changing, n int) (more bool, err error)
	// contains holds if the content of a document d has a text, according to the index.
	contains(s sought) condition
	// indexText adds the text of a content to the index, which does not have it yet.
	indexText(ctx context.Context, tx changing, id int64, v vector) error

	// insertRow is the query that adds a row, a JSON object, to a table.
	insertRow(t table) string
	// secure has what is deleted in this transaction overwritten, as far as the engine can.
	secure(ctx context.Context, tx changing) error
	// scrub removes what was deleted from the files of the database, as far as the engine can.
	scrub(ctx context.Context, p *pool) error

	// several reports whether other processes may use the database at the same time. The locks below
	// are between processes, and last until the end of a transaction.
	several() bool
	// lock waits for the lock of a name.
	lock(ctx context.Context, tx session, name string) error
	// share keeps others from claiming contents.
	share(ctx context.Context, tx session, digests []string) error
	// claim reports whether it could claim a content, which nobody else shares or claims.
	claim(ctx context.Context, tx session, digest string) (bool, error)
	// removable reports whether contents may be removed: there is no hold, and none can begin before
	// the transaction ends.
	removable(ctx context.Context, tx session) (bool, error)

	// copyTo writes a snapshot of the database into a new SQLite file.
	copyTo(ctx context.Context, from *pool, file string) error
}

// migrations are the steps of each engine, numbered by the resulting version. The same number means the same schema.
//
//go:embed migrations
var migrations embed.FS

type step struct {
	name    string
	version int
}

// stepsAfter returns the steps from a version to the newest one, in order.
func stepsAfter(engine string, version int) ([]step, error) {
	files, err := fs.Glob(migrations, "migrations/"+engine+"/*.sql") // sorted by name
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var steps []step
	newest := 0
	for _, name := range files {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if newest, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("migration %s has no number: %w", name, err)
		}
		if newest > version {
			steps = append(steps, step{name, newest})
		}
	}
	if version > 0 && len(steps) == len(files) { // the first makes all tables
		return nil, fmt.Errorf("database has schema version %d, of a program that was never released: export it with that one", version)
	}
	if version > newest {
		return nil, fmt.Errorf("database has schema version %d, this program knows %d: use a newer archivefs", version, newest)
	}
	return steps, nil
}

func (s step) run(ctx context.Context, tx changing) error {
	text, err := migrations.ReadFile(s.name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	return run(ctx, tx, "migration "+s.name, string(text))
}

// Archive is the database as one tenant sees it: folders, documents and settings of others
// are KindNotFound, or not listed, whatever their ids. It is only a view and needs no Close.
//
// Its queries always name the tenant, even if the foreign keys imply it. A + before the column keeps
// the query planner from the index of tenants, because the other conditions find fewer rows.
type Archive struct {
	*database
	tenant TenantID
	user   string
}

// Tenant returns the view of a tenant. The view of an unknown one is empty and cannot be added to.
func (s *Store) Tenant(id TenantID) Archive { return Archive{database: s.database, tenant: id} }

// By returns the same view for a user. Changes are recorded as the user's.
func (a Archive) By(user string) Archive {
	a.user = user
	return a
}

// In returns the same view for what belongs to s.
func (a Archive) In(s Scope) Archive {
	a.database = a.in(s)
	return a
}

// edit is a transaction that changes an archive.
type edit struct {
	changing
	engine engine
	tenant TenantID
	user   string
}

// change makes a change, in the transaction of its scope if there is one, else in its own.
func (a Archive) change(ctx context.Context, do func(e edit) error) error {
	return a.write.change(ctx, func(tx changing) error { return do(edit{tx, a.engine, a.tenant, a.user}) })
}

const selectPerson = `SELECT coalesce((SELECT id FROM account WHERE tenant = ?1 AND name = ?2),
	(SELECT user_id FROM folder WHERE tenant = ?1 AND inbox AND parent IS NULL AND name = ?2), 0)`

// person returns the id of the user of a name, else the user id of the inbox of that name, else 0.
func (e edit) person(ctx context.Context, name string) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	return single[int64](ctx, e, "look for a user", selectPerson, e.tenant, name)
}

// SettingID is the setting of the default tenant with the id of the archive, by which its contents are
// claimed. It is set if services share the archive.
const SettingID = "archive-id"

// NewID makes a unique id for an archive.
func NewID() (string, error) {
	made, err := uuid.NewRandom()
	if err != nil {
		return "", fmt.Errorf("make archive id: %w", err)
	}
	return made.String(), nil
}

// Setting returns a setting's value, empty if it was never set.
func (a Archive) Setting(ctx context.Context, name string) (string, error) {
	value, err := only[string](a.read.row(ctx, "SELECT value FROM setting WHERE tenant = ? AND name = ?", a.tenant, name))
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil
	}
	return value, wrapped("read setting "+name, err)
}

// FirstSetting sets a value unless one is set, and returns that which is: of all that do this
// with a name one value wins.
func (a Archive) FirstSetting(ctx context.Context, name, value string) (string, error) {
	err := a.change(ctx, func(e edit) error {
		_, err := e.exec(ctx, `INSERT INTO setting (tenant, name, value) VALUES (?, ?, ?)
		ON CONFLICT (tenant, name) DO NOTHING`, e.tenant, name, value)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("change setting %s: %w", name, err)
	}
	return a.Setting(ctx, name)
}
