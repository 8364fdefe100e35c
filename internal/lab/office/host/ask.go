//go:build linux

package host

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// get asks the service, past the wire.
func (h *Host) get(ctx context.Context, path string) ([]byte, error) {
	return h.ask(ctx, http.MethodGet, path, "", nil)
}

func (h *Host) ask(ctx context.Context, method, path, kind string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, "http://"+h.direct+"/api/v2"+path, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("API-Key", key)
	if kind != "" {
		r.Header.Set("Content-Type", kind)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	all, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", path, answer.Status, bytes.TrimSpace(all))
	}
	return all, err
}

type folder struct {
	ID      int64    `json:"id"`
	Name    string   `json:"name"`
	Folders []folder `json:"folders"`
}

// folder finds a folder by its path in the mount.
func (h *Host) folder(ctx context.Context, path string) (int64, error) {
	var answer struct {
		Folders []folder `json:"folders"`
		Inboxes []struct {
			Folder folder `json:"folder"`
		} `json:"inboxes"`
	}
	where := "/archivestructure"
	below, isInbox := strings.CutPrefix(path, "inboxes/")
	if isInbox {
		where = "/inboxes"
	}
	body, err := h.get(ctx, where)
	if err != nil {
		return 0, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return 0, err
	}
	for _, inbox := range answer.Inboxes {
		answer.Folders = append(answer.Folders, inbox.Folder)
	}
	found := folder{Folders: answer.Folders}
	for name := range strings.SplitSeq(below, "/") {
		i := slices.IndexFunc(found.Folders, func(f folder) bool { return f.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("the archive has no folder %q", path)
		}
		found = found.Folders[i]
	}
	return found.ID, nil
}

// Document is what the archive has of a document.
type Document struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Documents are the documents in a folder, in the order of their ids.
func (h *Host) Documents(ctx context.Context, path string) (all []Document, err error) {
	id, err := h.folder(ctx, path)
	if err != nil {
		return nil, err
	}
	body, err := h.get(ctx, "/document/list?folder-id="+strconv.FormatInt(id, 10))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(body, &all)
	return all, err
}

// Content is what the archive has of a document.
func (h *Host) Content(ctx context.Context, id int64) ([]byte, error) {
	return h.get(ctx, fmt.Sprintf("/document/%d/pdf?original=true", id))
}

// Add archives a document as another user of the service does, past the mount.
func (h *Host) Add(ctx context.Context, path, name string, content []byte) error {
	id, err := h.folder(ctx, path)
	if err != nil {
		return err
	}
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	err = w.WriteField("target-folder-id", strconv.FormatInt(id, 10))
	if err != nil {
		return err
	}
	part, err := w.CreateFormFile("upload-data", name)
	if err != nil {
		return err
	}
	_, _ = part.Write(content) // a buffer takes everything
	if err := w.Close(); err != nil {
		return err
	}
	_, err = h.ask(ctx, http.MethodPost, "/file-upload", w.FormDataContentType(), &form)
	return err
}

// Upload is what the mount has not archived.
type Upload struct {
	ID         string `json:"id"`
	State      string `json:"state"`
	Path       string `json:"path"`
	Size       int64  `json:"size"`
	Incomplete bool   `json:"incomplete"`
	Error      string `json:"error"`
}

// Uploads are what the mount has not archived, and files that stay on its machine.
func (h *Host) Uploads(ctx context.Context) (all []Upload, err error) {
	out, err := h.run(ctx, h.program, "uploads", "list", "--json", h.Mount)
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(out), &all)
	return all, err
}

// Export is what the mount has of an upload.
func (h *Host) Export(ctx context.Context, id string) ([]byte, error) {
	dir, err := os.MkdirTemp(h.dir, "export-*")
	if err != nil {
		return nil, err
	}
	out, err := h.run(ctx, "env", "-C", dir, h.program, "uploads", "export", h.Mount, id) // it writes to where it is
	if err != nil {
		return nil, err
	}
	_, name, _ := strings.Cut(strings.TrimSuffix(out, "\n"), "  ")
	content, err := os.ReadFile(filepath.Join(dir, name)) //nolint:gosec // in a new directory
	return content, errors.Join(err, os.RemoveAll(dir))
}

// Retry has a failed upload sent again.
func (h *Host) Retry(ctx context.Context, id string) error {
	_, err := h.run(ctx, h.program, "uploads", "retry", h.Mount, id)
	return err
}
