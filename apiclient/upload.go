package apiclient

import (
	"context"
	"errors"
	"net/http"
	"net/url"

	"github.com/archivefs/archivefs/archive"
)

// expectContinueFrom is the size in bytes from which the service is asked first whether
// it takes the body (RFC 9110, section 10.1.1), so that a refusal does not cost one.
const expectContinueFrom = 1 << 20

// Upload archives a file, or places it in an inbox (specification, endpoint 3), and
// returns the new document's ID, 0 when the answer does not tell it. The file is not
// read after Upload has returned.
//
// After an error for which archive.Doubtful holds the document may be there all the
// same.
func (c *Client) Upload(ctx context.Context, upload archive.Upload, file archive.Blob) (archive.ID, error) {
	if err := checkUpload(upload); err != nil {
		return 0, err
	}
	body, err := multipartPayload(uploadFields(upload), upload.Name, file)
	if err != nil {
		return 0, &archive.Error{Op: string(OpFileUpload), Kind: archive.KindInvalid, Err: err}
	}
	text, err := c.whole(ctx, postFile(OpFileUpload, "/file-upload", body), smallLimit)
	if err != nil {
		return 0, err
	}
	id, err := parseID(text)
	if err != nil {
		return 0, &archive.Error{Op: string(OpFileUpload), Kind: archive.KindProtocol, Err: atOffset(err)}
	}
	return id, nil
}

// checkUpload refuses what would be archived as something else than meant.
func checkUpload(u archive.Upload) error {
	if err := requireID(OpFileUpload, u.Folder); err != nil {
		return err
	}
	if !u.EmailImportOrder.Valid() {
		return &archive.Error{
			Op: string(OpFileUpload), Kind: archive.KindInvalid, Err: errors.New("unknown e-mail import order"),
		}
	}
	all := append([]string{u.Name, u.ExternalID}, u.Keywords...)
	all = append(all, u.Types...)
	return requireText(OpFileUpload, append(all, texts(u.Metadata)...)...)
}

func uploadFields(u archive.Upload) []field {
	fields := []field{
		{"target-folder-id", decimal(u.Folder)},
		{"target-document-name", u.Name},
		{"keywords", EscapeList(u.Keywords)},
		{"document-types", EscapeList(u.Types)},
		{"external-id", u.ExternalID},
		{"external-metadatas", EscapeMetadata(u.Metadata)},
		{"email-import-order", string(u.EmailImportOrder)},
	}
	switch u.ForceNew {
	case archive.FlagTrue:
		fields = append(fields, field{"force-new-document", "true"})
	case archive.FlagFalse:
		fields = append(fields, field{"force-new-document", "false"})
	}
	return fields
}

// Replace puts file in the place of an inbox document's content, under the given file
// name. The keywords are sent only when there are some.
func (c *Client) Replace(ctx context.Context, doc archive.ID, name string, keywords []string, file archive.Blob) error {
	if err := requireID(OpReplace, doc); err != nil {
		return err
	}
	if err := requireText(OpReplace, append([]string{name}, keywords...)...); err != nil {
		return err
	}
	body, err := multipartPayload(nil, name, file)
	if err != nil {
		return &archive.Error{Op: string(OpReplace), Kind: archive.KindInvalid, Err: err}
	}
	r := postFile(OpReplace, documentPath(doc, "replace"), body).about(doc)
	if list := EscapeList(keywords); list != "" {
		r.query = url.Values{"keywords": {list}}
	}
	return c.acknowledge(ctx, r)
}

// postFile returns a request that sends a file.
func postFile(op Operation, path string, body *payload) *request {
	r := &request{op: op, method: http.MethodPost, path: path, body: body}
	if body.size >= expectContinueFrom {
		r.header = http.Header{"Expect": {"100-continue"}}
	}
	return r
}
