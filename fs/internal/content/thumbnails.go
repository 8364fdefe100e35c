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
// their names, which are all that the kernel keeps. They read every document of a shown folder, most
// of them completely.
var pictureMakers = []string{
	"tumblerd",        // Thunar
	"evince-thumbnai", // Nautilus, PCManFM: PDF
	"atril-thumbnail", "xreader-thumbna", "papers-thumbnai", "mate-thumbnail-",
	"gdk-pixbuf-thum", "glycin-thumbnai", // pictures
	"totem-video-thu", "ffmpegthumbnail", // videos
	"gsf-office-thum", // LibreOffice, Microsoft Office
}

// workers are the programs of KDE that run one plugin each. The command line names the plugin:
// thumbnailPlugin makes thumbnails, others copy files.
var workers = []string{"kioslave5", "kioworker"}

const thumbnailPlugin = "/thumbnail.so"

// ErrThumbnail refuses an open by a thumbnailer. File managers then show an icon of the file's type.
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
