package apiclient

import (
	"bytes"
	"io"
	"mime/multipart"
	"strings"
	"unicode"

	"github.com/archivefs/archivefs/archive"
)

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
