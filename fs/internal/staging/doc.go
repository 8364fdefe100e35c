// Package staging is what waits on this machine for the archive: a File that is written, with the Handles
// through which that happens, and the folders that are made later. Each is an upload of the spool.
//
// What becomes of the bytes of a file is one state machine (phase.go). delivery turns them into a
// document, in the close that ends the file or in the queue; placing shows in the tree what waits;
// queuedFolders are the folders. recovery.go takes up what an earlier mount left, decisions.go does what
// a person decides about an upload.
package staging
