// Package staging holds what waits on this machine for the archive: each File that is written, the
// Handles through which that happens, and queued folders. Each of them is an upload of the spool.
//
// The state of an upload (spool.State) decides the fate of its bytes. delivery turns them into a document, in the close
// that ends the file or from the queue (queue.go). placing shows in the tree what waits. queuedFolders are the folders.
// recovery.go takes over what an earlier mount left, and decisions.go carries out what a user decides about an upload.
package staging
