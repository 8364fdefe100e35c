package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/doctor"
)

// detachMount takes a mount out of sight also while files of it are open. It does not leave
// that half done when ctx ends.
func detachMount(ctx context.Context, dir string) error {
	return fusermount(context.WithoutCancel(ctx), true, dir)
}

// fusermount calls the helper that unmounts without privileges.
func fusermount(ctx context.Context, lazily bool, dir string) error {
	mount := behindLinks(dir) // the helper follows none
	if !strings.HasPrefix(mount, "/") {
		mount = "./" + mount
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	command := unmounter(lazily, mount)
	out, err := exec.CommandContext(ctx, command[0], command[1:]...).CombinedOutput() //nolint:gosec // a path, as an argument
	switch {
	case err == nil:
		return nil
	case errors.Is(err, exec.ErrNotFound):
		return fmt.Errorf("unmount %s: %w; %s", dir, fs.ErrNoHelper, doctor.InstallHelper)
	}
	return refusal(dir, strings.Join(strings.Fields(string(out)), " "), err)
}

// refusal turns what fusermount3 said into a sentence that names the cure. It has no exit
// statuses of its own, so that its words must do.
func refusal(dir, said string, err error) error {
	switch {
	case strings.Contains(said, "busy"):
		return fmt.Errorf("a program has files in %s open, or is in it; fuser -vm %s (package psmisc) shows which: end it, or use unmount --force", dir, doctor.Quoted(dir))
	case strings.Contains(said, "not found in /etc/mtab"), strings.Contains(said, "not permitted"), strings.Contains(said, "ermission denied"):
		return fmt.Errorf("you did not mount %s: the user who did can unmount it, or root with umount %s", dir, doctor.Quoted(dir))
	case said != "":
		return fmt.Errorf("unmount %s: %s", dir, said)
	}
	return fmt.Errorf("unmount %s: %w", dir, err)
}
