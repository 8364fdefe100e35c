// Package callers tells which programs send requests to the mount for a purpose of their own: file
// managers, and those that nobody waits for.
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
}

// workers are the programs of KDE that run one plugin each, which the command line names. Others than
// these copy files.
var (
	workers = []string{"kioslave5", "kioworker"}
	plugins = map[string]Kind{"/file.so": FileManager, "/kio_file.so": FileManager, "/thumbnail.so": Thumbnailer}
)

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
		if slices.Contains(names, program) {
			return kind
		}
	}
	return Other
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
