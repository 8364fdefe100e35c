package apiclient

import (
	"context"
	"net/url"
	"slices"

	"github.com/archivefs/archivefs/archive"
)

// Structure returns the folder tree below parent, or of the whole archive when parent
// is 0 (specification, endpoint 1), as the service answers it: with a parent that is
// the parent itself or its children. After a lazy answer the children of a folder that
// lists none are not known; without lazy the tree is complete.
func (c *Client) Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error) {
	query := url.Values{}
	if parent != 0 {
		query.Set("parent-folder-id", decimal(parent))
	}
	if lazy {
		query.Set("lazy", "true")
	}
	var structure archive.Structure
	err := c.stream(ctx, get(OpStructure, "/archivestructure", query), func(r *jsonReader) error {
		folders := folderReader{jsonReader: r, lazy: lazy}
		s, err := folders.structure()
		if err != nil {
			return err
		}
		structure = s
		c.warnSkipped(OpStructure, folders.skipped)
		return nil
	})
	if err != nil {
		return archive.Structure{}, err
	}
	return structure, nil
}

// Children returns exactly the children of parent as the structure's folders; of 0, the
// mandators. Whether their own children are known each of them says.
//
// A lazy answer is enough unless it is the parent itself without children, which says
// nothing: then the complete tree below the parent is asked for, from then on at once.
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
// its children; false when they are not known. A folder is no child of itself.
func childrenOf(answer []archive.Folder, parent archive.ID) ([]archive.Folder, bool) {
	if len(answer) == 1 && answer[0].ID == parent {
		return answer[0].Children, answer[0].ChildrenKnown
	}
	return slices.DeleteFunc(answer, func(f archive.Folder) bool { return f.ID == parent }), true
}

// warnSkipped logs that an answer held folders without an id.
func (c *Client) warnSkipped(op Operation, skipped int) {
	if skipped > 0 {
		c.log.WithField("operation", string(op)).WithField("folders", skipped).Warn("folders without an id are left out")
	}
}
