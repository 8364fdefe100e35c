package staging

import (
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/tree"
	"github.com/archivefs/archivefs/internal/spool"
)

// A file that has state of its own is not idle. Only this test uses it, so nothing is locked.
func TestFilesInUse(t *testing.T) {
	for name, use := range map[string]func(*File){
		"bytes that wait":   func(f *File) { f.Up = &spool.Upload{} },           // +checklocksignore
		"an open handle":    func(f *File) { f.Handles++ },                      // +checklocksignore
		"a writer":          func(f *File) { f.writers++ },                      // +checklocksignore
		"a reader":          func(f *File) { f.Reading = &content.Reading{} },   // +checklocksignore
		"no document":       func(f *File) { f.Doc = nil },                      // +checklocksignore
		"another took over": func(f *File) { f.Superseded = map[uint32]bool{} }, // +checklocksignore
	} {
		t.Run(name, func(t *testing.T) {
			s, d := newArea(t, Config{}, &remotetest.Folder{Docs: []archive.Document{remotetest.Named(1, "Brief")}})
			if err := d.Tree.Load(t.Context(), d, tree.NeedListing); err != nil {
				t.Fatal(err)
			}
			f := FileOf(d, d.Get("Brief.pdf"))
			if f.s != s || !isIdle(f) {
				t.Fatal("a document that was listed is in use")
			}
			use(f)
			if isIdle(f) {
				t.Error("it is idle")
			}
		})
	}
}

func isIdle(f *File) bool {
	f.Mu.Lock()
	defer f.Mu.Unlock()
	return f.IdleLocked()
}
