package fs

// closing says what the close of a descriptor means, as far as can be found out about the
// process that closed it.
type closing uint8

const (
	// closeLast: the process that opened the file closed its last descriptor of it.
	closeLast closing = iota
	// closeMore: other descriptors of the file are open, or another process opened it.
	closeMore
	// closeInherited: the process that opened the file closed its last descriptor, and what
	// it has started holds the file open; the end shows at release.
	closeInherited
	// closeKilled: a signal killed the process; the file is what it had got to.
	closeKilled
	// closeUnknown: the process cannot be looked at, it is about to become another program
	// (execve), or it still has the file mapped, so the end shows at release.
	closeUnknown
)
