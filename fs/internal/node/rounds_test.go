package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs/internal/background"
	"github.com/archivefs/archivefs/fs/internal/content"
	"github.com/archivefs/archivefs/fs/internal/remote"
	"github.com/archivefs/archivefs/fs/internal/staging"
	"github.com/archivefs/archivefs/fs/internal/view"
)

// anyService is an Archive, under a name that is not one of its methods.
type anyService interface{ remote.Archive }

// far is a service that answers every request after a second and takes no time itself: so seconds are
// round trips in a row. A folder is called by its id, and has one document.
type far struct {
	anyService
	folders   map[archive.ID][]archive.ID // in each folder; 0 is the root
	extension string                      // of all documents
}

// chain has one folder in each, 1 to depth.
func chain(depth archive.ID) map[archive.ID][]archive.ID {
	folders := map[archive.ID][]archive.ID{}
	for id := range depth {
		folders[id] = []archive.ID{id + 1}
	}
	return folders
}

func roundTrip() { time.Sleep(time.Second) }

// below is the folder in a folder, with all below it unless that is lazy.
func (s *far) below(folder archive.ID, lazy bool) archive.Structure {
	var all archive.Structure
	for _, id := range s.folders[folder] {
		f := archive.Folder{ID: id, Name: fmt.Sprint(id)}
		if !lazy {
			f.Children = s.below(id, false).Folders
		}
		all.Folders = append(all.Folders, f)
	}
	return all
}

func (s *far) document(folder archive.ID) archive.Document {
	return archive.Document{ID: 1000 + folder, Folder: folder, Name: "document" + s.extension, Size: 4}
}

func (s *far) Children(_ context.Context, parent archive.ID) (archive.Structure, error) {
	roundTrip()
	return s.below(parent, true), nil
}

func (s *far) Structure(_ context.Context, parent archive.ID, lazy bool) (archive.Structure, error) {
	roundTrip()
	return s.below(parent, lazy), nil
}

func (s *far) Documents(_ context.Context, folder archive.ID, _ archive.ListOptions) ([]archive.Document, error) {
	roundTrip()
	return []archive.Document{s.document(folder)}, nil
}

func (s *far) EachDocument(_ context.Context, folder archive.ID, _ archive.ListOptions, begin func() func(*archive.Document)) error {
	roundTrip()
	add := begin()
	for todo := []archive.ID{folder}; len(todo) > 0; todo = append(todo[1:], s.folders[todo[0]]...) {
		d := s.document(todo[0])
		add(&d)
	}
	return nil
}

func (s *far) ContentInfo(context.Context, archive.ID, archive.Representation) (*archive.Content, error) {
	roundTrip()
	return &archive.Content{Size: 4}, nil
}

func (s *far) Content(context.Context, archive.ContentRequest) (*archive.Content, error) {
	roundTrip()
	return &archive.Content{Body: io.NopCloser(bytes.NewReader([]byte("text"))), Size: 4}, nil
}

// distant is what the nodes of a mount of the service share.
func distant(t *testing.T, service *far) *Kernel {
	t.Helper()
	log := logrus.New()
	log.SetOutput(io.Discard)
	contents, err := cache.OpenContent(cache.Options{Dir: filepath.Join(t.TempDir(), "content"), Limit: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	facts, err := cache.OpenFacts(filepath.Join(t.TempDir(), "facts"))
	if err != nil {
		t.Fatal(err)
	}
	work := new(background.Work)
	t.Cleanup(func() {
		if err := work.Wait(context.Background()); err != nil {
			t.Error(err)
		}
		_ = contents.Close() // nothing is read any more
		_ = facts.Close()
	})
	k := &Kernel{Trust: 1 << 62, Memory: new(background.Memory)}
	k.Staging = staging.New(staging.Config{WhileAlive: WhileAlive, People: staging.People{Of: Person}}, time.Now)
	k.Contents = content.New(t.Context(), content.Config{
		Config: remote.Config{Archive: service, TTL: time.Hour, Listings: 16, Log: log, Now: time.Now, Work: work, Answers: k.Staging.Queue.Wake},
		Mode:   view.Auto, Content: contents, Facts: facts, Memory: k.Memory,
		Staged: &k.Staging.Placing, NewLeaf: k.Staging.LeafFor, Changed: k.ForgetNames,
	})
	k.Staging.Contents = k.Contents
	return k
}

// lookUp looks up the names of a path one after the other, as the kernel does in a cold mount.
func lookUp(t *testing.T, k *Kernel, path ...string) *staging.File {
	t.Helper()
	d := k.Root
	for i, name := range path {
		content.Walked{Dir: d, Env: k.Contents}.LookingUp(t.Context(), name)
		e, err := d.Tree.Lookup(t.Context(), d, name)
		if err != nil {
			t.Errorf("%s: %v", strings.Join(path[:i+1], "/"), err)
			return nil
		}
		if e.Dir == nil {
			return staging.FileOf(d, e)
		}
		d = e.Dir
	}
	t.Error("a path of folders")
	return nil
}

// read reads the document from its beginning to its end.
func read(t *testing.T, f *staging.File) {
	t.Helper()
	v, _, err := f.OpenView(t.Context(), content.Access{})
	if err != nil {
		t.Error(err)
		return
	}
	text := make([]byte, 4)
	if n, err := v.ReadAt(t.Context(), text, 0); n != 4 || string(text) != "text" {
		t.Errorf("%q, %v", text[:n], err)
	}
	if err := v.Close(); err != nil {
		t.Error(err)
	}
}

// However deep a document lies, its content is requested after three round trips: for the mandators,
// the folders, and the documents beside it.
func TestRoundTripsBeforeTheFirstContent(t *testing.T) {
	for _, tt := range []struct {
		depth     archive.ID
		extension string
		stat      bool // its length is asked for, and no content
		want      int  // until its bytes, or its length, are there
	}{
		{depth: 1, extension: ".pdf", want: 3},
		{depth: 2, extension: ".pdf", want: 4},
		{depth: 6, extension: ".pdf", want: 4},
		{depth: 2, extension: ".pdf", stat: true, want: 4}, // which representation the length belongs to
		{depth: 2, want: 5},                                // the extension that is added depends on the representation
	} {
		t.Run(fmt.Sprintf("%+v", tt), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				k := distant(t, &far{folders: chain(tt.depth), extension: tt.extension})
				var path []string
				for id := range tt.depth {
					path = append(path, fmt.Sprint(id+1))
				}
				f := lookUp(t, k, append(path, "document.pdf")...)
				if tt.stat {
					f.LearnSize(t.Context())
					if size, ok := f.CurrentSize(); size != 4 || !ok {
						t.Errorf("%d bytes, %t", size, ok)
					}
				} else {
					read(t, f)
				}
				if got := int(time.Since(began) / time.Second); got != tt.want {
					t.Errorf("%d round trips in a row", got)
				}
			})
		})
	}
}

// Programs beside each other, each in a folder of its own, all have their first content after as many
// round trips: who is not within what is being prefetched does not wait for it.
func TestRoundTripsOfReadersBesideEachOther(t *testing.T) {
	folders := chain(1)
	for _, half := range []archive.ID{10, 20} {
		folders[1] = append(folders[1], half)
		for i := range archive.ID(4) {
			folders[half] = append(folders[half], half+1+i)
		}
	}
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		k := distant(t, &far{folders: folders, extension: ".pdf"})
		var readers sync.WaitGroup
		for _, half := range folders[1] {
			for _, id := range folders[half] {
				readers.Go(func() {
					if f := lookUp(t, k, "1", fmt.Sprint(half), fmt.Sprint(id), "document.pdf"); f != nil {
						read(t, f)
					}
				})
			}
		}
		readers.Wait()
		if got := int(time.Since(began) / time.Second); got != 4 {
			t.Errorf("%d round trips in a row", got)
		}
	})
}
