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

// The operations that send a file.
var (
	OpFileUpload = Operation{"file-upload", "send the file", bulky}
	OpReplace    = Operation{"document/replace", "replace the document", optional | bulky}
)

// expectContinueFrom is the size in bytes from which a request asks the service with Expect:
// 100-continue before it sends the body (RFC 9110, section 10.1.1).
const expectContinueFrom = 1 << 20

// Upload archives a file, or places it in an inbox (specification, endpoint 3), and returns the ID of the new document,
// 0 if the answer has none. The file is not read after Upload has returned.
//
// After an error for which archive.Doubtful is true the document may exist.
func (c *Client) Upload(ctx context.Context, upload archive.Upload, file archive.Blob) (archive.ID, error) {
	r := postFile(OpFileUpload, "/file-upload", uploadFields(upload), upload.Name, file)
	r.requireID(upload.Folder).refuse(upload.CheckAttributes()).requireText(upload.AttributeTexts()...).requireText(upload.Name)
	answer, err := c.service.create(ctx, r)
	id := answer.id()
	if err == nil && id == 0 {
		err = c.service.vouched(ctx, r.op)
	}
	return id, err
}

// uploadFields returns the fields of the form. An attribute's field has its name, except for metadata.
func uploadFields(u archive.Upload) []field {
	fields := []field{{"target-folder-id", u.Folder.String()}, {"target-document-name", u.Name}}
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

// Replace replaces the content of an inbox document by file, under the given file name. Keywords
// are sent only if there are some.
func (c *Client) Replace(ctx context.Context, doc archive.ID, name string, keywords []string, file archive.Blob) error {
	r := postFile(OpReplace, documentPath(doc, "replace"), nil, name, file).about(doc).requireText(name).requireText(keywords...)
	if list := EscapeList(keywords); list != "" {
		r.query = url.Values{"keywords": {list}}
	}
	return c.service.acknowledge(ctx, r)
}

// postFile returns a request that sends a form with a file.
func postFile(op Operation, path string, fields []field, fileName string, file archive.Blob) *request {
	body, err := multipartPayload(fields, fileName, file)
	r := &request{op: op, method: http.MethodPost, path: path, body: body, invalid: err}
	if err == nil && body.size >= expectContinueFrom {
		r.header = http.Header{"Expect": {"100-continue"}}
	}
	return r
}

type field struct{ name, value string }

// multipartPayload returns a body of the fields that have a value, then the file as
// upload-data (RFC 7578). Only the framing is held in memory.
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

// inHeader replaces characters that are not allowed in the header of a part (RFC 9110, section
// 5.5), for which a service would refuse the whole body. mime/multipart escapes line breaks. The
// document's name is sent in another field.
func inHeader(r rune) rune {
	if unicode.IsControl(r) && !strings.ContainsRune("\r\n\t", r) {
		return '_'
	}
	return r
}

// exactly reads left bytes, and fails if the source ends before: a truncated file is never sent as a complete one.
type exactly struct {
	source io.Reader
	left   int64
}

func (e *exactly) Read(p []byte) (int, error) {
	n, err := e.source.Read(p)
	e.left -= int64(n)
	if err == io.EOF && e.left > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n, err
}
