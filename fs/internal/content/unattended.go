package content

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/closing"
)

// Programs that nobody waits for read every document that they come across, most of them completely.
// They are known by the first 15 bytes of their names, which are all that the kernel keeps.
var (
	// thumbnailers make thumbnails for file managers.
	thumbnailers = []string{
		"tumblerd",        // Thunar
		"evince-thumbnai", // Nautilus, PCManFM: PDF
		"atril-thumbnail", "xreader-thumbna", "papers-thumbnai", "mate-thumbnail-",
		"gdk-pixbuf-thum", "glycin-thumbnai", // pictures
		"totem-video-thu", "ffmpegthumbnail", // videos
		"gsf-office-thum", // LibreOffice, Microsoft Office
	}
	// crawlers are search indexers and backup programs.
	crawlers = []string{
		"baloo_file", "baloo_file_extr", // KDE
		"tracker-miner-f", "tracker-extract", "localsearch-3", "localsearch-ext", // GNOME
		"recollindex",
		"restic", "rustic", "borg", "kopia", "duplicity", "duplicacy",
	}
)

// workers are the programs of KDE that run one plugin each. The command line names the plugin:
// thumbnailPlugin makes thumbnails, others copy files.
var workers = []string{"kioslave5", "kioworker"}

const thumbnailPlugin = "/thumbnail.so"

// These refuse an open by such a program. The file manager then shows an icon of the file's type; an
// indexer finds a document by its name; a backup program says which files it left out.
var (
	errThumbnail = errno.Refuse(syscall.EACCES, "no document is downloaded for a thumbnail (--thumbnails allows it)")
	errCrawler   = errno.Refuse(syscall.EACCES, "no document is downloaded for a search index or a backup (--crawlers allows it)")
)

// Unattended returns why a process may not open the document: that would download it for a program
// that nobody waits for. Cached documents can be read by all.
func (f *File) Unattended(pid uint32) error {
	if f.As != nil || f.Env.thumbnails && f.Env.crawlers {
		return nil
	}
	doc := f.Document().ID
	rep := f.Env.Reps.Of(doc)
	if _, here := f.Env.Content.Trusted(cache.Key{Document: doc, Representation: rep}, f.MaxAge(rep)); here {
		return nil
	}
	switch program, process := programOf(pid); {
	case !f.Env.crawlers && slices.Contains(crawlers, program):
		return errCrawler
	case !f.Env.thumbnails && makesThumbnails(program, process):
		return errThumbnail
	}
	return nil
}

// programOf returns the name of the program that a thread belongs to, and the process; an empty name
// where that cannot be found out.
func programOf(pid uint32) (name string, process int) {
	if process = closing.ThreadGroup(pid); process == 0 {
		return "", 0
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/comm") //nolint:gosec // below /proc
	if err != nil {
		return "", process
	}
	return string(bytes.TrimSuffix(b, []byte("\n"))), process
}

// makesThumbnails reports whether a program is a thumbnailer.
func makesThumbnails(program string, process int) bool {
	if !slices.Contains(workers, program) {
		return slices.Contains(thumbnailers, program)
	}
	line, err := os.ReadFile("/proc/" + strconv.Itoa(process) + "/cmdline") //nolint:gosec // below /proc
	return err == nil && bytes.Contains(line, []byte(thumbnailPlugin))
}
