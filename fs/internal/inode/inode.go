// Package inode gives out inode numbers. A folder or a document has the same number in every mount;
// a file that is not archived yet has one that nothing else in this mount has had.
package inode

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"github.com/archivefs/archivefs/archive"
)

// The classes of inode numbers, in their two lowest bits. The service numbers folders and documents
// separately; files that are not archived yet have no number there.
const (
	local    = 1
	document = 2
	folder   = 3
)

// maxID is the largest id that fits beside the class.
const maxID = archive.ID(1)<<61 - 1

// Numbers gives out inode numbers, a fresh one for every object without a usable id. The zero value
// is ready for concurrent use.
type Numbers struct{ last, generations atomic.Uint64 }

// Document returns the inode number of a document.
func (n *Numbers) Document(id archive.ID) uint64 { return n.of(document, id) }

// Folder returns the inode number of a folder.
func (n *Numbers) Folder(id archive.ID) uint64 { return n.of(folder, id) }

func (n *Numbers) of(class uint64, id archive.ID) uint64 {
	if ino, ok := of(class, id); ok {
		return ino
	}
	return n.Local()
}

// OfDocument returns the inode number for the id of a document, and false if the id is not usable.
func OfDocument(id archive.ID) (uint64, bool) { return of(document, id) }

func of(class uint64, id archive.ID) (uint64, bool) {
	switch {
	case id == archive.NewID(0):
		id = 0
	case id == 0 || id < -maxID || id > maxID:
		return 0, false
	case id < 0:
		id-- // the highest number means that it is unknown
	}
	return uint64(id)<<2 | class, true
}

// Generation distinguishes inodes of the same number: a document or folder that the service moved
// becomes another file or directory while the kernel still knows the old one.
func (n *Numbers) Generation() uint64 { return n.generations.Add(1) }

// Local returns a number that nothing else has. These start at 8|1, above the reserved 0 and 1.
func (n *Numbers) Local() uint64 { return (n.last.Add(1)+1)<<2 | local }

// Fixed inode numbers of every mount. Except for the root's, which FUSE fixes and Local never
// reaches, their class is 0, which nothing else has.
const (
	Root      = 1
	Inboxes   = 1 << 2
	Control   = 2 << 2
	Uploads   = 3 << 2
	Status    = 4 << 2
	Documents = 5 << 2
	ByID      = 6 << 2
	Search    = 7 << 2
	Searches  = 8 << 2
	ByKeyword = 9 << 2
)

// OfPath returns the inode number of an entry that the control directory makes on lookup, in the class of the fixed
// numbers. It is a hash of the path, so the same entry always has the same number, without a table.
func OfPath(path string) uint64 {
	sum := sha256.Sum256([]byte(path))
	return binary.BigEndian.Uint64(sum[:])&^3 | 1<<62
}
