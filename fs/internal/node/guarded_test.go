package node

import (
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
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
