package fs

import (
	"path"
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
	for _, p := range patterns {
		ok, err := path.Match(p, name)
		if err == nil && ok {
			return matchesWildcard(p, name)
		}
	}
	return false
}

// matchesWildcard narrows the "??????" of sed and zip to letters and digits, so that a
// file called "sedán.txt" or "zi 2024" is a document.
func matchesWildcard(pattern, name string) bool {
	prefix, found := strings.CutSuffix(pattern, "??????")
	return !found || alnum(strings.TrimPrefix(name, prefix))
}
