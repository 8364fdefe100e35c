package fs

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"syscall"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/errno"
	"github.com/archivefs/archivefs/internal/closing"
)

// pictureMakers are the programs that make small pictures of documents for file managers, by
// the first 15 bytes of their names, which is what the kernel keeps of them. They read every
// document of a folder that somebody looks at, and most of them the whole document.
var pictureMakers = []string{
	"tumblerd",        // Thunar
	"evince-thumbnai", // Nautilus, PCManFM: PDF
	"atril-thumbnail", "xreader-thumbna", "papers-thumbnai", "mate-thumbnail-",
	"gdk-pixbuf-thum", "glycin-thumbnai", // pictures
	"totem-video-thu", "ffmpegthumbnail", // films
	"gsf-office-thum", // LibreOffice, Microsoft Office
}

// workers are programs that do the work of KDE, each with one plugin, that their command line
// names: thumbnailPlugin makes thumbnails, others copy files.
var workers = []string{"kioslave5", "kioworker"}

const thumbnailPlugin = "/thumbnail.so"

// errThumbnail is told to them; file managers then show the picture of the kind of document.
var errThumbnail = errno.Refuse(syscall.EACCES, "no document is downloaded for a thumbnail (--thumbnails allows it)")

// onlyForThumbnail reports whether the document would be downloaded for a thumbnail, and for
// nothing else. What is on this machine already is read like any other file.
func (f *readable) onlyForThumbnail(ctx context.Context) bool {
	if f.fs.opts.Thumbnails || f.as != nil {
		return false
	}
	doc := f.document().ID
	rep := f.fs.reps.Of(doc)
	if _, here := f.fs.content.Trusted(cache.Key{Document: doc, Representation: rep}, f.maxAge(rep)); here {
		return false
	}
	return isThumbnailer(callerPID(ctx))
}

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
