package attrs

import "syscall"

// ErrAbsent is the errno for an attribute that does not exist.
const ErrAbsent = syscall.ENOATTR
