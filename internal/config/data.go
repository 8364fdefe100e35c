package config

import (
	"fmt"
	"path/filepath"
)

// DataDir returns the absolute path of the directory in which the embedded service keeps its
// archive: dir, or, when that is empty, one in the XDG data home. A directory that holds other
// files is refused. Nothing is made.
func DataDir(dir string) (string, error) {
	if dir == "" {
		base, err := xdg("XDG_DATA_HOME", ".local/share", "data")
		if err != nil {
			return "", err
		}
		dir = filepath.Join(base, "archivefs")
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		return "", WrongOption("data", "%v", err)
	}
	foreign, err := holdsOthers(dir, "archive.db", "lock", "contents", "api-key")
	if err != nil {
		return "", fmt.Errorf("data directory: %w", err)
	}
	if foreign {
		return "", fmt.Errorf("%s is no archive of this program and not empty; name an empty or new directory with --data", dir)
	}
	return dir, nil
}
