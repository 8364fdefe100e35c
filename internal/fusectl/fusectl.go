// Package fusectl makes and ends connections between the kernel and the processes behind FUSE mounts, and lists
// what is mounted.
package fusectl

import "errors"

// ErrNone says that the kernel's list of connections does not have the one that is asked for, or
// cannot be reached.
var ErrNone = errors.New("no such FUSE connection")

// ErrNoHelper says that there is no fusermount3, which mounts for those who may not.
var ErrNoHelper = errors.New("the program fusermount3 is missing")
