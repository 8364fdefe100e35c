//go:build linux

package office

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// What a colleague does, who works with the service without this mount.

// Add puts a document into a folder.
func (o *Office) Add(ctx context.Context, name string, content []byte, path ...string) error {
	id, err := o.folder(ctx, path...)
	if err != nil {
		return err
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for field, value := range map[string]string{"target-folder-id": strconv.FormatInt(id, 10), "target-document-name": name} {
		if err := form.WriteField(field, value); err != nil {
			return err
		}
	}
	file, err := form.CreateFormFile("upload-data", name)
	if err != nil {
		return err
	}
	if _, err := file.Write(content); err != nil {
		return err
	}
	if err := form.Close(); err != nil {
		return err
	}
	return o.post(ctx, "/file-upload", form.FormDataContentType(), &body)
}

// Rename gives a document of a folder another name.
func (o *Office) Rename(ctx context.Context, name, newName string, path ...string) error {
	return o.change(ctx, "rename", url.Values{"new-name": {newName}}, name, path)
}

// Remove removes a document from an inbox.
func (o *Office) Remove(ctx context.Context, name string, path ...string) error {
	return o.change(ctx, "delete", nil, name, path)
}

func (o *Office) change(ctx context.Context, operation string, form url.Values, name string, path []string) error {
	d, err := o.document(ctx, name, path)
	if err != nil {
		return err
	}
	return o.post(ctx, fmt.Sprintf("/document/%d/%s", d.ID, operation), "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
}

// post asks the service for a change, past the wire.
func (o *Office) post(ctx context.Context, path, kind string, body io.Reader) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, o.direct+path, body)
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", kind)
	_, err = o.send(r)
	return err
}
