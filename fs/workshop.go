package fs

import (
	"slices"
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/errno"
)

// workshops are directories in which programs keep what is their own: all of it would become
// folders and final documents. A name that people give to folders is none of these, as CVS is not.
var workshops = []string{
	".git", ".svn", ".hg", ".bzr", "_darcs", ".jj", // version control
	".idea", ".vscode", ".vs", // development environments
	"node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".terraform", // packages, builds
}

// mayBeFolder refuses to make a folder at the service, or to call one so, that is a program's
// workshop.
func mayBeFolder(name string) error {
	if !slices.Contains(workshops, name) {
		return nil
	}
	return errno.Refuse(syscall.EPERM, "a program keeps for itself what is in a directory called "+name+", and all of it would be archived for good: work in a directory of this machine")
}
