// Package fs is the file system: it shows an archive as a tree of mandators, folders, inboxes and
// documents, and mounts it.
//
// # Layers
//
// From the top; a package of internal knows nothing of what stands above it.
//
//   - fs puts the layers together, mounts, and takes stock (Status).
//   - internal/node has the nodes and handles, which translate between FUSE and the model, and says what
//     the kernel is told and for how long it may trust that. With fs it is the only user of go-fuse.
//   - internal/change is what mkdir, create, rename, unlink and rmdir mean to the archive.
//   - internal/staging keeps what waits on this machine for the archive: a file that is written, from its
//     first byte until the archive has it, and the folders that are made later.
//   - internal/content is what files show: what those who have one open read, and what is prefetched.
//     internal/control is what .archivefs shows.
//   - internal/tree is the model of the directories: which names each of them shows, and for what.
//   - internal/prefetch asks for listings and contents before programs do, internal/view decides which
//     representation and which length a file has, internal/attrs answers for attributes.
//   - internal/remote is the archive service: listings, whether it answers, changes that take effect
//     once. internal/errno, names, inode and background know nothing of the others.
//
// A file is modelled in three of them, with one lock: a leaf of the tree (tree.Leaf), the content that
// it shows (content.File), and the bytes that are written to it (staging.File).
//
// # Errors
//
// The model returns Go errors. Only internal/errno makes an errno of them, by the kind
// of the archive.Error in their chain or the syscall.Errno they wrap.
//
// # Contexts
//
// Reads follow the context of the FUSE request: an interrupted reader leaves at once.
// A change that was begun goes on without it (context.WithoutCancel), because an interrupt may be
// nothing but the signal by which Go's scheduler preempts a thread of the caller. A caller
// that was killed is let go before the change has ended (node.Kernel.outlive).
//
// # Locks
//
// docs/ARCHITECTURE.md has all of them in their order, and those that may be held during a
// request to the service. What the kernel may be told, because it waits for none of its
// own locks then, is in internal/node/kernel.go.
package fs
