package fs

import (
	"context"
	"strings"
	"syscall"

	fusefs "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"

	"github.com/archivefs/archivefs/internal/spool"
)

// uploadsDir shows the bytes of what is not archived. Local files are found in it by their names
// and not listed. An ID alone is a link to the name.
type uploadsDir struct{ fixedDir }

func (n *uploadsDir) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fusefs.Inode, syscall.Errno) {
	if up := n.find(name); up != nil {
		return n.file(ctx, up, out), 0
	}
	if up, r := n.byID(name); up != nil {
		link := &fusefs.MemSymlink{Data: []byte(uploadName(r))}
		link.Attr.Ino, link.Attr.Mode, link.Attr.Size = n.fs.inodes.Local(), fuse.S_IFLNK|0o777, uint64(len(link.Data))
		n.fs.fillOwner(&link.Attr)
		fillTime(&link.Attr, r.Changed)
		out.Attr = link.Attr
		return n.NewInode(ctx, link, fusefs.StableAttr{Mode: fuse.S_IFLNK, Ino: link.Attr.Ino}), 0
	}
	return nil, syscall.ENOENT
}

// byID returns an upload, or a local file that holds something; nil without one.
func (n *uploadsDir) byID(id string) (*spool.Upload, *spool.Record) {
	up, ok := n.fs.staging.spool.Get(id)
	if !ok {
		return nil, nil
	}
	r := up.Record()
	if !listed(&r) && !holdsHere(up, &r) {
		return nil, nil
	}
	return up, &r
}

// find returns the upload of that name, nil without one.
func (n *uploadsDir) find(name string) *spool.Upload {
	id, _, _ := strings.Cut(name, " ")
	up, r := n.byID(id)
	if up == nil || uploadName(r) != name {
		return nil
	}
	return up
}

// file is the node of an upload: a file that no folder shows.
func (n *uploadsDir) file(ctx context.Context, up *spool.Upload, out *fuse.EntryOut) *fusefs.Inode {
	f := n.fs.keptFile(up)
	out.SetAttrTimeout(f.fill(&out.Attr))
	var node fusefs.InodeEmbedder = &fileNode{f: f}
	if up.Record().Directory {
		node = &folderUpload{fileNode{f: f}}
	}
	return n.NewInode(ctx, node, fusefs.StableAttr{Mode: fuse.S_IFREG, Ino: f.ino})
}

// folderUpload is a folder that is to be made, among the uploads: a file without bytes.
type folderUpload struct{ fileNode }

// Open opens nothing, so that all uploads can be copied out.
func (n *folderUpload) Open(ctx context.Context, flags uint32) (fusefs.FileHandle, uint32, syscall.Errno) {
	if accessOf(ctx, flags).write {
		return n.fileNode.Open(ctx, flags) // which refuses
	}
	return statusHandle(nil), 0, 0
}

// keptFile is the file of an upload in the control directory: the same one, with the same
// inode number, as long as there is the upload.
func (f *FileSystem) keptFile(up *spool.Upload) *file {
	f.mu.Lock()
	defer f.mu.Unlock()
	for id := range f.kept {
		if _, there := f.staging.spool.Get(id); !there {
			delete(f.kept, id)
		}
	}
	if f.kept[up.ID()] == nil {
		f.kept[up.ID()] = newFile(f, f.inodes.Local(), nil, nil, nil, up)
	}
	return f.kept[up.ID()]
}

func (n *uploadsDir) Readdir(context.Context) (fusefs.DirStream, syscall.Errno) {
	var list []fuse.DirEntry
	for _, up := range n.fs.staging.spool.List() {
		if r := up.Record(); listed(&r) {
			list = append(list, fuse.DirEntry{Name: uploadName(&r), Mode: fuse.S_IFREG})
		}
	}
	return fusefs.NewListDirStream(list), 0
}

// Unlink discards an upload and its bytes.
func (n *uploadsDir) Unlink(_ context.Context, name string) syscall.Errno {
	err := n.fs.mayChange()
	if err == nil {
		err = syscall.ENOENT
		if up := n.find(name); up != nil {
			err = n.fs.staging.forget(up)
		}
	}
	return n.fs.errnos.Of("discard", name, err)
}
