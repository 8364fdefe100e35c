package content

import (
	"bytes"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/closing"
)

// pictureMakers are the programs that make thumbnails for file managers, by the first 15 bytes of
// their names, which is what the kernel keeps. They read every document of a folder that is shown,
// and most of them all of it.
var pictureMakers = []string{
	"tumblerd",        // Thunar
	"evince-thumbnai", // Nautilus, PCManFM: PDF
	"atril-thumbnail", "xreader-thumbna", "papers-thumbnai", "mate-thumbnail-",
	"gdk-pixbuf-thum", "glycin-thumbnai", // pictures
	"totem-video-thu", "ffmpegthumbnail", // films
	"gsf-office-thum", // LibreOffice, Microsoft Office
}

// workers are the programs of KDE that run one plugin each, which their command line names:
// thumbnailPlugin makes thumbnails, others copy files.
var workers = []string{"kioslave5", "kioworker"}

const thumbnailPlugin = "/thumbnail.so"

// ErrThumbnail is the answer to programs that make thumbnails. File managers then show an icon of the file's type.
var ErrThumbnail = errno.Refuse(syscall.EACCES, "no document is downloaded for a thumbnail (--thumbnails allows it)")

// isThumbnailer reports whether the thread belongs to a thumbnailer.
func isThumbnailer(pid uint32) bool {
	process := closing.ThreadGroup(pid)
	if process == 0 {
		return false
	}
	dir := "/proc/" + strconv.Itoa(process)
	name, err := os.ReadFile(dir + "/comm") //nolint:gosec // below /proc
	if err != nil {
		return false
	}
	program := string(bytes.TrimSuffix(name, []byte("\n")))
	if !slices.Contains(workers, program) {
		return slices.Contains(pictureMakers, program)
	}
	line, err := os.ReadFile(dir + "/cmdline") //nolint:gosec // below /proc
	return err == nil && bytes.Contains(line, []byte(thumbnailPlugin))
}
