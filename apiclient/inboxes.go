package apiclient

import (
	"context"
	"errors"

	"github.com/archivefs/archivefs/archive"
)

var errNoInboxes = errors.New("the answer is no list of inboxes")

// Inboxes returns the inboxes with their folder trees (specification, endpoint 5).
func (c *Client) Inboxes(ctx context.Context) (archive.Inboxes, error) {
	var inboxes archive.Inboxes
	err := c.stream(ctx, get(OpInboxes, "/inboxes", nil), func(r *jsonReader) error {
		reader := inboxReader{folderReader{jsonReader: r}}
		read, err := reader.inboxes()
		if err != nil {
			return err
		}
		inboxes = read
		c.warnSkipped(OpInboxes, reader.skipped)
		return nil
	})
	if err != nil {
		return archive.Inboxes{}, err
	}
	return inboxes, nil
}

// inboxReader reads inboxes.
type inboxReader struct{ folderReader }

// inboxes reads an object whose array of inboxes is called inboxes or folders, the
// array alone, or null.
func (r *inboxReader) inboxes() (archive.Inboxes, error) {
	all := archive.Inboxes{Free: true}
	if kind := r.kind(); kind != '{' {
		if kind != '[' && kind != 'n' {
			return all, errNoInboxes
		}
		err := r.entries(&all.Inboxes)
		return all, err
	}
	var folders []archive.Inbox
	members, known := 0, 0
	err := r.members(func(name []byte) error {
		members++
		switch string(name) {
		case "free-inbox-structure":
			known++
			return r.free(&all.Free)
		case "inboxes":
			known++
			return r.entries(&all.Inboxes)
		case "folders":
			known++
			return r.entries(&folders)
		}
		return r.skip()
	})
	if err == nil && members > 0 && known == 0 {
		err = errNoInboxes
	}
	if len(all.Inboxes) == 0 {
		all.Inboxes = folders
	}
	return all, err
}

// entries appends a value described as an array of inboxes to all.
func (r *inboxReader) entries(all *[]archive.Inbox) error {
	if r.kind() != '[' {
		return r.entry(all)
	}
	return r.elements(func() error { return r.entry(all) })
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
