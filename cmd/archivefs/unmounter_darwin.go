package main

// unmounter is the command that unmounts dir (umount(8)); lazily, also while files are open.
func unmounter(lazily bool, dir string) []string {
	if lazily {
		return []string{"umount", "-f", dir}
	}
	return []string{"umount", dir}
}
