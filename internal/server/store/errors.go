package store

import (
	"fmt"

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
