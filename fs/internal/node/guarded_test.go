package node

import (
	"context"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/tree"
)

// The methods of nodes through which the kernel reaches them.
var nodeInterfaces = []reflect.Type{
	reflect.TypeFor[fusefs.NodeLookuper](), reflect.TypeFor[fusefs.NodeGetattrer](), reflect.TypeFor[fusefs.NodeSetattrer](),
	reflect.TypeFor[fusefs.NodeStatxer](), reflect.TypeFor[fusefs.NodeOpendirHandler](), reflect.TypeFor[fusefs.NodeOpendirer](),
	reflect.TypeFor[fusefs.NodeReaddirer](), reflect.TypeFor[fusefs.NodeCreater](), reflect.TypeFor[fusefs.NodeMkdirer](),
	reflect.TypeFor[fusefs.NodeMknoder](), reflect.TypeFor[fusefs.NodeUnlinker](), reflect.TypeFor[fusefs.NodeRmdirer](),
	reflect.TypeFor[fusefs.NodeRenamer](), reflect.TypeFor[fusefs.NodeLinker](), reflect.TypeFor[fusefs.NodeSymlinker](),
	reflect.TypeFor[fusefs.NodeReadlinker](), reflect.TypeFor[fusefs.NodeOpener](), reflect.TypeFor[fusefs.NodeAccesser](),
	reflect.TypeFor[fusefs.NodeStatfser](), reflect.TypeFor[fusefs.NodeGetxattrer](), reflect.TypeFor[fusefs.NodeSetxattrer](),
	reflect.TypeFor[fusefs.NodeRemovexattrer](), reflect.TypeFor[fusefs.NodeListxattrer](), reflect.TypeFor[fusefs.NodeReader](),
	reflect.TypeFor[fusefs.NodeWriter](), reflect.TypeFor[fusefs.NodeFsyncer](), reflect.TypeFor[fusefs.NodeFlusher](),
	reflect.TypeFor[fusefs.NodeReleaser](), reflect.TypeFor[fusefs.NodeAllocater](), reflect.TypeFor[fusefs.NodeCopyFileRanger](),
	reflect.TypeFor[fusefs.NodeLseeker](), reflect.TypeFor[fusefs.NodeGetlker](), reflect.TypeFor[fusefs.NodeSetlker](),
	reflect.TypeFor[fusefs.NodeSetlkwer](), reflect.TypeFor[fusefs.NodeIoctler](),
}

// Every request that a node answers is guarded, except those that tell nothing of it.
func TestEveryRequestIsGuarded(t *testing.T) {
	free := []string{"Statfs", "Link", "Symlink"}
	for _, node := range []struct{ guarded, plain reflect.Type }{
		{reflect.TypeFor[*guardedDir](), reflect.TypeFor[*dirNode]()},
		{reflect.TypeFor[*guardedFile](), reflect.TypeFor[*fileNode]()},
	} {
		checked := 0
		for _, in := range nodeInterfaces {
			if !node.plain.Implements(in) {
				continue
			}
			for i := range in.NumMethod() {
				name := in.Method(i).Name
				if name == "EmbeddedInode" || slices.Contains(free, name) {
					continue
				}
				checked++
				m, _ := node.guarded.MethodByName(name)
				file, _ := runtime.FuncForPC(m.Func.Pointer()).FileLine(m.Func.Pointer())
				if filepath.Base(file) != "guarded.go" {
					t.Errorf("%s of %s is not guarded", name, node.guarded)
				}
			}
		}
		if checked < 9 {
			t.Errorf("only %d methods of %s were checked", checked, node.guarded)
		}
	}
}

// seen is a service that shows a user the document 1.
type seen struct{ rights.Archive }

func (seen) EachDocument(_ context.Context, _ archive.ID, _ archive.ListOptions, begin func() func(*archive.Document)) error {
	begin()(&archive.Document{ID: 1})
	return nil
}

func (seen) Whose(uint32) (string, error) { return "max", nil }

func (seen) Mapped() (people int, refused []string) { return 1, nil }

// A directory that changed while somebody reads it shows no more of it than before when it is read from its
// beginning again.
func TestARewoundDirectoryIsGuarded(t *testing.T) {
	k, d := holds(t, remotetest.Named(1, "a.pdf"), remotetest.Named(2, "hidden.pdf"))
	k.Judge = rights.New(rights.Config{
		People: seen{}, Archive: seen{}, TTL: time.Hour, Now: time.Now, Person: func(context.Context) (uint32, bool) { return 2, true },
	})
	n := &guardedDir{dirNode{d: d, k: k}}
	h := &dirHandle{n: &n.dirNode, guard: n}
	h.listing, h.entries = listingOf(d, true)
	if errno := n.filter(t.Context(), h); errno != 0 {
		t.Fatal(errno)
	}
	names := func() (all []string) {
		h.next = 0
		for {
			de, errno := h.Readdirent(t.Context())
			if errno != 0 {
				t.Fatal(errno)
			}
			if de == nil {
				return all
			}
			all = append(all, de.Name)
		}
	}
	want := []string{".", "..", "a.pdf"}
	for range 2 {
		if got := names(); !slices.Equal(got, want) {
			t.Errorf("%q", got)
		}
	}
	d.Mu.Lock()
	d.Shown.Add(tree.NewEntry("hidden, too.pdf", &archive.Document{ID: 3}, nil))
	d.Mu.Unlock()
	if got := names(); !slices.Equal(got, want) {
		t.Errorf("after a change: %q", got)
	}
	d.Mu.Lock()
	d.Shown.Drop(d.Shown.Get("a.pdf"))
	d.Mu.Unlock()
	for range 2 {
		if got := names(); !slices.Equal(got, want[:2]) {
			t.Errorf("where nothing is for the user: %q", got)
		}
	}
}
