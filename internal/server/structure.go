package server

import (
	"bufio"
	"context"
	"fmt"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/store"
)

// The answers below have the forms
//
//	{"free-archive-structure": true, "folders": [FOLDER, ...]}
//	{"free-inbox-structure": true, "inboxes": [{"user-id": 1, "folder": FOLDER}, ...], "folders": []}
//
// where a FOLDER is {"id": 1, "name": "M", "folders": [FOLDER, ...]}, and a lazy answer
// leaves the folders in it out. Clients that are generated from the public document need the
// folders beside the inboxes, and find nothing there.

// archiveStructure answers GET /archivestructure (specification, endpoint 1): the
// mandators, or the children of a parent. Lazy leaves the children of those out. Inboxes
// are no part of it.
func archiveStructure(w *response, r *request) error {
	const field = "parent-folder-id"
	p := query(r)
	below, parent, lazy := p.has(field), p.id(field), p.flag("lazy")
	if err := p.err(); err != nil {
		return err
	}
	free, err := free(r.Context(), r.catalog, settingFree)
	if err != nil {
		return err
	}
	var folders []store.Folder
	if below {
		folders, err = foldersBelow(r.Context(), r.catalog, parent, lazy)
		err = blame(field, err)
	} else {
		folders, err = roots(r.Context(), r.catalog, false, lazy)
	}
	if err != nil {
		return err
	}
	f := grow(folders, parent, lazy)
	w.stream(func(out *bufio.Writer) {
		_, _ = fmt.Fprintf(out, `{"free-archive-structure":%t,"folders":[`, free)
		f.top(func(at int32) {
			f.write(out, at)
			if f.next[at] != 0 {
				_ = out.WriteByte(',')
			}
		})
		_, _ = out.WriteString("]}")
	})
	return nil
}

// inboxes answers GET /inboxes (specification, endpoint 5), with the public parameter
// lazy.
func inboxes(w *response, r *request) error {
	p := query(r)
	lazy := p.flag("lazy")
	if err := p.err(); err != nil {
		return err
	}
	free, err := free(r.Context(), r.catalog, settingFreeInbox)
	if err != nil {
		return err
	}
	folders, err := roots(r.Context(), r.catalog, true, lazy)
	if err != nil {
		return err
	}
	f := grow(folders, 0, lazy)
	w.stream(func(out *bufio.Writer) {
		_, _ = fmt.Fprintf(out, `{"free-inbox-structure":%t,"inboxes":[`, free)
		f.top(func(at int32) {
			_, _ = fmt.Fprintf(out, `{"user-id":%d,"folder":`, f.folders[at-1].UserID)
			f.write(out, at)
			_ = out.WriteByte('}')
			if f.next[at] != 0 {
				_ = out.WriteByte(',')
			}
		})
		_, _ = out.WriteString(`],"folders":[]}`)
	})
	return nil
}

// roots returns the mandators, or the inboxes, with all folders below them unless lazy.
func roots(ctx context.Context, c folders, inboxes, lazy bool) ([]store.Folder, error) {
	if lazy {
		return c.Roots(ctx, inboxes)
	}
	return c.Tree(ctx, inboxes)
}

// foldersBelow returns the children of an archive folder, or all below it unless lazy.
func foldersBelow(ctx context.Context, c folders, parent archive.ID, lazy bool) ([]store.Folder, error) {
	f, err := c.Folder(ctx, parent)
	if err != nil {
		return nil, err
	}
	if f.Inbox {
		return nil, refuse(archive.KindNotFound, "folder %d lies in an inbox", parent)
	}
	if lazy {
		return c.Children(ctx, parent)
	}
	return c.Below(ctx, parent)
}
