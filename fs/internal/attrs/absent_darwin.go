package attrs

import "syscall"

// ErrAbsent is the errno for an attribute that is not there.
const ErrAbsent = syscall.ENOATTR
