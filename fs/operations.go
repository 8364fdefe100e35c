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

// operations are those that are timed, by the kernel's names (fuse(4)).
var operations = [...]string{
	"LOOKUP", "GETATTR", "STATX", "SETATTR", "READDIR", "READDIRPLUS", "OPENDIR", "OPEN", "CREATE", "READ", "WRITE", "FLUSH",
	"FSYNC", "RELEASE", "MKDIR", "UNLINK", "RMDIR", "RENAME", "GETXATTR", "SETXATTR",
}

// clocks count how long requests take, by operation. The map is not changed once it is made.
type clocks map[string]*clock

type clock struct {
	times [len(operationBounds) + 1]atomic.Int64
	sum   atomic.Int64
}

func newClocks() clocks {
	c := clocks{}
	for _, op := range operations {
		c[op] = &clock{}
	}
	return c
}

// took counts a request that began at that time and ends now.
func (c clocks) took(op string, began time.Time) {
	took := time.Since(began)
	i := 0
	for i < len(operationBounds) && took > operationBounds[i] {
		i++
	}
	c[op].times[i].Add(1)
	c[op].sum.Add(int64(took))
}

// OperationTimes returns the times of the operations that there were. There are none without Options.Times.
func (f *FileSystem) OperationTimes() []OperationTimes {
	var all []OperationTimes
	for _, op := range operations {
		clock := f.clocks[op]
		o, count := OperationTimes{Operation: op, Sum: time.Duration(clock.sum.Load())}, int64(0)
		for i := range o.Times {
			o.Times[i] = clock.times[i].Load()
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
	clocks
}

func (t timed) Lookup(cancel <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	defer t.took("LOOKUP", time.Now())
	return t.RawFileSystem.Lookup(cancel, header, name, out)
}

func (t timed) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	defer t.took("GETATTR", time.Now())
	return t.RawFileSystem.GetAttr(cancel, in, out)
}

func (t timed) Statx(cancel <-chan struct{}, in *fuse.StatxIn, out *fuse.StatxOut) fuse.Status {
	defer t.took("STATX", time.Now())
	return t.RawFileSystem.Statx(cancel, in, out)
}

func (t timed) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	defer t.took("SETATTR", time.Now())
	return t.RawFileSystem.SetAttr(cancel, in, out)
}

func (t timed) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	defer t.took("READDIR", time.Now())
	return t.RawFileSystem.ReadDir(cancel, in, out)
}

func (t timed) ReadDirPlus(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	defer t.took("READDIRPLUS", time.Now())
	return t.RawFileSystem.ReadDirPlus(cancel, in, out)
}

func (t timed) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	defer t.took("OPENDIR", time.Now())
	return t.RawFileSystem.OpenDir(cancel, in, out)
}

func (t timed) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	defer t.took("OPEN", time.Now())
	return t.RawFileSystem.Open(cancel, in, out)
}

func (t timed) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	defer t.took("CREATE", time.Now())
	return t.RawFileSystem.Create(cancel, in, name, out)
}

func (t timed) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (fuse.ReadResult, fuse.Status) {
	defer t.took("READ", time.Now())
	return t.RawFileSystem.Read(cancel, in, buf)
}

func (t timed) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	defer t.took("WRITE", time.Now())
	return t.RawFileSystem.Write(cancel, in, data)
}

func (t timed) Writev(cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	defer t.took("WRITE", time.Now())
	return t.RawFileSystem.Writev(cancel, in, data)
}

func (t timed) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	defer t.took("FLUSH", time.Now())
	return t.RawFileSystem.Flush(cancel, in)
}

func (t timed) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	defer t.took("FSYNC", time.Now())
	return t.RawFileSystem.Fsync(cancel, in)
}

func (t timed) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	defer t.took("RELEASE", time.Now())
	t.RawFileSystem.Release(cancel, in)
}

func (t timed) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	defer t.took("MKDIR", time.Now())
	return t.RawFileSystem.Mkdir(cancel, in, name, out)
}

func (t timed) Unlink(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	defer t.took("UNLINK", time.Now())
	return t.RawFileSystem.Unlink(cancel, header, name)
}

func (t timed) Rmdir(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	defer t.took("RMDIR", time.Now())
	return t.RawFileSystem.Rmdir(cancel, header, name)
}

func (t timed) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	defer t.took("RENAME", time.Now())
	return t.RawFileSystem.Rename(cancel, in, from, to)
}

func (t timed) GetXAttr(cancel <-chan struct{}, header *fuse.InHeader, attr string, dest []byte) (uint32, fuse.Status) {
	defer t.took("GETXATTR", time.Now())
	return t.RawFileSystem.GetXAttr(cancel, header, attr, dest)
}

func (t timed) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	defer t.took("SETXATTR", time.Now())
	return t.RawFileSystem.SetXAttr(cancel, in, attr, data)
}
