package apiclient

import (
	"bytes"
	"context"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"unicode"

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
	text, err := c.service.whole(ctx, postFile(OpFileUpload, "/file-upload", body), smallLimit)
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
	if err := u.CheckAttributes(); err != nil {
		return &archive.Error{Op: string(OpFileUpload), Kind: archive.KindInvalid, Err: err}
	}
	return requireText(OpFileUpload, append(u.AttributeTexts(), u.Name)...)
}

// uploadFields returns the fields of the form. That of an attribute is called as the attribute
// is, but for metadata.
func uploadFields(u archive.Upload) []field {
	fields := []field{{"target-folder-id", decimal(u.Folder)}, {"target-document-name", u.Name}}
	for _, a := range u.All() {
		switch v := a.Value.(type) {
		case *[]string:
			fields = append(fields, field{a.Name, EscapeList(*v)})
		case *[]archive.KeyValue:
			fields = append(fields, field{"external-metadatas", EscapeMetadata(*v)})
		case *string:
			fields = append(fields, field{a.Name, *v})
		case *archive.Flag:
			fields = append(fields, field{a.Name, v.String()})
		}
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
	return c.service.acknowledge(ctx, r)
}

// postFile returns a request that sends a file.
func postFile(op Operation, path string, body *payload) *request {
	r := &request{op: op, method: http.MethodPost, path: path, body: body}
	if body.size >= expectContinueFrom {
		r.header = http.Header{"Expect": {"100-continue"}}
	}
	return r
}

// field is a form field of a multipart body.
type field struct{ name, value string }

// multipartPayload returns a body of the fields that have a value, then the file as
// upload-data (RFC 7578). Only the framing is held in memory, which also tells the
// exact length.
func multipartPayload(fields []field, fileName string, file archive.Blob) (*payload, error) {
	var frame bytes.Buffer
	form := multipart.NewWriter(&frame)
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		if err := form.WriteField(f.name, f.value); err != nil {
			return nil, err
		}
	}
	if _, err := form.CreateFormFile("upload-data", strings.Map(inHeader, fileName)); err != nil {
		return nil, err
	}
	before := frame.Len()
	if err := form.Close(); err != nil {
		return nil, err
	}
	head, tail := frame.Bytes()[:before], frame.Bytes()[before:]
	size := file.Size()
	return &payload{
		contentType: form.FormDataContentType(),
		size:        int64(len(head)) + size + int64(len(tail)),
		open: func() io.Reader {
			return io.MultiReader(bytes.NewReader(head), &exactly{io.NewSectionReader(file, 0, size), size}, bytes.NewReader(tail))
		},
	}, nil
}

// inHeader replaces what may not stand in the head of a part (RFC 9110, section 5.5): a service
// would refuse all of it. Line breaks are escaped later. The name of the document is a field
// of its own.
func inHeader(r rune) rune {
	if unicode.IsControl(r) && !strings.ContainsRune("\r\n\t", r) {
		return '_'
	}
	return r
}

// exactly reads left bytes; a source that ends before fails, so that half a file is
// never sent as a whole one.
type exactly struct {
	source io.Reader
	left   int64
}

// Read implements io.Reader.
func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.source.Read(p)
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
