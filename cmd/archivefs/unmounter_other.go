//go:build !darwin

package main

// unmounter is the command that unmounts dir without privileges (fusermount3(1)); lazily,
// also while files are open.
func unmounter(lazily bool, dir string) []string {
	if lazily {
		return []string{"fusermount3", "-uz", dir}
	}
	return []string{"fusermount3", "-u", dir}
}
