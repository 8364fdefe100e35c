package apiclient

import (
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// deepestFolder bounds how deep folders nest in an answer.
const deepestFolder = 200

var (
	errTooDeep   = fmt.Errorf("folders nest deeper than %d", deepestFolder)
	errNoFolders = errors.New("the answer is no structure of folders")
	errNoIDs     = errors.New("no folder of the answer has an id")
)

// folderReader reads folder trees.
type folderReader struct {
	*jsonReader
	// lazy: the answer may leave out children, so that a folder without any says nothing.
	lazy    bool
	skipped int // folders without an id
}

// folders reads a value described as an array of folders: an array, one folder, or
// null. What is none of them counts as a folder without an id. depth is that of the
// folders themselves.
func (r *folderReader) folders(depth int) ([]archive.Folder, error) {
	var folders []archive.Folder
	var err error
	switch r.kind() {
	case '[':
		err = r.elements(func() error { return r.append(&folders, depth) })
	case 'n':
		err = r.skip()
	default:
		err = r.append(&folders, depth)
	}
	return folders, err
}

// append reads a folder and appends it, if it is one and has an id.
func (r *folderReader) append(folders *[]archive.Folder, depth int) error {
	if depth > deepestFolder {
		return errTooDeep
	}
	if r.kind() != '{' {
		r.skipped++
		return r.skip()
	}
	var wire folderWire
	if err := r.members(func(name []byte) error { return r.member(&wire, name, depth) }); err != nil {
		return err
	}
	if folder, ok := r.folder(&wire); ok {
		*folders = append(*folders, folder)
	}
	return nil
}

// folderWire is a folder being read.
type folderWire struct {
	id, name scalar
	children []archive.Folder
}

// member reads one member of a folder at depth.
func (r *folderReader) member(wire *folderWire, name []byte, depth int) error {
	switch string(name) {
	case "id":
		return r.scalar(&wire.id)
	case "name":
		return r.scalar(&wire.name)
	case "folders":
		children, err := r.folders(depth + 1)
		wire.children = children
		return err
	}
	return r.skip()
}

// folder returns what was read; false, and counted, when it has no id.
func (r *folderReader) folder(wire *folderWire) (archive.Folder, bool) {
	f := archive.Folder{
		ID:            wire.id.id(),
		Name:          wire.name.text,
		Children:      wire.children,
		ChildrenKnown: !r.lazy || len(wire.children) > 0,
	}
	if f.ID == 0 {
		r.skipped++
	}
	return f, f.ID != 0
}

// structure reads an archive structure. An answer of which nothing can be used is an
// error: it must not look like an empty archive.
func (r *folderReader) structure() (archive.Structure, error) {
	s, err := r.anyStructure()
	if err == nil && len(s.Folders) == 0 && r.skipped > 0 {
		err = errNoIDs
	}
	return s, err
}

// anyStructure reads an object with folders, an array of folders, one folder, or null.
// An object of something else is an error.
func (r *folderReader) anyStructure() (archive.Structure, error) {
	s := archive.Structure{Free: true}
	if kind := r.kind(); kind != '{' {
		if kind != '[' && kind != 'n' {
			return s, errNoFolders
		}
		var err error
		s.Folders, err = r.folders(1)
		return s, err
	}
	var root folderWire
	members, known, isFolder := 0, 0, true
	err := r.members(func(name []byte) error {
		members++
		switch string(name) {
		case "free-archive-structure":
			known++
			isFolder = false
			return r.free(&s.Free)
		case "folders", "id":
			known++
		}
		return r.member(&root, name, 0)
	})
	if err != nil {
		return s, err
	}
	if members > 0 && known == 0 {
		return s, errNoFolders
	}
	if !isFolder || !root.id.set {
		s.Folders = root.children
	} else if folder, ok := r.folder(&root); ok {
		s.Folders = []archive.Folder{folder}
	}
	return s, nil
}

// free reads whether a structure is free; what is no boolean leaves it as it is.
func (r *folderReader) free(free *bool) error {
	var s scalar
	if err := r.scalar(&s); err != nil {
		return err
	}
	*free = s.flag() != archive.FlagFalse
	return nil
}
