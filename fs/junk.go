package fs

import (
	"slices"
	"strings"
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
	"sed??????",     // sed -i
	"zi??????",      // zip
}

// junkAnyCase are junk names that Windows programs write in any case.
var junkAnyCase = []string{"thumbs.db", "desktop.ini"}

// isJunkDir reports whether a directory of that name, and all below it, stays local.
func isJunkDir(name string) bool { return matches(junkDirs, name) }

// isJunk reports whether a file created under that name stays local until it is renamed.
func isJunk(name string) bool {
	lower := strings.ToLower(name)
	for _, n := range junkAnyCase {
		if lower == n {
			return true
		}
	}
	return matches(junkFiles, name) || isRsyncTemp(name) || isJunkDir(name)
}

// isRsyncTemp recognises rsync's ".NAME.XXXXXX": six letters or digits behind a dot, in
// front of them a name that is not empty. An extension of six letters that somebody
// typed looks the same only in a hidden file.
func isRsyncTemp(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	if dot < 2 || name[0] != '.' || len(name)-dot-1 != 6 {
		return false
	}
	return alnum(name[dot+1:])
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

// match reports whether a name is as a pattern says: * stands for any text, and the "??????" of
// sed and zip for letters and digits, so that a file called "sedán.txt" or "zi 2024" is a
// document. Every name that is looked up is compared with all patterns, for which path.Match
// takes too long.
func match(pattern, name string) bool {
	if prefix, six := strings.CutSuffix(pattern, "??????"); six {
		rest, found := strings.CutPrefix(name, prefix)
		return found && len(rest) == 6 && alnum(rest)
	}
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
