package names

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"
	"syscall"
)

// Working says whether a name is one that programs work under, before they give a file its own.
type Working uint8

const (
	// Real is the name of a document.
	Real Working = iota
	// Doubtful may be a program's or a document's: a file of that name waits for its rename.
	Doubtful
	// Certain is a program's alone: such a file or directory stays on this machine.
	Certain
)

// seen says how it is known that a program uses a name.
type seen uint8

const (
	// byTest: scripts/test-programs runs the program itself.
	byTest seen = iota
	// byTrace: traces of the program are published, and scripts/test-programs repeats them.
	byTrace
	// byManual: the program's documentation or source says so.
	byManual
)

// what says of what a name is.
type what uint8

const (
	aFile what = 1 << iota
	aDirectory
	either = aFile | aDirectory
)

type row struct {
	working Working
	of      what
	program string
	seen    seen
	// patterns are names, in which * stands for any text.
	patterns []string
	// shape is what no pattern can say; nil for nothing.
	shape func(name string) bool
}

// table is the table of working names. Each pattern is as narrow as what its program really writes.
var table = []row{
	{Certain, aFile, "vim", byTest, []string{"*.swp", ".*.swpx", ".*.swx"}, isVimSwap},
	{Certain, aFile, "Emacs", byTest, []string{".#*", "#*#", "*.~*~"}, nil},
	{Certain, aFile, "editors", byTest, nil, behindExtension("~")},
	{Certain, aFile, "joe", byTest, []string{"DEADJOE"}, nil},
	{Certain, aFile, "nano", byTest, nil, isNanoSave},
	{Certain, aFile, "Kate", byTrace, []string{".*.kate-swp"}, nil},
	{Certain, aFile, "LibreOffice", byTest, []string{".~lock.*#", "lu*.tmp"}, nil},
	{Certain, aFile, "Microsoft Office", byTrace, []string{"~$*", "~WR*.tmp", "~DF*.tmp", "*~RF*.TMP", "Word Work File *.tmp"}, isOfficeTemp},
	{Certain, aFile, "WPS Office", byManual, []string{".~*"}, nil},
	{Certain, aFile, "AutoCAD, InDesign, Access", byTrace, []string{"*.dwl", "*.dwl2", "*.ac$", "*.sv$", "*.idlk", "*.laccdb"}, isAutoCADTemp},
	{Certain, aFile, "browsers, downloads", byTest, []string{"*.crdownload", "*.opdownload", ".org.chromium.Chromium.*", ".part", "*.filepart", "*.aria2", "*.aria2__temp", "*.!qB"}, behindExtension(".part", ".download")},
	{Certain, aFile, "qpdf, ExifTool", byTest, []string{"*.~qpdf-temp#", "*.~qpdf-orig#", "*_exiftool_tmp"}, nil},
	{Certain, aFile, "FreeFileSync, web applications", byManual, []string{"*.ffs_tmp", ".sync*.ffs_db", ".sync*.ffs_lock", "*.crswap"}, nil},
	{Certain, aFile, "document portal", byTrace, []string{".xdp-*"}, nil},
	{Certain, aFile, "lftp, proftpd", byTest, []string{"*.lftp-pget-status", ".in.*"}, nil},
	{Certain, aFile, "rclone", byTrace, nil, isRclonePartial},
	{Certain, aFile, "7-Zip and others", byTrace, nil, behindExtension(".tmp")},
	{Certain, aFile, "rsync, sed -i, zip", byTest, nil, func(name string) bool { return isNoWord(tempSuffix(name)) }},
	{Certain, either, "rsync", byTest, []string{".~tmp~", ".rsync-partial"}, nil},
	{Certain, either, "Unison", byTest, []string{".unison.*.unison.tmp"}, nil},
	{Certain, either, "Syncthing, Resilio", byTrace, []string{".syncthing.*", "~syncthing~*", ".stfolder", ".stversions", ".sync"}, nil},
	{Certain, aFile, "ownCloud, Nextcloud", byTrace, []string{".sync_*.db*", "._sync_*.db*", ".owncloudsync.log*", ".nextcloudsync.log*"}, isOwnCloudTemp},
	{Certain, either, "Samba", byTrace, []string{".::TMPNAME:*"}, nil},
	{Certain, aFile, "GNOME", byTest, []string{".goutputstream-*", ".hidden", "*.trashinfo*"}, nil},
	{Certain, aFile, "KDE", byTest, []string{".directory"}, nil},
	{Certain, either, "desktops", byTest, []string{".Trash-*", ".sh_thumbnails"}, nil},
	{Certain, aFile, "FUSE, NFS, SMB on macOS", byManual, []string{".fuse_hidden*", ".nfs0000*", ".smbdelete*"}, nil},
	{Certain, aFile, "Finder", byTrace, []string{".DS_Store", "._*", ".apdisk", ".localized", ".VolumeIcon.icns"}, nil},
	{Certain, either, "macOS", byTrace, []string{".Trashes", ".Spotlight-V100", ".fseventsd", ".TemporaryItems", ".DocumentRevisions-V100", ".AppleDouble", "(A Document Being Saved By *)"}, isSafeSave},
	{Certain, aDirectory, "Safari", byManual, []string{"*.download"}, nil},
	{Certain, either, "scanners", byManual, []string{"*.LCK", "*.lck"}, nil},
	{Certain, either, "Synology, QNAP", byManual, []string{"@eaDir", ".@__thumb"}, nil},

	{Doubtful, aFile, "GLib, Qt", byTest, nil, isSaveSuffix},
	{Doubtful, aFile, "Python and others", byTest, []string{".tmp*", "*.tmp", "*.tmp.*", "*.tmp-*"}, nil},
	{Doubtful, aFile, "downloads, CAD", byTest, []string{"*.part", "*.download"}, nil},
	{Doubtful, aFile, "Excel", byTrace, nil, isExcelTemp},
	{Doubtful, aFile, "editors", byTest, []string{"*~"}, nil},
}

// anyCase are names that Windows writes in upper, lower or mixed case: of files, and of directories.
var anyCase = [...][]string{{"thumbs.db", "ehthumbs.db", "photothumb.db", "desktop.ini"}, {"$recycle.bin", "system volume information"}}

// workshops are directories of programs' own files, which would all become folders and final
// documents. Names that people also give to folders, such as CVS, are left out.
var workshops = []string{
	".git", ".svn", ".hg", ".bzr", "_darcs", ".jj", // version control
	".idea", ".vscode", ".vs", // development environments
	"node_modules", "__pycache__", ".venv", ".tox", ".mypy_cache", ".pytest_cache", ".ruff_cache", ".gradle", ".terraform", // packages, builds
}

// IsWorkshop reports whether programs keep their own files in a directory of that name.
func IsWorkshop(name string) bool { return slices.Contains(workshops, name) }

// Rules tell working names from those of documents: the table, and what the user adds. Nil Rules are the table alone.
type Rules struct{ own []string }

// NewRules returns the Rules to which globs, as of path.Match, add names that stay on this machine.
func NewRules(globs []string) (*Rules, error) {
	for _, glob := range globs {
		_, err := path.Match(glob, "")
		switch {
		case err != nil:
			return nil, fmt.Errorf("%q is not a pattern of names: %w", glob, err)
		case strings.Trim(glob, "*?") == "", strings.Contains(glob, "/"):
			return nil, fmt.Errorf("%q: a pattern is of the name alone, and has a letter or a sign of it", glob)
		}
	}
	return &Rules{own: globs}, nil
}

// File returns what a file of that name is, however it is created.
func (r *Rules) File(name string) Working {
	switch x := tables(); {
	case x.files.has(name), slices.Contains(anyCase[0], strings.ToLower(name)), r.added(name):
		return Certain
	case x.doubtful.has(name):
		return Doubtful
	}
	return Real
}

// Stays reports whether a file of that name stays on this machine until it is renamed.
func (r *Rules) Stays(name string) bool { return r.File(name) == Certain }

// Directory reports whether a directory of that name, and everything below it, stays on this machine.
func (r *Rules) Directory(name string) bool {
	return tables().directories.has(name) || slices.Contains(anyCase[1], strings.ToLower(name)) || r.added(name)
}

// added reports whether the user has added a name.
func (r *Rules) added(name string) bool {
	return r != nil && slices.ContainsFunc(r.own, func(glob string) bool {
		ok, _ := path.Match(glob, name) // each was tried
		return ok
	})
}

// Created is File for a file that is created with flags and mode. A program that does it as mkstemp(3) does, with a
// name that nobody thinks of, renames the file later. Copying programs open files for writing only.
func (r *Rules) Created(name string, flags, mode uint32) Working {
	const how = syscall.O_RDWR | syscall.O_CREAT | syscall.O_EXCL
	w := r.File(name)
	switch own := mode&0o077 == 0; {
	case flags&how != how:
	case own && tempSuffix(name) != "":
		return Certain
	case own && isUnlikely(name), hasSaveSuffix(name):
		return max(w, Doubtful)
	}
	return w
}

// index finds a name in one kind of rows. It is grouped by the first byte, or the last one, of patterns,
// because every lookup asks it.
type index struct {
	first, last [256][]string
	rest        []string
	shapes      []func(string) bool
}

func (x *index) add(r *row) {
	for _, p := range r.patterns {
		switch {
		case p[0] != '*':
			x.first[p[0]] = append(x.first[p[0]], p)
		case p[len(p)-1] != '*':
			x.last[p[len(p)-1]] = append(x.last[p[len(p)-1]], p)
		default:
			x.rest = append(x.rest, p)
		}
	}
	if r.shape != nil {
		x.shapes = append(x.shapes, r.shape)
	}
}

func (x *index) has(name string) bool {
	if name == "" {
		return false
	}
	return matches(x.first[name[0]], name) || matches(x.last[name[len(name)-1]], name) || matches(x.rest, name) ||
		slices.ContainsFunc(x.shapes, func(is func(string) bool) bool { return is(name) })
}

// indexes are the table by kind.
type indexes struct{ files, directories, doubtful index }

var tables = sync.OnceValue(func() *indexes {
	x := &indexes{}
	for i := range table {
		switch r := &table[i]; r.working {
		case Doubtful:
			x.doubtful.add(r)
		default:
			if r.of&aFile != 0 {
				x.files.add(r)
			}
			if r.of&aDirectory != 0 {
				x.directories.add(r)
			}
		}
	}
	return x
})

func matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

// match reports whether a name matches a pattern, in which * stands for any text. path.Match is too
// slow for every lookup.
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
