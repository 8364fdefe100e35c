package fs

import (
	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// keepKnown lets the listings outlive the mount, for a service that is away.
func (f *FileSystem) keepKnown(k *cache.Known) {
	if k == nil {
		return
	}
	f.children.Keep(k.Folders())
	f.documents.Keep(k.Documents(f.opts.List))
	f.inboxes.Keep(k.Inboxes())
	f.readAs = k.Representation()
}

// chooseAsBefore takes what the service had the last time that it was asked, while it is
// away: names and cached contents depend on it.
func (f *FileSystem) chooseAsBefore() {
	if f.settled() || f.readAs == nil {
		return
	}
	switch rep, _, _ := f.readAs.Load(struct{}{}); rep {
	case archive.Original, archive.PDF, archive.Data:
		f.chosen(rep)
	}
}

// Away returns why the service could not be asked the last time, nil when it answered.
func (f *FileSystem) Away() *Failure { return f.away.Load() }

// Refused reports whether the service refuses the credentials.
func (f *Failure) Refused() bool { return f != nil && f.refused }
