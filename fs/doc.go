// Package fs is the file system: the tree of mandators, folders, inboxes and documents
// as FUSE nodes, and what creating, writing, renaming and removing mean to the archive.
//
// # Layers
//
// From the top; a package of internal knows nothing of what stands above it.
//
//   - Nodes (dirNode, fileNode) and handles (dirHandle, readHandle, writeHandle) translate between
//     FUSE and the model. What the kernel is told, and for how long it may trust that, is in kernel;
//     what .archivefs shows is internal/control.
//   - Changes (folderChanges, fileChanges) are what mkdir, create, rename, unlink and rmdir mean to
//     the archive. delivery turns the bytes of a file into a document, staging keeps what waits on
//     this machine, and placing shows that in the tree. phase.go has the states of a written file.
//   - A file is modelled in three layers with one lock: a leaf of the tree (tree.Leaf), the content that
//     it shows (content.File), and the bytes that are written to it (file).
//   - internal/content is what files show: what those who have one open read, and what is prefetched.
//   - internal/tree is the model of the directories: which names each of them shows, and for what.
//   - internal/prefetch asks for listings and contents before programs do, internal/view decides which
//     representation and which length a file has, internal/attrs answers for attributes.
//   - internal/remote is the archive service: listings, whether it answers, changes that take effect
//     once. internal/errno, names, inode and background know nothing of the others.
//
// # Errors
//
// The model returns Go errors. Only internal/errno makes an errno of them, by the kind
// of the archive.Error in their chain or the syscall.Errno they wrap.
//
// # Contexts
//
// Reads follow the context of the FUSE request: an interrupted reader leaves at once.
// A change that was begun goes on without it (detached), because an interrupt may be
// nothing but the signal by which Go's scheduler preempts a thread of the caller. A caller
// that was killed is let go before the change has ended (outlive).
//
// # Locks
//
// docs/ARCHITECTURE.md has all of them in their order, and those that may be held during a
// request to the service. What the kernel may be told, because it waits for none of its
// own locks then, is in kernel.go.
package fs
