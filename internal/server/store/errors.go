package store

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/archivefs/archivefs/archive"
)

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

// taken reports whether err is a violated unique index.
func taken(err error) bool {
	var e *sqlite.Error
	return errors.As(err, &e) && e.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE
}
