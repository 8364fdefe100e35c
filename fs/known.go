package fs

import "github.com/archivefs/archivefs/archive"

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
func (f *FileSystem) Away() *Failure { return f.service.Away() }
