package server

import (
	"bufio"
	"cmp"
	"slices"
	"strconv"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// forest is a structure that is written as it is walked: beside the folders it takes 8
// bytes for each of them, however long the answer is.
type forest struct {
	folders []store.Folder // by ascending id
	lazy    bool           // the children of those at the top are left out
	// child and next are the first child of a folder, and the folder after it with the same
	// parent, as places in folders counted from 1; 0 is none. What child[0] begins is at the
	// top.
	child, next []int32
}

// grow links folders, given by ascending id; those of parent are at the top. One whose
// parent is not among them is left out.
func grow(folders []store.Folder, parent archive.ID, lazy bool) *forest {
	f := &forest{folders: folders, lazy: lazy, child: make([]int32, len(folders)+1), next: make([]int32, len(folders)+1)}
	for i := len(folders) - 1; i >= 0; i-- { // so that the first child ends up first
		above := 0
		if folders[i].Parent != parent {
			at, found := slices.BinarySearchFunc(folders, folders[i].Parent, func(f store.Folder, id archive.ID) int { return cmp.Compare(f.ID, id) })
			if !found {
				continue
			}
			above = at + 1
		}
		f.next[i+1] = f.child[above]
		f.child[above] = int32(i + 1) //nolint:gosec // no archive has so many folders
	}
	return f
}

// top calls each for the folders at the top, by ascending id.
func (f *forest) top(each func(at int32)) {
	for at := f.child[0]; at != 0; at = f.next[at] {
		each(at)
	}
}

// write writes the folder at a place with those below it. What goes wrong is told by out's
// Flush.
func (f *forest) write(out *bufio.Writer, at int32) {
	folder := f.folders[at-1]
	_, _ = out.Write(strconv.AppendInt(append(out.AvailableBuffer(), `{"id":`...), int64(folder.ID), 10))
	_, _ = out.Write(appendText(append(out.AvailableBuffer(), `,"name":`...), folder.Name))
	if !f.lazy {
		_, _ = out.WriteString(`,"folders":[`)
		for below := f.child[at]; below != 0; below = f.next[below] {
			f.write(out, below)
			if f.next[below] != 0 {
				_ = out.WriteByte(',')
			}
		}
		_ = out.WriteByte(']')
	}
	_ = out.WriteByte('}')
}
