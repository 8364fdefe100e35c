package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
)

// checkMountpoint makes sure that something can be mounted at dir without hiding what is
// in it, unless nonempty allows that. What a killed process left behind is cleared away.
func checkMountpoint(ctx context.Context, dir string, nonempty bool) error {
	if isStale(dir) {
		if err := detachMount(ctx, dir); err != nil {
			return err
		}
	}
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return fmt.Errorf("there is no directory %s to mount at; make it first: mkdir -p %s", dir, dir)
	case err != nil:
		return fmt.Errorf("mount point: %w", err)
	case !info.IsDir():
		return fmt.Errorf("%s is not a directory; name one to mount at", dir)
	}
	if _, _, err := readStatus(dir); err == nil {
		return fmt.Errorf("an archive is mounted at %s already; unmount it first: archivefs unmount %s", dir, dir)
	}
	if nonempty {
		return nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return fmt.Errorf("mount point: %w", err)
	}
	if slices.ContainsFunc(entries, isSomebodys) {
		return fmt.Errorf("%s is not empty, and a mount would hide what is in it; name an empty directory, or hide it with -o nonempty", dir)
	}
	return nil
}

// isSomebodys reports whether an entry of a mount point would be missed. What desktops leave
// in every directory that they show would not, and neither would what bears the name of
// the control directory.
func isSomebodys(e os.DirEntry) bool {
	return !slices.Contains([]string{".DS_Store", ".localized", ".directory", ".archivefs"}, e.Name())
}
