package fs

import (
	"crypto/sha256"
	"encoding/binary"
	"sync/atomic"

	"github.com/archivefs/archivefs/archive"
)

// The classes of inode numbers, their two lowest bits. Folders and documents are numbered
// separately by the service, and what is not archived yet has no number there.
const (
	inoLocal    = 1
	inoDocument = 2
	inoFolder   = 3
)

// maxInoID is the largest id that fits beside the class.
const maxInoID = archive.ID(1)<<61 - 1

// inodes gives out inode numbers: the same one for the same folder or document in every
// mount, and a fresh one for what has no usable id.
type inodes struct{ last, generations atomic.Uint64 }

func (n *inodes) of(class uint64, id archive.ID) uint64 {
	if ino, ok := inoOf(class, id); ok {
		return ino
	}
	return n.local()
}

// inoOf is the inode number that an id stands for; false when it is not usable.
func inoOf(class uint64, id archive.ID) (uint64, bool) {
	if id <= 0 || id > maxInoID {
		return 0, false
	}
	return uint64(id)<<2 | class, true
}

// generation tells inodes of the same number apart: a document or folder that the service
// moved is another file or directory here, while the kernel still knows the former one.
func (n *inodes) generation() uint64 { return n.generations.Add(1) }

// local starts at 8|1, above the reserved numbers 0 and 1.
func (n *inodes) local() uint64 { return (n.last.Add(1)+1)<<2 | inoLocal }

// Inode numbers of what every mount has. But for the root's, which FUSE fixes and local
// never reaches, their class is 0, which nothing else has.
const (
	inoRoot      = 1
	inoInboxes   = 1 << 2
	inoControl   = 2 << 2
	inoUploads   = 3 << 2
	inoStatus    = 4 << 2
	inoDocuments = 5 << 2
	inoByID      = 6 << 2
	inoSearch    = 7 << 2
)

// inoOfPath is the inode number of what is made up in the control directory when somebody
// asks for it, in the class of what every mount has. It is a hash: so the same is found
// under the same number, without a table of what was asked for.
func inoOfPath(path string) uint64 {
	sum := sha256.Sum256([]byte(path))
	return binary.BigEndian.Uint64(sum[:])&^3 | 1<<62
}
