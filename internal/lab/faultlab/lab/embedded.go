//go:build linux

package lab

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/lab/faultlab/audit"
	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
	"github.com/archivefs/archivefs/internal/server"
)

// embedded is the embedded service, opened twice on the same archive one after the other:
// as the run wants it, and with every operation for the audit.
type embedded struct {
	http.Handler
	options         server.Options
	server          *server.Server
	mandator, inbox archive.ID
	folder          archive.ID
}

func newEmbedded(ctx context.Context, dir string, onlyEight bool) (*embedded, error) {
	e := &embedded{options: server.Options{
		Data: dir, Credentials: server.Credentials{APIKey: apiKey}, Location: time.UTC, OnlyEight: onlyEight,
	}}
	var err error
	if e.server, err = server.Open(ctx, e.options); err != nil {
		return nil, err
	}
	e.Handler = e.server.Handler() //nolint:contextcheck // each request has a context of its own
	var errs [3]error
	e.mandator, errs[0] = e.server.AddMandator(ctx, history.Mandator)
	e.folder, errs[1] = e.server.AddFolder(ctx, e.mandator, "Eingang")
	e.inbox, errs[2] = e.server.AddInbox(ctx, 1, "Administrator")
	return e, errors.Join(errs[:]...)
}

func (e *embedded) base() string { return "/api/v2" }

func (e *embedded) wait(name string, content []byte) error { return e.add(e.inbox, name, content) }

func (e *embedded) add(folder archive.ID, name string, content []byte) error {
	d := server.NewDocument{Folder: folder, Name: name, Created: time.Now()}
	_, err := e.server.AddDocument(context.Background(), d, bytes.NewReader(content))
	return err
}

func (e *embedded) change(dir, name string, content []byte) error {
	switch dir {
	case history.Mandator:
		_, err := e.server.AddFolder(context.Background(), e.mandator, name)
		return err
	case history.Folder:
		return e.add(e.folder, name, content)
	}
	return e.add(e.inbox, name, content)
}

func (e *embedded) contents(ctx context.Context) (all []audit.Document, folders []string, err error) {
	if err := e.close(); err != nil {
		return nil, nil, err
	}
	e.options.OnlyEight = false
	if err := e.reopen(ctx); err != nil {
		return nil, nil, err
	}
	e.Handler = e.server.Handler() //nolint:contextcheck // each request has a context of its own
	h := e.Handler
	var above folder
	if err := getJSON(ctx, h, fmt.Sprintf("/archivestructure?parent-folder-id=%d", e.mandator), &above); err != nil {
		return nil, nil, err
	}
	var boxes struct{ Inboxes []struct{ Folder folder } }
	if err := getJSON(ctx, h, "/inboxes", &boxes); err != nil {
		return nil, nil, err
	}
	var walk func(id archive.ID, dir string, below []folder) error
	walk = func(id archive.ID, dir string, below []folder) error {
		docs, err := documentsOf(ctx, h, id, dir)
		all = append(all, docs...)
		for _, f := range below {
			folders = append(folders, path.Join(dir, f.Name))
			err = errors.Join(err, walk(f.ID, path.Join(dir, f.Name), f.Folders))
		}
		return err
	}
	err = errors.Join(walk(e.mandator, history.Mandator, above.Folders), walk(e.inbox, history.Inbox, boxes.Inboxes[0].Folder.Folders))
	return all, folders, err
}

// folder is a folder as the service lists it, with those below it.
type folder struct {
	ID      archive.ID
	Name    string
	Folders []folder
}

// reopen opens the archive once more. Its lock may outlive the service for a moment, in
// processes of other runs between fork and exec.
func (e *embedded) reopen(ctx context.Context) (err error) {
	deadline := time.Now().Add(lockedFor)
	for e.server = nil; e.server == nil; {
		e.server, err = server.Open(ctx, e.options)
		switch {
		case err == nil:
		case ctx.Err() != nil, time.Now().After(deadline):
			return fmt.Errorf("open the archive for the audit: %w", err)
		default:
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// lockedFor is how long the archive may be locked after its service was closed.
const lockedFor = 5 * time.Second

// documentsOf returns the documents of a folder, which is dir in the mount.
func documentsOf(ctx context.Context, h http.Handler, folder archive.ID, dir string) ([]audit.Document, error) {
	var listed []struct {
		ID       archive.ID
		Name     string
		Keywords []string
	}
	if err := getJSON(ctx, h, fmt.Sprintf("/document/list?folder-id=%d", folder), &listed); err != nil {
		return nil, err
	}
	var all []audit.Document
	for _, d := range listed {
		content, err := get(ctx, h, fmt.Sprintf("/document/%d/pdf?original=true", d.ID))
		if err != nil {
			return nil, err
		}
		all = append(all, audit.Document{Folder: dir, Name: d.Name, Keywords: d.Keywords, Sum: sha256.Sum256(content)})
	}
	return all, nil
}

// get asks the embedded service.
func get(ctx context.Context, h http.Handler, path string) ([]byte, error) {
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/v2"+path, nil)
	r.Header.Set("API-Key", apiKey)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	if w.Code != http.StatusOK {
		return nil, fmt.Errorf("%s: status %d", path, w.Code)
	}
	return w.Body.Bytes(), nil
}

func getJSON(ctx context.Context, h http.Handler, path string, into any) error {
	body, err := get(ctx, h, path)
	if err != nil {
		return err
	}
	return json.Unmarshal(body, into)
}

func (e *embedded) close() error {
	if e.server == nil {
		return nil // it could not be opened again
	}
	return e.server.Close()
}
