package fs

import (
	"sync/atomic"
	"time"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/node"
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

// OperationTimes returns the times of the operations that there were.
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

// requests are those of the kernel, on their way to the nodes.
type requests struct {
	fuse.RawFileSystem
	clocks
}

// read answers a request that changes nothing: a second time if a signal has interrupted it, unless the signal is to
// end what its program does. The kernel interrupts a request for any signal, such as those of timers, of a terminal that
// changes its size or of Go's scheduler, and most programs do not expect EINTR of a disk.
func (r requests) read(op string, cancel <-chan struct{}, caller fuse.Caller, answer func(cancel <-chan struct{}) fuse.Status) fuse.Status {
	defer r.took(op, time.Now())
	status := answer(cancel)
	if status == fuse.EINTR {
		ctx, stop := node.WhileWaiting(&fuse.Context{Caller: caller, Cancel: cancel})
		defer stop()
		status = answer(ctx.Done())
	}
	return status
}

// Lookup also lets nodes return negative entries, each with its own timeout. The library has one timeout for all of them.
func (r requests) Lookup(cancel <-chan struct{}, header *fuse.InHeader, name string, out *fuse.EntryOut) fuse.Status {
	return r.read("LOOKUP", cancel, header.Caller, func(cancel <-chan struct{}) fuse.Status {
		status := r.RawFileSystem.Lookup(cancel, header, name, out)
		if status == fuse.ENOENT && out.EntryTimeout() > 0 {
			return fuse.OK // node 0
		}
		return status
	})
}

func (r requests) GetAttr(cancel <-chan struct{}, in *fuse.GetAttrIn, out *fuse.AttrOut) fuse.Status {
	return r.read("GETATTR", cancel, in.Caller, func(cancel <-chan struct{}) fuse.Status { return r.RawFileSystem.GetAttr(cancel, in, out) })
}

func (r requests) Statx(cancel <-chan struct{}, in *fuse.StatxIn, out *fuse.StatxOut) fuse.Status {
	return r.read("STATX", cancel, in.Caller, func(cancel <-chan struct{}) fuse.Status { return r.RawFileSystem.Statx(cancel, in, out) })
}

func (r requests) SetAttr(cancel <-chan struct{}, in *fuse.SetAttrIn, out *fuse.AttrOut) fuse.Status {
	defer r.took("SETATTR", time.Now())
	return r.RawFileSystem.SetAttr(cancel, in, out)
}

func (r requests) ReadDir(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return r.read("READDIR", cancel, in.Caller, func(cancel <-chan struct{}) fuse.Status { return r.RawFileSystem.ReadDir(cancel, in, out) })
}

func (r requests) ReadDirPlus(cancel <-chan struct{}, in *fuse.ReadIn, out *fuse.DirEntryList) fuse.Status {
	return r.read("READDIRPLUS", cancel, in.Caller, func(cancel <-chan struct{}) fuse.Status { return r.RawFileSystem.ReadDirPlus(cancel, in, out) })
}

func (r requests) OpenDir(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return r.read("OPENDIR", cancel, in.Caller, func(cancel <-chan struct{}) fuse.Status { return r.RawFileSystem.OpenDir(cancel, in, out) })
}

func (r requests) Open(cancel <-chan struct{}, in *fuse.OpenIn, out *fuse.OpenOut) fuse.Status {
	return r.read("OPEN", cancel, in.Caller, func(cancel <-chan struct{}) fuse.Status { return r.RawFileSystem.Open(cancel, in, out) })
}

func (r requests) Create(cancel <-chan struct{}, in *fuse.CreateIn, name string, out *fuse.CreateOut) fuse.Status {
	defer r.took("CREATE", time.Now())
	return r.RawFileSystem.Create(cancel, in, name, out)
}

func (r requests) Read(cancel <-chan struct{}, in *fuse.ReadIn, buf []byte) (result fuse.ReadResult, status fuse.Status) {
	status = r.read("READ", cancel, in.Caller, func(cancel <-chan struct{}) (status fuse.Status) {
		result, status = r.RawFileSystem.Read(cancel, in, buf)
		return status
	})
	return result, status
}

func (r requests) Write(cancel <-chan struct{}, in *fuse.WriteIn, data []byte) (uint32, fuse.Status) {
	defer r.took("WRITE", time.Now())
	return r.RawFileSystem.Write(cancel, in, data)
}

func (r requests) Writev(cancel <-chan struct{}, in *fuse.WriteIn, data [][]byte) (uint32, fuse.Status) {
	defer r.took("WRITE", time.Now())
	return r.RawFileSystem.Writev(cancel, in, data)
}

func (r requests) Flush(cancel <-chan struct{}, in *fuse.FlushIn) fuse.Status {
	defer r.took("FLUSH", time.Now())
	return r.RawFileSystem.Flush(cancel, in)
}

func (r requests) Fsync(cancel <-chan struct{}, in *fuse.FsyncIn) fuse.Status {
	defer r.took("FSYNC", time.Now())
	return r.RawFileSystem.Fsync(cancel, in)
}

func (r requests) Release(cancel <-chan struct{}, in *fuse.ReleaseIn) {
	defer r.took("RELEASE", time.Now())
	r.RawFileSystem.Release(cancel, in)
}

func (r requests) Mkdir(cancel <-chan struct{}, in *fuse.MkdirIn, name string, out *fuse.EntryOut) fuse.Status {
	defer r.took("MKDIR", time.Now())
	return r.RawFileSystem.Mkdir(cancel, in, name, out)
}

func (r requests) Unlink(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	defer r.took("UNLINK", time.Now())
	return r.RawFileSystem.Unlink(cancel, header, name)
}

func (r requests) Rmdir(cancel <-chan struct{}, header *fuse.InHeader, name string) fuse.Status {
	defer r.took("RMDIR", time.Now())
	return r.RawFileSystem.Rmdir(cancel, header, name)
}

func (r requests) Rename(cancel <-chan struct{}, in *fuse.RenameIn, from, to string) fuse.Status {
	defer r.took("RENAME", time.Now())
	return r.RawFileSystem.Rename(cancel, in, from, to)
}

func (r requests) GetXAttr(cancel <-chan struct{}, header *fuse.InHeader, attr string, dest []byte) (size uint32, status fuse.Status) {
	status = r.read("GETXATTR", cancel, header.Caller, func(cancel <-chan struct{}) (status fuse.Status) {
		size, status = r.RawFileSystem.GetXAttr(cancel, header, attr, dest)
		return status
	})
	return size, status
}

func (r requests) SetXAttr(cancel <-chan struct{}, in *fuse.SetXAttrIn, attr string, data []byte) fuse.Status {
	defer r.took("SETXATTR", time.Now())
	return r.RawFileSystem.SetXAttr(cancel, in, attr, data)
}
