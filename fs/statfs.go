package fs

import (
	"syscall"

	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/fs/internal/names"
)

// statfs tells how much may still be written: what the spool has room for. Programs look
// at it before they copy a file in.
func (f *FileSystem) statfs(out *fuse.StatfsOut) syscall.Errno {
	const block = 4096
	free, err := f.staging.spool.Free()
	if err != nil {
		return f.errnos.Of("statfs", "", err)
	}
	used, files := f.staging.spool.Usage()
	out.Bsize, out.Frsize, out.NameLen = block, block, names.Max
	out.Bfree = free / block
	out.Bavail = out.Bfree
	out.Blocks = out.Bfree + uint64(max(used, 0))/block + 1
	out.Files = uint64(max(files, 0)) + 1<<20
	out.Ffree = 1 << 20
	return 0
}
