//go:build linux

package machine

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"
)

// Mounted returns the device of what is mounted at dir, "" when nothing is.
func Mounted(dir string) string {
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	device := ""
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.ReplaceAll(fields[4], `\040`, " ") == dir {
			device = fields[2]
		}
	}
	return device
}

// Unmount takes away what is mounted at dir. One that hangs is aborted, which ends its
// requests, and then detached.
func Unmount(ctx context.Context, dir string) error {
	if Mounted(dir) == "" {
		return nil
	}
	env := []string{"DIR=" + dir}
	_, err := Run(ctx, `fusermount3 -u "$DIR" || { sleep 1; fusermount3 -u "$DIR"; }`, env, time.Minute)
	device := Mounted(dir)
	if device == "" {
		return nil
	}
	_, minor, _ := strings.Cut(device, ":")
	_ = os.WriteFile("/sys/fs/fuse/connections/"+minor+"/abort", []byte("1"), 0)
	_, _ = Run(ctx, `umount -l "$DIR"`, env, 10*time.Second)
	return fmt.Errorf("%s hung and was aborted: %w", dir, err)
}

// DropCaches empties the page cache of the machine; only root can.
func DropCaches(ctx context.Context) error {
	_, err := Run(ctx, "sync", nil, time.Minute)
	if err != nil {
		return err
	}
	return os.WriteFile("/proc/sys/vm/drop_caches", []byte("3"), 0)
}
