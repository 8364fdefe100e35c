package node

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"syscall"
	"testing"
	"time"

	fusefs "github.com/hanwen/go-fuse/v2/fs"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote/remotetest"
	"github.com/archivefs/archivefs/fs/internal/rights"
	"github.com/archivefs/archivefs/fs/internal/staging"
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

// strangers are users of whom the mount knows nothing.
type strangers struct{ seen }

func (strangers) Whose(uint32) (string, error) { return "", errors.New("unknown") }

// Every request that a node answers is refused to somebody who sees nothing, except those that tell nothing
// of it.
func TestEveryRequestIsGuarded(t *testing.T) {
	k, d := holds(t, remotetest.Named(1, "a.pdf"))
	k.Guard.Judge = rights.New(rights.Config{
		People: strangers{}, Archive: seen{}, TTL: time.Hour, Now: time.Now, Person: func(context.Context) (uint32, bool) { return 2, true },
	})
	free := []string{"Statfs", "Link", "Symlink", "EmbeddedInode"}
	args := map[reflect.Type]reflect.Value{
		reflect.TypeFor[context.Context](): reflect.ValueOf(t.Context()), reflect.TypeFor[string](): reflect.ValueOf("a.pdf"),
	}
	for _, node := range []fusefs.InodeEmbedder{k.nodeOfDir(d), &fileNode{f: staging.FileOf(d, d.Get("a.pdf")), k: k}} {
		args[reflect.TypeFor[fusefs.InodeEmbedder]()] = reflect.ValueOf(node)
		checked := 0
		for _, in := range nodeInterfaces {
			if !reflect.TypeOf(node).Implements(in) {
				continue
			}
			for method := range in.Methods() {
				name := method.Name
				if slices.Contains(free, name) {
					continue
				}
				checked++
				m := reflect.ValueOf(node).MethodByName(name)
				var in []reflect.Value
				for of := range m.Type().Ins() {
					switch arg, ok := args[of]; {
					case ok:
						in = append(in, arg)
					case of.Kind() == reflect.Pointer:
						in = append(in, reflect.New(of.Elem()))
					default:
						in = append(in, reflect.Zero(of))
					}
				}
				out := m.Call(in)
				if errno := out[len(out)-1].Interface(); errno != syscall.EACCES {
					t.Errorf("%s of %T: %v", name, node, errno)
				}
			}
		}
		if checked < 9 {
			t.Errorf("only %d methods of %T were checked", checked, node)
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
	k.Guard.Judge = rights.New(rights.Config{
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
