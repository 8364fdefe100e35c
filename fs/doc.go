// Package fs is the file system: it shows an archive as a tree of mandators, folders, inboxes and
// documents, and mounts it.
//
// # Layers
//
// From the top down. No package knows anything of those above it.
//
//   - fs puts the layers together, mounts, and reports the status.
//   - internal/node has the nodes and handles, which translate between FUSE and the model, and decides
//     what the kernel may cache and for how long. Apart from fs it is the only user of go-fuse.
//   - internal/change defines what mkdir, create, rename, unlink and rmdir mean to the archive.
//   - internal/staging keeps what waits on this machine for the archive: files from their first written
//     byte until the archive has them, and queued folders.
//   - internal/content is what files show: what open handles read, and what is prefetched.
//     internal/control is what .archivefs shows.
//   - internal/tree is the model of the directories: the names that each of them shows.
//   - internal/prefetch fetches listings and contents before programs need them, internal/view decides
//     which representation and length a file has, internal/attrs implements extended attributes.
//   - internal/remote is the archive service: listings, its availability, and changes that take effect
//     once. internal/errno, names, inode and background import none of the others.
//
// Three layers model a file, under one lock: its place in the tree (tree.Leaf), the content that it
// shows (content.File), and the bytes that are written to it (staging.File).
//
// # Errors
//
// The model returns Go errors. Only internal/errno turns them into an errno, by the kind
// of the archive.Error in their chain or the syscall.Errno they wrap.
//
// # Contexts
//
// Reads follow the context of the FUSE request: an interrupted reader returns at once. A change that has begun goes on
// without it (context.WithoutCancel), because the interrupt may just be the signal by which Go's scheduler preempts a
// thread of the caller. A killed caller is released before the change has ended (node.Kernel.outlive).
//
// # Locks
//
// docs/ARCHITECTURE.md lists all locks in their order, and those that may be held during a request to the service.
// internal/node/kernel.go says which notifications take no lock in the kernel and so may be sent.
package fs
