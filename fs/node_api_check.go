package fs

import fusefs "github.com/hanwen/go-fuse/v2/fs"

// A missing method would not fail: the library answers for it, often with success. So
// every operation of a node is here, also those that only refuse.

var (
	_ = fusefs.NodeLookuper((*dirNode)(nil))
	_ = fusefs.NodeGetattrer((*dirNode)(nil))
	_ = fusefs.NodeSetattrer((*dirNode)(nil))
	_ = fusefs.NodeOpendirHandler((*dirNode)(nil))
	_ = fusefs.NodeCreater((*dirNode)(nil))
	_ = fusefs.NodeMkdirer((*dirNode)(nil))
	_ = fusefs.NodeMknoder((*dirNode)(nil))
	_ = fusefs.NodeLinker((*dirNode)(nil))
	_ = fusefs.NodeSymlinker((*dirNode)(nil))
	_ = fusefs.NodeUnlinker((*dirNode)(nil))
	_ = fusefs.NodeRmdirer((*dirNode)(nil))
	_ = fusefs.NodeRenamer((*dirNode)(nil))
	_ = fusefs.NodeStatfser((*dirNode)(nil))
	_ = fusefs.NodeGetxattrer((*dirNode)(nil))
	_ = fusefs.NodeSetxattrer((*dirNode)(nil))
	_ = fusefs.NodeRemovexattrer((*dirNode)(nil))
	_ = fusefs.NodeListxattrer((*dirNode)(nil))

	_ = fusefs.NodeGetattrer((*fileNode)(nil))
	_ = fusefs.NodeSetattrer((*fileNode)(nil))
	_ = fusefs.NodeAccesser((*fileNode)(nil))
	_ = fusefs.NodeOpener((*fileNode)(nil))
	_ = fusefs.NodeStatfser((*fileNode)(nil))
	_ = fusefs.NodeGetxattrer((*fileNode)(nil))
	_ = fusefs.NodeSetxattrer((*fileNode)(nil))
	_ = fusefs.NodeRemovexattrer((*fileNode)(nil))
	_ = fusefs.NodeListxattrer((*fileNode)(nil))

	_ = fusefs.NodeSetattrer((*renditionNode)(nil))
	_ = fusefs.NodeSetxattrer((*renditionNode)(nil))
	_ = fusefs.NodeRemovexattrer((*renditionNode)(nil))
)
