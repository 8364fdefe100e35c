// Package callers tells which programs send requests to the mount for a purpose of their own: file
// managers, those that nobody waits for, and those that need the exact length of what they read.
package callers

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

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

// workers are the programs of KDE that run one plugin each, which the command line names. Others than these copy files.
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

const (
	// pause is for how long a question and a listing are one with what the program does next.
	pause = 2 * time.Second
	// trust is for how long a walk, or the listing of a large folder, can be repeated.
	trust = 10 * time.Second
	// maxAskers bounds the threads that are remembered.
	maxAskers = 256
)

// Askers decides which programs get the exact length of a document although it has to be downloaded for
// that. Archivers ask for the length by path, open the document, read as much as they were told, and go
// on to the next; whoever lists a folder asks for one length after the other and opens nothing. So a
// program gets the first length that it asks for, and after that one for each document that it opens.
type Askers struct {
	now func() time.Time
	of  func(thread uint32) (process int, is Kind)

	mu       sync.Mutex
	byThread map[uint32]*asker // +checklocks:mu
}

// asker is a program that asks for lengths. Guarded by mu of Askers.
type asker struct {
	process int
	kind    Kind
	last    time.Time // when it asked, or a file manager listed, last
	opened  bool      // a document, since it was told a length
}

// NewAskers makes an Askers that knows of no program.
func NewAskers(now func() time.Time) *Askers {
	return &Askers{now: now, byThread: map[uint32]*asker{}, of: func(thread uint32) (int, Kind) {
		return closing.ThreadGroup(thread), Of(thread)
	}}
}

// Exact reports whether a thread that asks for a length that is not known gets the exact one.
func (a *Askers) Exact(thread uint32) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	p, now := a.askerLocked(thread), a.now()
	exact := p.opened || now.Sub(p.last) >= pause
	p.opened, p.last = false, now
	switch p.kind {
	case Gatherer:
		return true
	case Lister, Namer, Shell, Thumbnailer, Crawler:
		return false
	default:
		return exact
	}
}

// Trusts notes that a thread lists a folder, and returns for how long it may trust the estimates that it gets,
// so that they need no further answers: 0 unless it lists them to show them.
func (a *Askers) Trusts(thread uint32) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.askerLocked(thread)
	switch p.kind {
	case Lister, Thumbnailer, Crawler:
		return trust
	case FileManager: // it may compress next what it shows
		p.last = a.now()
		return pause
	default:
		return 0
	}
}

// Opened notes that a thread opens a document.
func (a *Askers) Opened(thread uint32) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.askerLocked(thread).opened = true
}

// askerLocked returns what is known of the program of a thread.
// +checklocks:a.mu
func (a *Askers) askerLocked(thread uint32) *asker {
	if p := a.byThread[thread]; p != nil {
		return p
	}
	process, kind := a.of(thread)
	p := &asker{process: process, kind: kind}
	if kind == Shell {
		return p
	}
	now, full := a.now(), len(a.byThread) >= maxAskers
	for id, other := range a.byThread {
		switch {
		case other.process == process:
			p = other
		case full && now.Sub(other.last) >= pause:
			delete(a.byThread, id)
		}
	}
	if len(a.byThread) >= maxAskers {
		clear(a.byThread)
	}
	a.byThread[thread] = p
	return p
}
