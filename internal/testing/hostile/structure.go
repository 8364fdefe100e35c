package hostile

import "net/http"

// wholeTree is the depth of an answer that lists all.
const wholeTree = -1

// archiveStructure is endpoint 1.
func archiveStructure(st *store, c *call) answer {
	shape := c.cfg.Structure
	levels := wholeTree
	if c.flag("lazy") && !shape.LazyIgnored {
		levels = 0
	}
	top := st.children(0)
	if c.has("parent-folder-id") {
		parent := st.folder(c.number("parent-folder-id"))
		switch {
		case parent == nil || parent.Inbox:
			return c.refuse(http.StatusNotFound, "there is no such folder")
		case shape.Parent == ParentChildren:
			top = st.children(parent.ID)
		default:
			top = []*Folder{parent}
			if levels == 0 && shape.Parent == ParentItself {
				levels = 1
			}
		}
	}
	folders := make([]any, 0, len(top))
	for _, f := range top {
		folders = append(folders, folderObject(st, f, levels, shape.LazyChildren, shape.Leaf))
	}
	answer := object{"folders": folders}
	shape.Free.put(answer, "free-archive-structure")
	return c.json(answer)
}

// folderObject writes a folder with so many levels below it. Children that the depth
// hides are written as hidden says, children that do not exist as leaf says.
func folderObject(st *store, f *Folder, levels int, hidden, leaf Presence) object {
	o := object{"id": f.ID, "name": f.Name}
	if levels == 0 {
		hidden.put(o, "folders", []any{})
		return o
	}
	children := []any{}
	for _, child := range st.children(f.ID) {
		children = append(children, folderObject(st, child, levels-1, hidden, leaf))
	}
	if len(children) == 0 {
		leaf.put(o, "folders", children)
		return o
	}
	o["folders"] = children
	return o
}

// inboxList is endpoint 5.
func inboxList(st *store, c *call) answer {
	shape := c.cfg.Inboxes
	entries := loose{}
	for _, f := range st.inboxes() {
		entry := folderObject(st, f, wholeTree, Present, shape.Leaf)
		if !shape.Bare {
			entry = object{"user-id": f.User, "folder": entry}
		}
		entries = append(entries, entry)
	}
	answer := object{}
	shape.Free.put(answer, "free-inbox-structure")
	if shape.Folders {
		answer["folders"] = entries
	} else {
		answer["inboxes"] = entries
	}
	return c.json(answer)
}

// folderCreate is endpoint 4.
func folderCreate(st *store, c *call) answer {
	parent, name := st.folder(c.number("parent-folder-id")), c.text("folder-name")
	switch {
	case parent == nil:
		return c.refuse(http.StatusNotFound, "there is no such parent folder")
	case parent.Inbox && c.cfg.Inboxes.Free == FreeFalse, !parent.Inbox && c.cfg.Structure.Free == FreeFalse:
		return c.refuse(http.StatusForbidden, "the structure is not free")
	case name == "":
		return c.refuse(http.StatusBadRequest, "folder-name is empty")
	}
	for _, f := range st.children(parent.ID) {
		if f.Name == name {
			return c.refuse(http.StatusConflict, "a folder of that name exists")
		}
	}
	id := st.addFolder(Folder{Parent: parent.ID, Name: name})
	return c.done(c.json(object{"id": id, "name": name}))
}
