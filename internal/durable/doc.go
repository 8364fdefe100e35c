// Package durable publishes files so that a reader, and a start after a crash of the
// program or of the machine, finds either the whole file or none: the bytes go to a
// temporary file in the target's directory, are synced, renamed to their name, and the
// directory is synced (rename(2), fsync(2)).
//
// Temporary files are named .tmp-* and readable by their owner alone; what a crash left
// of them is removed by Sweep. An error after the rename says that the name may be gone
// again after a crash of the machine, not that the file is incomplete.
//
// OpenFile and RenameUnsynced spare system calls where small files are made one after the other.
//
// LockDir keeps other processes out of a directory.
package durable
