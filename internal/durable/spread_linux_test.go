package durable_test

import (
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/internal/durable"
	"github.com/archivefs/archivefs/internal/spool"
)

// topDir is FS_TOPDIR_FL of linux/fs.h.
const topDir = 0x00020000

// The directory says that what is made in it need not lie near it, and keeps what else it says:
// also those of the content cache and of the spool.
func TestSpread(t *testing.T) {
	if _, err := flagsOf(t.TempDir()); err != nil || durable.Spread(t.TempDir()) != nil {
		t.Skip("the file system chooses by itself")
	}
	for name, open := range map[string]func(dir string) error{
		"by itself": durable.Spread,
		"content cache": func(dir string) error {
			c, err := cache.OpenContent(cache.Options{Dir: dir, Limit: 1})
			if err != nil {
				return err
			}
			return c.Close()
		},
		"spool": func(dir string) error {
			s, err := spool.Open(spool.Options{Dir: dir})
			if err != nil {
				return err
			}
			return s.Close()
		},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			before, err := flagsOf(dir)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := open(dir); err != nil {
					t.Fatal(err)
				}
			}
			if after, err := flagsOf(dir); err != nil || after != before|topDir {
				t.Errorf("flags were %#x and are %#x, %v", before, after, err)
			}
		})
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
