//go:build !linux

package closing

// ThreadGroup returns the process itself: the kernel extension tells processes.
func ThreadGroup(pid uint32) int { return int(pid) }

// Program knows no names of programs.
func Program(int) (name string, parent int) { return "", 0 }

// Examine knows only which process closed: where descriptors of a process cannot be
// seen, the first close by the one that opened the file counts as the end.
func Examine(pid uint32, opener int, _ uint64, _ bool, _ *Mounts) Meaning {
	if int(pid) != opener {
		return More
	}
	return Last
}

// Doomed cannot tell.
func Doomed(uint32) bool { return false }

// Asked takes each signal for one that does: what waits ends with it.
func Asked(uint32) bool { return true }

// Finished cannot tell.
func Finished(uint32) bool { return false }

// Mounts has nothing to know where descriptors of other processes cannot be seen.
type Mounts struct{}

func (*Mounts) Learn(string) {}

// Unseen names no program: the kernel extension tells which process closes a file.
func (*Mounts) Unseen(bool) string { return "" }
