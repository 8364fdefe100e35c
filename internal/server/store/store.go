// Package store is the database of the archive service: folders, documents and
// settings of all tenants, in SQLite or PostgreSQL. An Archive is the view of one tenant. What
// concerns all of them are parts of a Store: Access, Uses of contents, the Index of searches, and
// Verification.
//
// Every change is one transaction that is safe from a crash when its method returns. In SQLite
// (WAL, synchronous=FULL) one connection writes and a pool of others reads, so that readers
// never wait for a writer; one process has the file. Any number of processes may use the same
// PostgreSQL. What a caller can do about an error is told by archive.KindOf: a
// missing row is KindNotFound, a name that is taken KindConflict, a change that the
// state of a document or folder does not allow KindConflict or KindForbidden, and a
// database that is gone KindUnreachable.
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
}

// database is what the parts of a Store and its views share.
type database struct {
	engine
	write *pool // of one connection in SQLite: writers queue here, not at the database's lock
	read  *pool
}

func newStore(e engine) *Store {
	d := &database{engine: e}
	return &Store{
		database: d, Access: &Access{d}, Index: &Index{d}, Verification: &Verification{d},
		Uses: &Uses{database: d, inUse: newPins(), left: &leftovers{}},
	}
}

// Close closes the database; what was answered before is on disk already.
func (s *Store) Close() error {
	var errs []error
	for _, p := range []*pool{s.read, s.write} {
		if p != nil {
			errs = append(errs, p.db.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}

// TenantID names a tenant within this database. It is never told to clients.
type TenantID int64

// DefaultTenant is the tenant of a database of one archive. It is there from the beginning.
const DefaultTenant TenantID = 1

// Tenant is one of those whose archives lie in the database.
type Tenant struct {
	ID      TenantID `json:"id"`
	CloudID string   `json:"cloud-id,omitempty"` // empty for the default one
	Name    string   `json:"name,omitempty"`     // for people; may be empty
}

// AddTenant adds a tenant that clients name by its cloud id. One that is taken is
// KindConflict.
func (s *Store) AddTenant(ctx context.Context, cloudID, name string) (TenantID, error) {
	var id TenantID
	err := s.write.change(ctx, func(tx changing) error {
		return tx.row(ctx, "INSERT INTO tenant (cloud_id, name) VALUES (?, ?) RETURNING id", cloudID, name).Scan(&id)
	})
	if s.taken(err) {
		return 0, refuse(archive.KindConflict, "there is a tenant of this cloud id already")
	}
	if err != nil {
		return 0, fmt.Errorf("add tenant: %w", err)
	}
	return id, nil
}

// Tenants returns all tenants, the default one first.
func (s *Store) Tenants(ctx context.Context) ([]Tenant, error) {
	return collect(ctx, s.read, "list tenants", func(row scanner) (t Tenant, err error) {
		err = row.Scan(&t.ID, &t.CloudID, &t.Name)
		return t, err
	}, "SELECT id, coalesce(cloud_id, ''), name FROM tenant ORDER BY id")
}

// FindTenant returns the tenant of a cloud id, KindNotFound when there is none.
func (s *Store) FindTenant(ctx context.Context, cloudID string) (TenantID, error) {
	var id TenantID
	err := s.read.row(ctx, "SELECT id FROM tenant WHERE cloud_id = ?", cloudID).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, refuse(archive.KindNotFound, "there is no tenant of this cloud id")
	}
	if err != nil {
		return 0, fmt.Errorf("find tenant: %w", err)
	}
	return id, nil
}

// Check finds out whether the database answers.
func (s *Store) Check(ctx context.Context) error {
	var settings int
	if err := s.read.row(ctx, "SELECT count(*) FROM setting").Scan(&settings); err != nil {
		return fmt.Errorf("ask database: %w", err)
	}
	return nil
}

// Count counts the folders and documents of all tenants. It goes through an index of them.
func (s *Store) Count(ctx context.Context) (folders, documents int64, err error) {
	if err = s.read.row(ctx, "SELECT (SELECT count(*) FROM folder), (SELECT count(*) FROM document)").Scan(&folders, &documents); err != nil {
		return 0, 0, fmt.Errorf("count documents: %w", err)
	}
	return folders, documents, nil
}

// Used finds out whether any tenant has a document.
func (s *Store) Used(ctx context.Context) (used bool, err error) {
	if err = s.read.row(ctx, "SELECT EXISTS (SELECT 1 FROM document)").Scan(&used); err != nil {
		return false, fmt.Errorf("look for documents: %w", err)
	}
	return used, nil
}

// Pools are the connections to the database, by what they are for.
func (s *Store) Pools() map[string]sql.DBStats {
	if s.read == s.write {
		return map[string]sql.DBStats{"all": s.write.db.Stats()}
	}
	return map[string]sql.DBStats{"read": s.read.db.Stats(), "write": s.write.db.Stats()}
}

// Totals are what a database holds, of all tenants.
type Totals struct {
	Tenants   int64 `json:"tenants"`
	Mandators int64 `json:"mandators"`
	Inboxes   int64 `json:"inboxes"`
	Folders   int64 `json:"folders"` // all but mandators and inboxes
	Documents int64 `json:"documents"`
	Bytes     int64 `json:"bytes"` // of all documents, each counted
	// Contents are those of documents, without renditions; equal ones are kept once.
	Contents       int64 `json:"contents"`
	ContentBytes   int64 `json:"content-bytes"`
	SharedContents int64 `json:"shared-contents"` // of more than one document
	Renditions     int64 `json:"renditions"`
	InboxDocuments int64 `json:"inbox-documents"`
	// OldestInbox is the creation date of the oldest document in an inbox, nil without one.
	OldestInbox *time.Time `json:"oldest-inbox-document,omitempty"`
	// Texts is how far the index of contents is.
	Texts Backlog `json:"text-index"`
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
	t.Texts, err = s.Index.Backlog(ctx)
	return t, err
}

// refuse makes an error that a caller can act on; the detail is for people.
func refuse(kind archive.Kind, format string, args ...any) error {
	return &archive.Error{Op: "store", Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

func noFolder(id archive.ID) error {
	return refuse(archive.KindNotFound, "there is no folder %d", id)
}

func noDocument(id archive.ID) error {
	return refuse(archive.KindNotFound, "there is no document %d", id)
}

// engine is a kind of database, and what sets it apart. Queries are written once, as SQLite
// takes them; what an engine calls otherwise it replaces. What is compared without regard to
// case was folded before it was written, so that no engine has a say in it.
type engine interface {
	// text is a query as this engine takes it.
	text(query string) string
	// migrate brings the schema to the newest version, once, whoever else tries. A database of
	// a newer version is refused.
	migrate(ctx context.Context, p *pool) error
	// taken reports whether err is a violated unique index.
	taken(err error) bool
	// again reports whether what failed has changed nothing and may succeed when it is done
	// once more: a deadlock, or a connection that is gone. A commit is told by settle.
	again(err error) bool
	// full reports whether err says that there is no room for what was to be written.
	full(err error) bool
	// begin begins a transaction that changes something, and returns a mark of it for settle.
	begin(ctx context.Context, tx changing) (mark string, err error)
	// settle finds out what became of a transaction whose commit failed. It returns nil when it
	// was committed, an error for again when it was not.
	settle(ctx context.Context, db *sql.DB, mark string, failed error) error

	// mention holds when a folded text occurs in what is said about a document d. quick tells that
	// an index leads to these documents.
	mention(folded string) (holds condition, quick bool)
	// indexSaid takes up to n documents into that index, and reports whether there are more.
	indexSaid(ctx context.Context, tx changing, n int) (more bool, err error)
	// contains holds when the content of a document d has a text in the index.
	contains(s sought) condition
	// indexText takes the text of a content into the index, where it is not yet.
	indexText(ctx context.Context, tx changing, id int64, v vector) error

	// several reports whether other processes may use the database at the same time. The locks
	// below, which last until the end of a transaction, are between them.
	several() bool
	// lock waits for a lock of that name.
	lock(ctx context.Context, tx session, name string) error
	// share keeps others from claiming contents.
	share(ctx context.Context, tx session, digests []string) error
	// claim reports whether nobody else shares or claims a content.
	claim(ctx context.Context, tx session, digest string) (bool, error)
	// removable reports whether contents may be removed: nobody begins to hold them before the
	// transaction ends.
	removable(ctx context.Context, tx session) (bool, error)

	// copyTo writes the database as it is at one moment into a new SQLite file.
	copyTo(ctx context.Context, from *pool, file string) error
}

// migrations are the steps of each engine, by the version that they lead to. Steps of the same
// number lead to the same schema.
//
//go:embed migrations
var migrations embed.FS

// step is a change of the schema.
type step struct {
	name    string
	version int
}

// stepsAfter returns what an engine's database of some version lacks, in order.
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
	if _, err := tx.exec(ctx, string(text)); err != nil {
		return fmt.Errorf("migration %s: %w", s.name, err)
	}
	return nil
}
