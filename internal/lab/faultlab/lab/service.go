//go:build linux

package lab

import (
	"context"
	"crypto/sha256"
	"net/http"
	"path"
	"sync"

	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// service is the archive service of a run, and the truth about what it holds.
type service interface {
	http.Handler
	// base is the path of the service, with the version.
	base() string
	// wait adds a document to the inbox.
	wait(name string, content []byte) error
	// change changes a folder, as another client would: the mandator gets another folder, others
	// get a document, and one that they got before gets another name where that is possible.
	change(dir, name string, content []byte) error
	// contents returns all documents, and the paths of the folders below the mandator and the inbox.
	contents(ctx context.Context) ([]audit.Document, []string, error)
	close() error
}

// apiKey is what the program shows.
const apiKey = "key-of-the-lab" //nolint:gosec // of archives that a run makes

// newService makes the archive of a run; dir is for what it keeps on disk.
func newService(ctx context.Context, shape history.Shape, dir string) (service, error) {
	switch shape { // the others are of the hostile service
	case history.Embedded, history.EmbeddedEight:
		e, err := newEmbedded(ctx, dir, shape == history.EmbeddedEight)
		if err != nil {
			return nil, err // no service that is nil
		}
		return e, nil
	}
	return newFake(configOf(shape)), nil
}

// configOf makes a shape of the hostile service.
func configOf(shape history.Shape) hostile.Config {
	cfg := hostile.Config{Credentials: hostile.Credentials{APIKey: apiKey}}
	switch shape { // Full is the zero Config
	case history.Eight:
		cfg.OnlyEight = true
	case history.Silent:
		cfg.Data.HideExternalID = true
	case history.SilentEight:
		cfg.OnlyEight, cfg.Data.HideExternalID = true, true
	case history.Wordless:
		cfg.Upload.Answer = hostile.UploadEmpty
	case history.Late:
		cfg.Upload.VisibleAfter = 1
	case history.Sized:
		cfg.List.Sizes, cfg.Content.Range = true, hostile.RangeIgnored
	case history.SameID:
		cfg.ArchiveKeepsID = true
	}
	return cfg
}

// fake is a hostile service.
type fake struct {
	*hostile.Service
	mandator, folder, inbox int64

	mu     sync.Mutex
	others map[int64]int64 // the document that change added to a folder last; guarded by mu
}

func newFake(cfg hostile.Config) *fake {
	f := &fake{Service: hostile.New(cfg), others: map[int64]int64{}}
	f.mandator = f.AddMandator(history.Mandator)
	f.folder = f.AddFolder(f.mandator, "Eingang")
	f.inbox = f.AddInbox(1, "Administrator")
	return f
}

func (f *fake) base() string { return hostile.DefaultBasePath }

func (f *fake) wait(name string, content []byte) error {
	f.AddDocument(f.inbox, hostile.Document{Name: name, Content: content, ContentType: "text/plain"})
	return nil
}

func (f *fake) change(dir, name string, content []byte) error {
	id := f.inbox
	switch dir {
	case history.Mandator:
		f.AddFolder(f.mandator, name)
		return nil
	case history.Folder:
		id = f.folder
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if other := f.others[id]; other != 0 {
		f.Change(other, func(d *hostile.Document) { d.Name = "anders-" + d.Name })
	}
	f.others[id] = f.AddDocument(id, hostile.Document{Name: name, Content: content, ContentType: "text/plain"})
	return nil
}

func (f *fake) contents(context.Context) (all []audit.Document, folders []string, err error) {
	f.Wait()
	var walk func(id int64, dir string)
	walk = func(id int64, dir string) {
		for _, d := range f.Documents(id) {
			all = append(all, audit.Document{Folder: dir, Name: d.Name, Keywords: d.Keywords, Sum: sha256.Sum256(d.Content)})
		}
		for _, d := range f.Folders(id) {
			below := path.Join(dir, d.Name)
			folders = append(folders, below)
			walk(d.ID, below)
		}
	}
	walk(f.mandator, history.Mandator)
	walk(f.inbox, history.Inbox)
	return all, folders, nil
}

func (f *fake) close() error {
	f.Close()
	return nil
}
