package cache

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// The directory says that what is made in it need not lie near it, and keeps what else it says.
func TestContentCacheIsSpread(t *testing.T) {
	dir := t.TempDir()
	before, err := flagsOf(dir)
	if err != nil || spread(t.TempDir()) != nil {
		t.Skip("the file system chooses by itself")
	}
	c, err := OpenContent(Options{Dir: dir, Limit: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Close(); err != nil {
		t.Fatal(err)
	}
	if after, err := flagsOf(dir); err != nil || after != before|topDir {
		t.Errorf("flags were %#x and are %#x, %v", before, after, err)
	}
}

func flagsOf(dir string) (uint32, error) {
	d, err := os.Open(dir)
	if err != nil {
		return 0, err
	}
	defer d.Close() //nolint:errcheck // nothing was written
	return unix.IoctlGetUint32(int(d.Fd()), unix.FS_IOC_GETFLAGS)
}
