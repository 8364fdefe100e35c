// Package callers tells which programs send requests to the mount for a purpose of their own: file
// managers, those that nobody waits for, and those that need the exact length of what they read.
package callers

import (
	"bytes"
	"os"
	"slices"
	"strconv"

	"github.com/archivefs/archivefs/internal/closing"
)

// Kind is what a program is.
type Kind uint8

// The kinds. Other is everything else, and what cannot be found out.
const (
	Other       Kind = iota
	FileManager      // shows folders to a person
	Thumbnailer      // makes thumbnails for file managers
	Crawler          // a search indexer or a backup program
	Lister           // shows lengths, and reads nothing by them
	Namer            // wants the names of files
	Shell            // wants names, and may become any other program (exec)
	Gatherer         // takes the lengths of several files before it opens the first
)

// programs are known by the first 15 bytes of their names, which are all that the kernel keeps.
var programs = map[Kind][]string{
	FileManager: {"nautilus", "thunar", "Thunar", "pcmanfm", "pcmanfm-qt", "dolphin", "nemo", "caja"},
	Thumbnailer: {
		"tumblerd",        // Thunar
		"evince-thumbnai", // Nautilus, PCManFM: PDF
		"atril-thumbnail", "xreader-thumbna", "papers-thumbnai", "mate-thumbnail-",
		"gdk-pixbuf-thum", "glycin-thumbnai", // pictures
		"totem-video-thu", "ffmpegthumbnail", // videos
		"gsf-office-thum", // LibreOffice, Microsoft Office
	},
	Crawler: {
		"baloo_file", "baloo_file_extr", // KDE
		"tracker-miner-f", "tracker-extract", "localsearch-3", "localsearch-ext", // GNOME
		"recollindex",
		"restic", "rustic", "borg", "kopia", "duplicity", "duplicacy",
	},
	Lister: {
		"ls", "dir", "vdir", "find", "tree", "du", "ncdu", "eza", "exa", "lsd", "mc",
		"smbd", "nfsd",
	},
	Shell:    {"sh", "dash", "bash", "zsh", "fish"},
	Gatherer: {"genisoimage", "mkisofs", "pax", "xorriso", "xorrisofs"},
}

// workers are the programs of KDE that run one plugin each, which the command line names. Others than
// these copy files.
var (
	workers = []string{"kioslave5", "kioworker"}
	plugins = map[string]Kind{"/file.so": FileManager, "/kio_file.so": FileManager, "/thumbnail.so": Thumbnailer}
)

// shows are the options with which ls and find are a Lister. Without one of them they are a Namer, perhaps
// for an archiver (find | cpio).
var shows = map[string][]string{
	"ls": {"-"},
	"find": {
		"-ls", "-fls", "-printf", "-fprintf", "-size", "-empty", "-newer", "-anewer", "-cnewer",
		"-atime", "-ctime", "-mtime", "-amin", "-cmin", "-mmin",
	},
}

// Of returns what the program is that a thread belongs to.
func Of(pid uint32) Kind {
	process := closing.ThreadGroup(pid)
	if process == 0 {
		return Other
	}
	dir := "/proc/" + strconv.Itoa(process)
	name, err := os.ReadFile(dir + "/comm") //nolint:gosec // below /proc
	if err != nil {
		return Other
	}
	program := string(bytes.TrimSuffix(name, []byte("\n")))
	if slices.Contains(workers, program) {
		return plugin(dir)
	}
	for kind, names := range programs {
		switch {
		case !slices.Contains(names, program):
		case shows[program] != nil && !hasOption(dir, shows[program]):
			return Namer
		default:
			return kind
		}
	}
	return Other
}

// hasOption reports whether an argument of the process that has the directory in /proc begins with one of
// the options.
func hasOption(dir string, options []string) bool {
	line, err := os.ReadFile(dir + "/cmdline") //nolint:gosec // below /proc
	return err == nil && slices.ContainsFunc(options, func(option string) bool { return bytes.Contains(line, []byte("\x00"+option)) })
}

// plugin returns what the process is that has the directory in /proc and runs one of the plugins.
func plugin(dir string) Kind {
	line, err := os.ReadFile(dir + "/cmdline") //nolint:gosec // below /proc
	if err != nil {
		return Other
	}
	for name, kind := range plugins {
		if bytes.Contains(line, []byte(name)) {
			return kind
		}
	}
	return Other
}
