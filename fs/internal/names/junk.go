package names

import (
	"slices"
	"strings"
	"syscall"
)

// junkDirs are directories that desktops make for themselves. They and everything below stay on
// this machine. Each was seen in a trace of its program.
var junkDirs = []string{
	".Trash-*",        // freedesktop.org trash on a mounted volume
	".Trashes",        // Finder
	".Spotlight-V100", // Spotlight index
	".fseventsd",      // macOS file system events
	".sh_thumbnails",  // shared thumbnails
}

// junkFiles are names of files that are never documents: desktops leave them in folders, or
// programs write them and then rename them to their real name.
var junkFiles = []string{
	".DS_Store", "._*", ".directory", ".hidden", // Finder, Dolphin, file managers
	".~lock.*#", "lu*.tmp", // LibreOffice
	"~$*", "~WR*.tmp", "ppt*.tmp", // Microsoft Office; Excel's have eight digits
	"*.part", "*.crdownload", "*.download", ".org.chromium.Chromium.*", // browsers, Dolphin
	".goutputstream-*", // gio
	"*.swp", "*~",      // vim, editors
	".fuse_hidden*", // libfuse
	"*.trashinfo*",  // trash
}

// junkAnyCase are names of junk that Windows programs write in upper, lower or mixed case.
var junkAnyCase = []string{"thumbs.db", "desktop.ini"}

// workshops are directories of programs' own files, which would all become folders and final
// documents. Names that people also give to folders, such as CVS, are left out.
var workshops = []string{
	".git", ".svn", ".hg", ".bzr", "_darcs", ".jj", // version control
	".idea", ".vscode", ".vs", // development environments
	"node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".terraform", // packages, builds
}

// IsWorkshop reports whether programs keep their own files in a directory of that name.
func IsWorkshop(name string) bool { return slices.Contains(workshops, name) }

// IsJunkDir reports whether a directory of that name, and everything below it, stays local.
func IsJunkDir(name string) bool { return matches(junkDirs, name) }

// IsJunk reports whether a file of that name stays local until it is renamed, however it is
// created.
func IsJunk(name string) bool {
	lower := strings.ToLower(name)
	for _, n := range junkAnyCase {
		if lower == n {
			return true
		}
	}
	return matches(junkFiles, name) || IsJunkDir(name) || isNoWord(tempSuffix(name)) || isExcelTemp(name)
}

// isExcelTemp reports whether Excel writes a workbook under this name, or takes the old one out of the
// way: eight hexadecimal digits, with .tmp or without. Numbers of invoices have letters only in front
// or at the end, so without .tmp it has to be another one.
func isExcelTemp(name string) bool {
	digits, aside := strings.CutSuffix(name, ".tmp")
	return len(digits) == 8 && strings.Trim(digits, "0123456789ABCDEF") == "" && (aside || changesOfKind(digits) >= 2)
}

// Some programs write to a file with a name of mkstemp(3) and rename it later. Its six characters
// can look like a word, as in .bashrc.backup or zinssatz. So such a name counts only if the file is
// also created as mkstemp does it, or if the characters are no word.

// tempPrefixes are the prefixes of the six characters; rsync puts them behind ".NAME.".
var tempPrefixes = []string{"sed", "zi"} // sed -i, zip

// tempSuffix returns the six characters that mkstemp made of a name, empty if no program uses such
// names.
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

// IsMkstemp reports whether a file is created as mkstemp does it, with a name that mkstemp makes.
// Copying programs open files for writing only.
func IsMkstemp(name string, flags, mode uint32) bool {
	const how = syscall.O_RDWR | syscall.O_CREAT | syscall.O_EXCL
	return tempSuffix(name) != "" && flags&how == how && mode&0o777&^0o600 == 0
}

// isNoWord reports whether upper case, lower case and digits alternate as in no word: three times
// or more.
func isNoWord(s string) bool { return changesOfKind(s) >= 3 }

// changesOfKind counts where a character is of another kind than the one before it.
func changesOfKind(s string) (changes int) {
	for i := 1; i < len(s); i++ {
		if kindOf(s[i]) != kindOf(s[i-1]) {
			changes++
		}
	}
	return changes
}

// kindOf distinguishes digits, capitals and small letters.
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

// match reports whether a name matches a pattern, in which * stands for any text. Every lookup
// compares the name with all patterns, for which path.Match is too slow.
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
