package content

import (
	"syscall"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/callers"
	"github.com/archivefs/archivefs/fs/internal/errno"
)

// ErrThumbnail and its like refuse an open by a program that nobody waits for. Such programs read every document that they
// come across, most of them completely. A file manager then shows an icon of the file's type; an indexer
// finds a document by its name; a backup program says which files it left out.
var ErrThumbnail = errno.Refuse(syscall.EACCES, "no document is downloaded for a thumbnail (--thumbnails download allows it)")

// Unattended returns why a process may not open the document: that would download it for a program
// that nobody waits for. Cached documents can be read by all.
func (f *File) Unattended(pid uint32) error {
	if f.As != nil || f.Env.config.DownloadsForThumbnails && f.Env.config.Crawlers {
		return nil
	}
	doc := f.Document().ID
	rep := f.Env.Reps.Of(doc)
	if _, here := f.Env.Content.Trusted(cache.Key{Document: doc, Representation: rep}, f.Trust(rep)); here {
		return nil
	}
	if !f.Env.config.DownloadsForThumbnails && callers.Of(pid) == callers.Thumbnailer {
		return ErrThumbnail
	}
	if f.Env.config.Crawlers {
		return nil
	}
	if program := callers.CrawlerOf(pid, f.Env.config.CrawlerNames); program != "" {
		return errno.Refuse(syscall.EACCES, "no document is downloaded for "+archive.Printable(program)+", a search index, a backup or a virus scanner (--crawlers allows it)")
	}
	return nil
}
