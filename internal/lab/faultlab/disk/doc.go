// Package disk is a forgetful disk: a file system in memory that keeps through a crash of
// the machine what POSIX promises to be kept, and no more.
//
// # What survives
//
// The content of a file, its length included, survives once the file was synced (fsync,
// fdatasync). An entry of a directory - made, renamed or removed - survives once that
// directory was synced; to sync the file makes its name no more durable. A rename is one
// change: it happened or it did not, also between two directories, where a sync of either
// makes it durable.
//
// Everything else lies in a volatile layer that Crash drops. Of what it drops some may
// have reached the medium all the same, in any order, because a disk may write back what it
// likes when it likes: a random subset of the changed entries, a random subset of a file's
// writes, the last of them torn, or only a file's new length with zeros or garbage behind
// it. File systems in use are kinder (a journal keeps the order of entries). A program
// that is right here does not depend on their kindness.
//
// A sync that fails loses what it should have made durable: the bytes stay readable, and no
// later sync writes them, as the page cache of Linux does it.
//
// # How it is used
//
// Mount shows the disk to programs; Fail makes operations fail by plan. A crash of the
// machine is: end the programs, unmount, Crash, mount again. It is in memory and not a
// directory passed through, so that the disk under the test cannot add promises of its own.
//
// # Locks
//
// Disk.mu guards everything; nothing is called out to while it is held.
package disk
