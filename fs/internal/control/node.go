package control

import (
	"context"
	"path"
	"syscall"
	"time"
)

// Node is what has a name: a *Dir, a *File, a *Link, or a file that the Mount returned.
type Node interface {
	// Number is the inode number.
	Number() uint64
}

// Attr are the attributes of a node. A zero Time stands for the start of the mount.
type Attr struct {
	Ino  uint64
	Mode uint32 // type and permissions, as in stat(2), before the umask
	Size int64  // bytes; 0 for directories
	Time time.Time
}

// Entry is a name in the listing of a directory, with the type bits of its mode.
type Entry struct {
	Name string
	Mode uint32
	Ino  uint64 // 0 where a listing does not tell it
}

// Dir is a directory. Nothing can be created or renamed in it. Errors of nodes are an
// *fs.PathError, which is worth a line in the log, or a bare syscall.Errno.
type Dir struct {
	Ino uint64
	// Lookup returns ENOENT for a name that does not exist.
	Lookup func(ctx context.Context, name string) (Node, error)
	// List is nil where nothing is listed.
	List func(ctx context.Context) ([]Entry, error)
	// Remove is nil where nothing can be removed.
	Remove func(name string) error
	// SetAttr sets an extended attribute; nil where none can be set.
	SetAttr func(attr string, value []byte) error
}

// File is a file whose content is made when it is opened: each open is a snapshot. Now is its
// modification time.
type File struct {
	Ino     uint64
	Path    string // from the top of the mount
	Now     func() time.Time
	Content func(ctx context.Context) ([]byte, error)
}

// Link is a symbolic link. Its target is found out whenever somebody reads it.
type Link struct {
	Ino    uint64
	Size   int64 // length of the target; 0 where it takes requests to know it, as in /proc
	Time   time.Time
	Target func(ctx context.Context) (string, error)
}

// Number is the inode number.
func (d *Dir) Number() uint64 { return d.Ino }

// Number is the inode number.
func (f *File) Number() uint64 { return f.Ino }

// Number is the inode number.
func (l *Link) Number() uint64 { return l.Ino }

// Attr returns the attributes and no error.
func (d *Dir) Attr(context.Context) (Attr, error) {
	return Attr{Ino: d.Ino, Mode: syscall.S_IFDIR | 0o555}, nil
}

// Attr returns the attributes, or the error of Content, which it calls for the length.
func (f *File) Attr(ctx context.Context) (Attr, error) {
	content, err := f.Content(ctx)
	return Attr{Ino: f.Ino, Mode: syscall.S_IFREG | 0o444, Size: int64(len(content)), Time: f.Now()}, err
}

// Attr returns the attributes and no error.
func (l *Link) Attr(context.Context) (Attr, error) {
	return Attr{Ino: l.Ino, Mode: syscall.S_IFLNK | 0o777, Size: l.Size, Time: l.Time}, nil
}

// named is a node with its name.
type named struct {
	name string
	node Node
}

// dirOf is a directory of fixed nodes.
func dirOf(ino uint64, nodes ...named) *Dir {
	d := &Dir{Ino: ino}
	d.Lookup = func(_ context.Context, name string) (Node, error) {
		for _, n := range nodes {
			if n.name == name {
				return n.node, nil
			}
		}
		return nil, syscall.ENOENT
	}
	d.List = func(context.Context) ([]Entry, error) {
		var list []Entry
		for _, n := range nodes {
			mode := uint32(syscall.S_IFDIR)
			if _, file := n.node.(*File); file {
				mode = syscall.S_IFREG
			}
			list = append(list, Entry{Name: n.name, Mode: mode, Ino: n.node.Number()})
		}
		return list, nil
	}
	return d
}

// below is a path in the control directory, from the top of the mount.
func below(names ...string) string {
	return path.Join(append([]string{Name}, names...)...)
}
