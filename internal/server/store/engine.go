package store

import (
	"context"
	"database/sql"
)

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
