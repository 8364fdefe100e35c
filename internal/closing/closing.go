// Package closing finds out what it means that a program closed a descriptor of a file in a FUSE mount: whether it was
// the last one, or the end of a program that was killed. FUSE sends FLUSH at every close of every duplicate, so this
// looks at the process. It also reports whether a process that waits was killed.
package closing

// Meaning is what the close of a descriptor means, as far as can be found out about the process that closed it.
type Meaning uint8

const (
	// Last says that the process that opened the file closed its last descriptor of it.
	Last Meaning = iota
	// More says that the process that opened the file, or one that it has started, holds it open.
	More
	// Inherited says that the process that opened the file closed its last descriptor, and one that
	// it has started holds the file open. The end shows at release.
	Inherited
	// Killed says that a signal killed the process; the file is what it had got to.
	Killed
	// Stopped says that the process is an rsync that was stopped, and keeps what it had got to.
	Stopped
	// Unknown says that the process is inside execve, or still has the file mapped, or that another
	// process than the opener closed it, perhaps as the last one. The end shows at release.
	Unknown
	// Unseen says that the process cannot be looked at (Mounts.Unseen): it may have been killed. The end shows
	// at release.
	Unseen
)
