package names

import (
	"slices"
	"strings"
	"syscall"
)

// junkDirs are directories that desktops make for themselves. They and all below them
// stay on this machine. Each was seen in a trace of the program that makes it.
var junkDirs = []string{
	".Trash-*",        // freedesktop.org trash on a mounted volume
	".Trashes",        // Finder
	".Spotlight-V100", // Spotlight index
	".fseventsd",      // macOS file system events
	".sh_thumbnails",  // shared thumbnails
}

// junkFiles are names of files that are never documents: what desktops leave in folders,
// and what programs write before they rename it to the name that the user meant.
var junkFiles = []string{
	".DS_Store", "._*", ".directory", ".hidden", // Finder, Dolphin, file managers
	".~lock.*#", "~$*", "lu*.tmp", // LibreOffice, Microsoft Office
	"*.part", "*.crdownload", "*.download", ".org.chromium.Chromium.*", // browsers, Dolphin
	".goutputstream-*", // gio
	"*.swp", "*~",      // vim, editors
	".fuse_hidden*", // libfuse
	"*.trashinfo*",  // trash
}

// junkAnyCase are junk names that Windows programs write in any case.
var junkAnyCase = []string{"thumbs.db", "desktop.ini"}

// workshops are directories in which programs keep what is their own: all of it would become
// folders and final documents. A name that people give to folders is none of these, as CVS is not.
var workshops = []string{
	".git", ".svn", ".hg", ".bzr", "_darcs", ".jj", // version control
	".idea", ".vscode", ".vs", // development environments
	"node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".terraform", // packages, builds
}

// IsWorkshop reports whether a program keeps what is its own in a directory of that name.
func IsWorkshop(name string) bool { return slices.Contains(workshops, name) }

// IsJunkDir reports whether a directory of that name, and all below it, stays local.
func IsJunkDir(name string) bool { return matches(junkDirs, name) }

// IsJunk reports whether a file created under that name stays local until it is renamed, in
// whichever way it is made.
func IsJunk(name string) bool {
	lower := strings.ToLower(name)
	for _, n := range junkAnyCase {
		if lower == n {
			return true
		}
	}
	return matches(junkFiles, name) || IsJunkDir(name) || isNoWord(tempSuffix(name))
}

// Some programs have mkstemp(3) make a name for what they rename later. Its six characters can be
// those of a word, as in .bashrc.backup or zinssatz, so that such a name says something only
// together with the way in which the file is made, or when they are no word.

// tempPrefixes stand before the six characters; rsync puts them behind ".NAME.".
var tempPrefixes = []string{"sed", "zi"} // sed -i, zip

// tempSuffix is what mkstemp would have made of a name, empty where no program calls a file so.
func tempSuffix(name string) string {
	at := len(name) - 6
	if at < 2 || !alnum(name[at:]) {
		return ""
	}
	prefix := name[:at]
	if slices.Contains(tempPrefixes, prefix) || len(prefix) > 2 && prefix[0] == '.' && prefix[at-1] == '.' {
		return name[at:]
	}
	return ""
}

// IsMkstemp reports whether a file is made as mkstemp does it, under a name that it makes. What
// copies a file opens it for writing alone.
func IsMkstemp(name string, flags, mode uint32) bool {
	const how = syscall.O_RDWR | syscall.O_CREAT | syscall.O_EXCL
	return tempSuffix(name) != "" && flags&how == how && mode&0o777&^0o600 == 0
}

// isNoWord reports whether letters of both cases and digits follow each other in a way in which
// nobody writes: they change three times or more.
func isNoWord(s string) bool {
	changes := 0
	for i := 1; i < len(s); i++ {
		if kindOf(s[i]) != kindOf(s[i-1]) {
			changes++
		}
	}
	return changes >= 3
}

// kindOf tells digits, capitals and small letters apart.
func kindOf(c byte) int {
	switch {
	case c <= '9':
		return 0
	case c <= 'Z':
		return 1
	}
	return 2
}

func alnum(s string) bool {
	for i := range len(s) {
		c := s[i]
		if (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// match reports whether a name is as a pattern says, in which * stands for any text. Every name
// that is looked up is compared with all patterns, for which path.Match takes too long.
func match(pattern, name string) bool {
	part, pattern, wild := strings.Cut(pattern, "*")
	if !wild {
		return name == part
	}
	name, found := strings.CutPrefix(name, part)
	for found && wild {
		if part, pattern, wild = strings.Cut(pattern, "*"); wild {
			_, name, found = strings.Cut(name, part)
		}
	}
	return found && strings.HasSuffix(name, part)
}
