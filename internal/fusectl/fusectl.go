// Package fusectl aborts connections between the kernel and the processes behind FUSE mounts.
package fusectl

import "errors"

// ErrNone says that the kernel's list of connections does not have the one that is asked for, or
// cannot be reached.
var ErrNone = errors.New("no such FUSE connection")
