package apiclient

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// The operations on folders.
var (
	OpStructure    = Operation{"archivestructure", "list the folders", listing}
	OpFolderCreate = Operation{"folder/create", "make the folder", 0}
	OpInboxes      = Operation{"inboxes", "list the inboxes", listing}
)

// Structure returns the folder tree below parent, or of the whole archive if parent is 0 (specification, endpoint 1),
// as the service answers it: the answer for a parent is the parent itself or its children. In a lazy answer a folder
// without children may have some; without lazy the tree is complete.
func (c *Client) Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error) {
	query := url.Values{}
	if parent != 0 {
		query.Set("parent-folder-id", parent.String())
	}
	if lazy {
		query.Set("lazy", "true")
	}
	var structure archive.Structure
	r := get(OpStructure, "/archivestructure", query)
	r.top = parent == 0
	err := c.service.stream(ctx, r, func(j *jsonReader) error {
		folders := folderReader{jsonReader: j, lazy: lazy}
		if r.top {
			folders.had = func() bool { return c.sender.had(ctx) }
		}
		var err error
		if structure, err = folders.structure(); err == nil {
			warnSkipped(c.log, OpStructure, "folders", folders.skipped)
		}
		return err
	})
	if err != nil {
		return archive.Structure{}, err
	}
	return structure, nil
}

// Children returns exactly the children of parent as the structure's folders; of 0, the
// mandators. ChildrenKnown says of each whether its own children are known.
//
// A lazy answer is enough, unless it is the parent itself without children: it may have some.
// Then Children requests the complete tree below the parent, from now on without a lazy request.
func (c *Client) Children(ctx context.Context, parent archive.ID) (archive.Structure, error) {
	if parent == 0 {
		return c.Structure(ctx, 0, true)
	}
	if !c.lazyIsSilent.Load() {
		s, err := c.Structure(ctx, parent, true)
		if err != nil {
			return archive.Structure{}, err
		}
		if children, known := childrenOf(s.Folders, parent); known {
			s.Folders = children
			return s, nil
		}
		c.lazyIsSilent.Store(true)
	}
	s, err := c.Structure(ctx, parent, false)
	if err != nil {
		return archive.Structure{}, err
	}
	s.Folders, _ = childrenOf(s.Folders, parent)
	return s, nil
}

// childrenOf returns the children of parent from an answer that is the parent itself or
// its children; false if they are not known. A folder is not its own child.
func childrenOf(answer []archive.Folder, parent archive.ID) ([]archive.Folder, bool) {
	if len(answer) == 1 && answer[0].ID == parent {
		return answer[0].Children, answer[0].ChildrenKnown
	}
	return slices.DeleteFunc(answer, func(f archive.Folder) bool { return f.ID == parent }), true
}

// warnSkipped logs how many folders or documents of an answer had no id.
func warnSkipped(log logrus.FieldLogger, op Operation, what string, skipped int) {
	if skipped > 0 {
		log.WithField("operation", op.name).WithField(what, skipped).Warn(what + " without an id are left out")
	}
}

// CreateFolder creates a folder below parent (specification, endpoint 4). The ID is 0 if the answer has none.
func (c *Client) CreateFolder(ctx context.Context, parent archive.ID, name string) (archive.Folder, error) {
	form := url.Values{"parent-folder-id": {parent.String()}, "folder-name": {name}}
	answer, err := c.service.create(ctx, post(OpFolderCreate, "/folder/create", form).requireID(parent).requireText(name))
	if err != nil {
		return archive.Folder{}, err
	}
	return archive.Folder{ID: answer.id(), Name: cmp.Or(answer.Name.text, name), ChildrenKnown: true}, nil
}

// deepestFolder bounds how deep folders nest in an answer.
const deepestFolder = 200

var (
	errTooDeep   = fmt.Errorf("folders nest deeper than %d", deepestFolder)
	errNoFolders = errors.New("the answer is no structure of folders")
	errNoIDs     = errors.New("no folder of the answer has an id")
	errEmptied   = errors.New("the whole archive is empty all of a sudden, so its last listing stands")
)

type folderReader struct {
	*jsonReader
	// lazy: the answer may leave out children.
	lazy bool
	// had is nil below the top of the archive; it reports whether the top has listed something before.
	had     func() bool
	skipped int // folders without an id
}

// folders reads an array of folders, one folder, or null. Any other value is skipped as a folder
// without an id. depth is that of the folders.
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

// append reads a value, and appends it if it is a folder with an id.
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

type folderWire struct {
	id, name scalar
	children []archive.Folder
}

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

// folder returns the folder; false, and skipped, if it has no id.
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

// structure reads an archive structure. One without a single usable folder is an error, because
// it must not look like an empty archive.
func (r *folderReader) structure() (archive.Structure, error) {
	s, err := r.anyStructure()
	switch {
	case err != nil || len(s.Folders) > 0:
	case r.skipped > 0:
		err = errNoIDs
	case r.had != nil && r.had():
		err = errEmptied
	}
	return s, err
}

// anyStructure reads an object with folders, an array of folders, or one folder. Anything else is an
// error: absence is not emptiness. Only below the top the array of folders may be null or absent.
func (r *folderReader) anyStructure() (archive.Structure, error) {
	s := archive.Structure{Free: true}
	if kind := r.kind(); kind != '{' {
		if kind != '[' {
			return s, errNoFolders
		}
		var err error
		s.Folders, err = r.folders(1)
		return s, err
	}
	var root folderWire
	known, isFolder := false, true
	err := r.members(func(name []byte) error {
		switch string(name) {
		case "free-archive-structure":
			known, isFolder = known || r.had == nil, false
			return r.free(&s.Free)
		case "folders", "id":
			known = known || r.had == nil || r.kind() != 'n'
		}
		return r.member(&root, name, 0)
	})
	switch {
	case err != nil:
		return s, err
	case !known:
		return s, errNoFolders
	}
	if !isFolder || !root.id.set {
		s.Folders = root.children
	} else if folder, ok := r.folder(&root); ok {
		s.Folders = []archive.Folder{folder}
	}
	return s, nil
}

// free reads whether a structure is free. It is, unless the value is false.
func (r *folderReader) free(free *bool) error {
	var s scalar
	if err := r.scalar(&s); err != nil {
		return err
	}
	*free = s.flag() != archive.FlagFalse
	return nil
}

var errNoInboxes = errors.New("the answer is no list of inboxes")

// Inboxes returns the inboxes with their folder trees (specification, endpoint 5).
func (c *Client) Inboxes(ctx context.Context) (archive.Inboxes, error) {
	var inboxes archive.Inboxes
	err := c.service.stream(ctx, get(OpInboxes, "/inboxes", nil), func(r *jsonReader) error {
		reader := inboxReader{folderReader{jsonReader: r}}
		var err error
		if inboxes, err = reader.inboxes(); err == nil {
			warnSkipped(c.log, OpInboxes, "folders", reader.skipped)
		}
		return err
	})
	if err != nil {
		return archive.Inboxes{}, err
	}
	return inboxes, nil
}

type inboxReader struct{ folderReader }

// inboxes reads an object with an array of inboxes (the member inboxes or folders), or the array
// alone. As in a structure, absence is not emptiness.
func (r *inboxReader) inboxes() (archive.Inboxes, error) {
	all := archive.Inboxes{Free: true}
	if kind := r.kind(); kind != '{' {
		if kind != '[' {
			return all, errNoInboxes
		}
		err := r.entries(&all.Inboxes)
		return all, err
	}
	var folders []archive.Inbox
	known := false
	err := r.members(func(name []byte) error {
		switch string(name) {
		case "free-inbox-structure":
			return r.free(&all.Free)
		case "inboxes":
			known = known || r.kind() != 'n'
			return r.entries(&all.Inboxes)
		case "folders":
			known = known || r.kind() != 'n'
			return r.entries(&folders)
		}
		return r.skip()
	})
	if err == nil && !known {
		err = errNoInboxes
	}
	if len(all.Inboxes) == 0 {
		all.Inboxes = folders
	}
	return all, err
}

// entries reads an array of inboxes, or a single one, and appends them to all.
func (r *inboxReader) entries(all *[]archive.Inbox) error {
	return r.oneOrMore(func() error { return r.entry(all) })
}

// entry reads one inbox: a user with a folder, or a folder itself.
func (r *inboxReader) entry(all *[]archive.Inbox) error {
	if r.kind() != '{' {
		return r.skip()
	}
	var (
		user   scalar
		nested []archive.Folder
		plain  folderWire
	)
	err := r.members(func(name []byte) (err error) {
		switch string(name) {
		case "user-id":
			return r.scalar(&user)
		case "folder":
			nested, err = r.folders(1)
			return err
		}
		return r.member(&plain, name, 1)
	})
	if err != nil {
		return err
	}
	if len(nested) == 0 {
		folder, ok := r.folder(&plain)
		if !ok {
			return nil
		}
		nested = []archive.Folder{folder}
	}
	id, _ := user.int64()
	for _, folder := range nested {
		*all = append(*all, archive.Inbox{UserID: id, Folder: folder})
	}
	return nil
}
