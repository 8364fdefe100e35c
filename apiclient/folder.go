package apiclient

import (
	"context"
	"net/url"

	"github.com/archivefs/archivefs/archive"
)

// CreateFolder creates a folder below parent (specification, endpoint 4). The ID is 0
// when the answer does not tell it.
func (c *Client) CreateFolder(ctx context.Context, parent archive.ID, name string) (archive.Folder, error) {
	if err := requireID(OpFolderCreate, parent); err != nil {
		return archive.Folder{}, err
	}
	if err := requireText(OpFolderCreate, name); err != nil {
		return archive.Folder{}, err
	}
	form := url.Values{"parent-folder-id": {decimal(parent)}, "folder-name": {name}}
	text, err := c.whole(ctx, post(OpFolderCreate, "/folder/create", form), smallLimit)
	if err != nil {
		return archive.Folder{}, err
	}
	answer, err := parseIDAnswer(text)
	if err != nil {
		return archive.Folder{}, &archive.Error{Op: string(OpFolderCreate), Kind: archive.KindProtocol, Err: atOffset(err)}
	}
	folder := archive.Folder{ID: answer.id(), Name: name, ChildrenKnown: true}
	if answer.Name.text != "" {
		folder.Name = answer.Name.text
	}
	return folder, nil
}
