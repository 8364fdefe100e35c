// Package inode gives out inode numbers. A folder or a document has the same one in every
// mount; what is not archived yet has one that nothing else of this mount has had.
package inode

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"github.com/archivefs/archivefs/archive"
)

// The classes of inode numbers, their two lowest bits. Folders and documents are numbered
// separately by the service, and what is not archived yet has no number there.
const (
	local    = 1
	document = 2
	folder   = 3
)

// maxID is the largest id that fits beside the class.
const maxID = archive.ID(1)<<61 - 1

// Numbers gives out inode numbers, a fresh one for what has no usable id. The zero value is
// ready for use, by any number of goroutines.
type Numbers struct{ last, generations atomic.Uint64 }

// Document is the inode number of a document.
func (n *Numbers) Document(id archive.ID) uint64 { return n.of(document, id) }

// Folder is the inode number of a folder.
func (n *Numbers) Folder(id archive.ID) uint64 { return n.of(folder, id) }

func (n *Numbers) of(class uint64, id archive.ID) uint64 {
	if ino, ok := of(class, id); ok {
		return ino
	}
	return n.Local()
}

// OfDocument is the inode number that the id of a document stands for; false when it is not
// usable.
func OfDocument(id archive.ID) (uint64, bool) { return of(document, id) }

func of(class uint64, id archive.ID) (uint64, bool) {
	if id <= 0 || id > maxID {
		return 0, false
	}
	return uint64(id)<<2 | class, true
}

// Generation tells inodes of the same number apart: a document or folder that the service
// moved is another file or directory here, while the kernel still knows the former one.
func (n *Numbers) Generation() uint64 { return n.generations.Add(1) }

// Local is a number that nothing else has. They start at 8|1, above the reserved 0 and 1.
func (n *Numbers) Local() uint64 { return (n.last.Add(1)+1)<<2 | local }

// Inode numbers of what every mount has. But for the root's, which FUSE fixes and Local
// never reaches, their class is 0, which nothing else has.
const (
	Root      = 1
	Inboxes   = 1 << 2
	Control   = 2 << 2
	Uploads   = 3 << 2
	Status    = 4 << 2
	Documents = 5 << 2
	ByID      = 6 << 2
	Search    = 7 << 2
)

// OfPath is the inode number of what is made up in the control directory when somebody
// asks for it, in the class of what every mount has. It is a hash: so the same is found
// under the same number, without a table of what was asked for.
func OfPath(path string) uint64 {
	sum := sha256.Sum256([]byte(path))
	return binary.BigEndian.Uint64(sum[:])&^3 | 1<<62
}
