package main

import "runtime"

// unmounter is the command that unmounts dir without privileges (fusermount3(1), on macOS umount(8));
// lazily, also while files are open.
func unmounter(lazily bool, dir string) []string {
	switch {
	case runtime.GOOS == "darwin" && lazily:
		return []string{"umount", "-f", dir}
	case runtime.GOOS == "darwin":
		return []string{"umount", dir}
	case lazily:
		return []string{"fusermount3", "-uz", dir}
	}
	return []string{"fusermount3", "-u", dir}
}
