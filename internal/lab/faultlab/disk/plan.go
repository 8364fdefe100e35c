package disk

import (
	"maps"
	"path"
	"syscall"
)

// Operation is something that can fail on a disk.
type Operation string

// The operations that can be made to fail.
const (
	Read     Operation = "read"
	Write    Operation = "write"
	Truncate Operation = "truncate"
	Sync     Operation = "sync"
	SyncDir  Operation = "syncdir"
	Make     Operation = "make"
	Rename   Operation = "rename"
	Remove   Operation = "remove"
)

// Fault makes operations fail.
type Fault struct {
	Op Operation
	// Name is a pattern (path.Match) of the last part of the file's name; empty for all.
	Name string
	// Nth is the first operation that fails, from 1; Times is how many do.
	Nth, Times int
	Errno      syscall.Errno
}

// planned is a fault at work.
type planned struct {
	Fault
	seen int
}

// Fail plans faults, beside those that are planned.
func (d *Disk) Fail(faults ...Fault) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, f := range faults {
		d.plan = append(d.plan, &planned{Fault: f})
	}
}

// Heal takes all faults back.
func (d *Disk) Heal() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.plan = nil
}

// Struck counts the faults that really struck, as "disk write ENOSPC".
func (d *Disk) Struck() map[string]int {
	d.mu.Lock()
	defer d.mu.Unlock()
	counts := make(map[string]int, len(d.struck))
	maps.Copy(counts, d.struck)
	return counts
}

// strikeLocked returns how an operation fails, 0 when it does not. The caller holds mu.
func (d *Disk) strikeLocked(op Operation, name string) syscall.Errno {
	errno := syscall.Errno(0)
	for _, f := range d.plan {
		if f.Op != op || !f.matches(name) {
			continue
		}
		f.seen++
		if f.seen >= f.Nth && f.seen < f.Nth+f.Times && errno == 0 {
			errno = f.Errno
		}
	}
	if errno != 0 {
		d.struck["disk "+string(op)+" "+errnoName(errno)]++
	}
	return errno
}

func (f *planned) matches(name string) bool {
	if f.Name == "" {
		return true
	}
	ok, err := path.Match(f.Name, name)
	return err == nil && ok
}

func errnoName(errno syscall.Errno) string {
	switch errno { // those that plans use
	case syscall.EIO:
		return "EIO"
	case syscall.ENOSPC:
		return "ENOSPC"
	}
	return errno.Error()
}
