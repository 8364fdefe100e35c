package apiclient

import (
	"context"
	"net/url"
	"strconv"

	"github.com/archivefs/archivefs/archive"
)

// Archive archives an inbox document in the target folder (specification, endpoint 6).
// The archived document may have another ID.
func (c *Client) Archive(ctx context.Context, doc archive.ID, target archive.ArchiveTarget) error {
	for _, id := range []archive.ID{doc, target.Folder} {
		if err := requireID(OpArchive, id); err != nil {
			return err
		}
	}
	if err := requireText(OpArchive, append([]string{target.Name}, target.Keywords...)...); err != nil {
		return err
	}
	form := url.Values{"target-folder-id": {decimal(target.Folder)}}
	if target.Name != "" {
		form.Set("target-document-name", target.Name)
	}
	if keywords := EscapeList(target.Keywords); keywords != "" {
		form.Set("keywords", keywords)
	}
	return c.acknowledge(ctx, post(OpArchive, documentPath(doc, "archive"), form))
}

// SetAutoExport sets the auto-export status of a document (specification, endpoint 7).
func (c *Client) SetAutoExport(ctx context.Context, doc archive.ID, on bool) error {
	if err := requireID(OpAutoExportSet, doc); err != nil {
		return err
	}
	r := post(OpAutoExportSet, "/document/auto_export_status/set", url.Values{
		"document-id":       {decimal(doc)},
		"autoexport-status": {strconv.FormatBool(on)},
	})
	r.repeat = harmless
	return c.acknowledge(ctx, r)
}

// Rename gives a document another name.
func (c *Client) Rename(ctx context.Context, doc archive.ID, name string) error {
	if err := requireID(OpRename, doc); err != nil {
		return err
	}
	if err := requireText(OpRename, name); err != nil {
		return err
	}
	form := url.Values{"new-name": {name}}
	return c.acknowledge(ctx, post(OpRename, documentPath(doc, "rename"), form).about(doc))
}

// Delete deletes an inbox document.
func (c *Client) Delete(ctx context.Context, doc archive.ID) error {
	if err := requireID(OpDelete, doc); err != nil {
		return err
	}
	return c.acknowledge(ctx, post(OpDelete, documentPath(doc, "delete"), nil).about(doc))
}
