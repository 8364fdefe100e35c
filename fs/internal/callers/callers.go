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
	Crawler          // a search indexer, a backup program, a virus scanner or a checker of files
	Lister           // shows lengths, and reads nothing by them
	Namer            // wants the names of files
	Shell            // wants names, and may become any other program (exec)
	Gatherer         // takes the lengths of several files before it opens the first
)

// nameLength is how many bytes of a program's name the kernel keeps (TASK_COMM_LEN of linux/sched.h).
const nameLength = 15

// programs are known by what the kernel keeps of their names.
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
		"recollindex", "updatedb", "updatedb.plocat", "updatedb.mlocat",
		"restic", "rustic", "borg", "kopia", "duplicity", "duplicacy", "rdiff-backup", "bup", "burp",
		"bacula-fd", "bareos-fd", "amandad",
		"rsnapshot", "timeshift", "timeshift-gtk", "BackupPC_dump", // they run rsync or tar
		"clamscan", "clamd", "clamdscan", "clamonacc", "savscan", "avscanner", "wdavdaemon", // ClamAV, Sophos, Microsoft
		"aide", "tripwire", "samhain", "rkhunter", "chkrootkit",
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
	program, _ := closing.Program(process)
	if slices.Contains(workers, program) {
		return plugin(process)
	}
	for kind, names := range programs {
		switch {
		case !slices.Contains(names, program):
		case shows[program] != nil && !hasOption(process, shows[program]):
			return Namer
		default:
			return kind
		}
	}
	return Other
}

// CrawlerOf returns the name of the crawler, or one of further names, to which a thread belongs, or which runs that:
// rsnapshot runs rsync, and recollindex what reads PDFs. It is empty if there is none.
func CrawlerOf(pid uint32, names []string) string {
	process := closing.ThreadGroup(pid)
	for process > 1 {
		program, parent := closing.Program(process)
		further := func(name string) bool { return program == name[:min(len(name), nameLength)] }
		if slices.Contains(programs[Crawler], program) || slices.ContainsFunc(names, further) {
			return program
		}
		process = parent
	}
	return ""
}

// hasOption reports whether an argument of a process begins with one of the options.
func hasOption(process int, options []string) bool {
	line := commandLine(process)
	return slices.ContainsFunc(options, func(option string) bool { return bytes.Contains(line, []byte("\x00"+option)) })
}

// plugin returns what a process is that runs one of the plugins.
func plugin(process int) Kind {
	line := commandLine(process)
	for name, kind := range plugins {
		if bytes.Contains(line, []byte(name)) {
			return kind
		}
	}
	return Other
}

// commandLine returns the arguments of a process, each ended by a NUL; none when they cannot be read.
func commandLine(process int) []byte {
	line, _ := os.ReadFile("/proc/" + strconv.Itoa(process) + "/cmdline")
	return line
}
