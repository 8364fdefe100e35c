package node

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
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
// round trips in a row. It has one chain of folders, 1 in the root, 2 in that and so on, with a
// document in each: 101 in folder 1 and so on.
type far struct {
	anyService
	depth     archive.ID
	extension string // of all documents
}

func roundTrip() { time.Sleep(time.Second) }

// below is the folder in a folder, with all below it unless that is lazy.
func (s *far) below(folder archive.ID, lazy bool) archive.Structure {
	if folder == s.depth {
		return archive.Structure{}
	}
	f := archive.Folder{ID: folder + 1, Name: "Folder"}
	if !lazy {
		f.Children = s.below(folder+1, false).Folders
	}
	return archive.Structure{Folders: []archive.Folder{f}}
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
	return []archive.Document{{ID: 100 + folder, Folder: folder, Name: "document" + s.extension, Size: 4}}, nil
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
	k.Staging = staging.New(staging.Config{WhileAlive: WhileAlive}, time.Now)
	k.Contents = content.New(t.Context(), content.Config{
		Config: remote.Config{Archive: service, TTL: time.Hour, Listings: 16, Log: log, Now: time.Now, Work: work, Answers: k.Staging.Wake},
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
			t.Fatalf("%s: %v", strings.Join(path[:i+1], "/"), err)
		}
		if e.Dir == nil {
			return staging.FileOf(d, e)
		}
		d = e.Dir
	}
	t.Fatal("a path of folders")
	return nil
}

// However deep a document lies, its content is requested after three round trips: for the mandators,
// the folders, and the documents beside it.
func TestRoundTripsBeforeTheFirstContent(t *testing.T) {
	for _, tt := range []struct {
		depth     int
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
				k := distant(t, &far{depth: archive.ID(tt.depth), extension: tt.extension})
				path := strings.Split(strings.Repeat("Folder/", tt.depth)+"document"+tt.extension, "/")
				if tt.extension == "" {
					path[tt.depth] += ".pdf"
				}
				f := lookUp(t, k, path...)
				if tt.stat {
					f.LearnSize(t.Context())
					if size, ok := f.CurrentSize(); size != 4 || !ok {
						t.Errorf("%d bytes, %t", size, ok)
					}
				} else {
					v, _, err := f.OpenView(t.Context(), content.Access{})
					if err != nil {
						t.Fatal(err)
					}
					text := make([]byte, 4)
					if n, err := v.ReadAt(t.Context(), text, 0); n != 4 || string(text) != "text" {
						t.Errorf("%q, %v", text[:n], err)
					}
					if err := v.Close(); err != nil {
						t.Error(err)
					}
				}
				if got := int(time.Since(began) / time.Second); got != tt.want {
					t.Errorf("%d round trips in a row", got)
				}
			})
		})
	}
}
