// Package fs is the file system: the tree of mandators, folders, inboxes and documents
// as FUSE nodes, and what creating, writing, renaming and removing mean to the archive.
//
// # Layers
//
// A dir is the model of one directory: which names it shows, and for what. It is filled
// from the listings that package cache holds and keeps every name it has shown. A file is
// the model of one document or of one file that is not archived yet. Nodes (dirNode,
// fileNode) and handles (dirHandle, readHandle, writeHandle) are thin: they translate
// between FUSE and the model.
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
// own locks then, is in invalidate.go.
package fs
