package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/archivefs/archivefs/fs"
)

func unmountCommand() *cli.Command {
	return &cli.Command{
		Name:      "unmount",
		Usage:     "unmount from another shell",
		ArgsUsage: "MOUNTPOINT",
		Description: "Waits for uploads in flight, unmounts, and returns when the mount's process has ended. --force waits for\n" +
			"nothing: what is in flight goes on in the background, and files that are still open fail.",
		Flags:        []cli.Flag{&cli.BoolFlag{Name: "force", Usage: "do not wait, also with files open"}},
		OnUsageError: usageError,
		Action:       unmount,
	}
}

func unmount(c *cli.Context) error {
	dir, err := onlyMountpoint(c)
	if err != nil {
		return err
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	_, status, err := readStatus(dir)
	switch {
	case err != nil && isStale(dir):
		return detachMount(dir)
	case err != nil:
		return err
	case c.Bool("force"):
		return detachMount(dir)
	}
	if err := waitForUploads(c.Context, dir, status); err != nil {
		return err
	}
	if err := fusermount(c.Context, "-u", dir); err != nil {
		return fmt.Errorf("a program still has files of it open, or is in it: end that, or use --force (%w)", err)
	}
	return waitForEnd(c.Context, status.PID)
}

// waitForUploads returns when the mount sends nothing any more.
func waitForUploads(ctx context.Context, dir string, status *fs.Status) error {
	var err error
	for status.Uploads.Sending > 0 {
		if err = pause(ctx); err != nil {
			return err
		}
		if _, status, err = readStatus(dir); err != nil {
			return err
		}
	}
	return nil
}

// waitForEnd returns when the process of the mount has ended, and its state directory is
// free, for as long as it may finish its work.
func waitForEnd(ctx context.Context, pid int) error {
	ctx, cancel := context.WithTimeout(ctx, drainFor)
	defer cancel()
	for pid > 1 && syscall.Kill(pid, 0) == nil && !isZombie(pid) {
		if pause(ctx) != nil {
			return fmt.Errorf("it is unmounted, but its process %d is still busy; see its log", pid)
		}
	}
	return nil
}

// isZombie reports whether a process has ended and only waits to be noticed by its parent.
func isZombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	return strings.HasPrefix(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " Z")
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(50 * time.Millisecond):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// isStale reports whether dir is a mount whose process is gone.
func isStale(dir string) bool {
	_, err := os.Stat(dir)
	return errors.Is(err, syscall.ENOTCONN)
}

// detachMount takes a mount out of sight also while files of it are open.
func detachMount(dir string) error { return fusermount(context.Background(), "-uz", dir) }

// fusermount calls the helper that unmounts without privileges (fusermount3(1)).
func fusermount(ctx context.Context, flag, dir string) error {
	if !strings.HasPrefix(dir, "/") {
		dir = "./" + dir
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, "fusermount3", flag, dir).CombinedOutput() //nolint:gosec // a path, as an argument
	if err != nil {
		if text := strings.TrimSpace(string(out)); text != "" {
			err = errors.New(text)
		}
		return fmt.Errorf("unmount %s: %w", dir, err)
	}
	return nil
}
