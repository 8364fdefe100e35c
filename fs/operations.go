package fs

import (
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"
)

// OperationTimes are how long requests of the kernel took, by operation, until they were answered. What
// the kernel answers itself is not among them.
type OperationTimes struct {
	Operation string
	Times     [len(operationBounds) + 1]int64 // Times[i] took at most OperationBounds()[i]; the last one longer than all
	Sum       time.Duration
}

// operationBounds are the upper bounds of OperationTimes.Times. The shortest are of answers from memory.
var operationBounds = [...]time.Duration{
	100 * time.Microsecond, 500 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond,
	50 * time.Millisecond, 100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
	time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second,
}

// OperationBounds returns the upper bounds of OperationTimes.Times.
func OperationBounds() []time.Duration { return operationBounds[:] }

// operation is a request of the kernel that is timed.
type operation int

const (
	opLookup operation = iota
	opGetattr
	opStatx
	opSetattr
	opReaddir
	opReaddirplus
	opOpendir
	opOpen
	opCreate
	opRead
	opWrite
	opFlush
	opFsync
	opRelease
	opMkdir
	opUnlink
	opRmdir
	opRename
	opGetxattr
	opSetxattr

	operations int = iota
)

// operationNames are those of the kernel (fuse(4)).
var operationNames = [operations]string{
	"LOOKUP", "GETATTR", "STATX", "SETATTR", "READDIR", "READDIRPLUS", "OPENDIR", "OPEN", "CREATE", "READ", "WRITE", "FLUSH",
	"FSYNC", "RELEASE", "MKDIR", "UNLINK", "RMDIR", "RENAME", "GETXATTR", "SETXATTR",
}

// clocks count how long requests take. It costs two looks at the clock and two additions for each.
type clocks [operations]struct {
	times [len(operationBounds) + 1]atomic.Int64
	sum   atomic.Int64
}

// took counts a request that began at that time and ends now.
func (c *clocks) took(op operation, began time.Time) {
	took := time.Since(began)
	i := 0
	for i < len(operationBounds) && took > operationBounds[i] {
		i++
	}
	c[op].times[i].Add(1)
	c[op].sum.Add(int64(took))
}

// OperationTimes returns the times of the operations that there were. There are none without
// Options.Times.
func (f *FileSystem) OperationTimes() []OperationTimes {
	var all []OperationTimes
	for op := range f.clocks {
		o, count := OperationTimes{Operation: operationNames[op], Sum: time.Duration(f.clocks[op].sum.Load())}, int64(0)
		for i := range o.Times {
			o.Times[i] = f.clocks[op].times[i].Load()
			count += o.Times[i]
		}
		if count > 0 {
			all = append(all, o)
		}
	}
	return all
}

// timed is a file system whose requests are timed. Those that the mount refuses, such as SYMLINK, and those that
// need no more than memory are not.
type timed struct {
	fuse.RawFileSystem
	*clocks
}

func (t timed) Lookup(cancel <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	defer t.took(opLookup, time.Now())
	return t.RawFileSystem.Lookup(cancel, header, name, out)
}

func (t timed) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	defer t.took(opGetattr, time.Now())
	return t.RawFileSystem.GetAttr(cancel, in, out)
}

func (t timed) Statx(cancel <-chan struct{}, in *fuse.StatxIn, out *fuse.StatxOut) fuse.Status {
	defer t.took(opStatx, time.Now())
	return t.RawFileSystem.Statx(cancel, in, out)
}

func (t timed) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	defer t.took(opSetattr, time.Now())
	return t.RawFileSystem.SetAttr(cancel, in, out)
}

func (t timed) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	defer t.took(opReaddir, time.Now())
	return t.RawFileSystem.ReadDir(cancel, in, out)
}

func (t timed) ReadDirPlus(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	defer t.took(opReaddirplus, time.Now())
	return t.RawFileSystem.ReadDirPlus(cancel, in, out)
}

func (t timed) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	defer t.took(opOpendir, time.Now())
	return t.RawFileSystem.OpenDir(cancel, in, out)
}

func (t timed) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	defer t.took(opOpen, time.Now())
	return t.RawFileSystem.Open(cancel, in, out)
}

func (t timed) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	defer t.took(opCreate, time.Now())
	return t.RawFileSystem.Create(cancel, in, name, out)
}

func (t timed) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	defer t.took(opRead, time.Now())
	return t.RawFileSystem.Read(cancel, in, buf)
}

func (t timed) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	defer t.took(opWrite, time.Now())
	return t.RawFileSystem.Write(cancel, in, data)
}

func (t timed) Writev(cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	defer t.took(opWrite, time.Now())
	return t.RawFileSystem.Writev(cancel, in, data)
}

func (t timed) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	defer t.took(opFlush, time.Now())
	return t.RawFileSystem.Flush(cancel, in)
}

func (t timed) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	defer t.took(opFsync, time.Now())
	return t.RawFileSystem.Fsync(cancel, in)
}

func (t timed) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	defer t.took(opRelease, time.Now())
	t.RawFileSystem.Release(cancel, in)
}

func (t timed) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	defer t.took(opMkdir, time.Now())
	return t.RawFileSystem.Mkdir(cancel, in, name, out)
}

func (t timed) Unlink(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	defer t.took(opUnlink, time.Now())
	return t.RawFileSystem.Unlink(cancel, header, name)
}

func (t timed) Rmdir(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	defer t.took(opRmdir, time.Now())
	return t.RawFileSystem.Rmdir(cancel, header, name)
}

func (t timed) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	defer t.took(opRename, time.Now())
	return t.RawFileSystem.Rename(cancel, in, from, to)
}

func (t timed) GetXAttr(cancel <-chan struct{}, header *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	defer t.took(opGetxattr, time.Now())
	return t.RawFileSystem.GetXAttr(cancel, header, attr, dest)
}

func (t timed) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	defer t.took(opSetxattr, time.Now())
	return t.RawFileSystem.SetXAttr(cancel, in, attr, data)
}
