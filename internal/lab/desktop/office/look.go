//go:build linux

package office

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
)

type folder struct {
	ID      int64    `json:"id"`
	Name    string   `json:"name"`
	Folders []folder `json:"folders"`
}

// document is what the service lists.
type document struct {
	ID       int64  `json:"id"`
	Name     string `json:"name"`
	Archived string `json:"archiving-date"`
}

// get asks the service, past the wire.
func (o *Office) get(ctx context.Context, path string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, o.direct+path, nil)
	if err != nil {
		return nil, err
	}
	return o.send(r)
}

func (o *Office) send(r *http.Request) ([]byte, error) {
	r.Header.Set("API-Key", key)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // it was only read
	body, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode/100 != 2 {
		err = fmt.Errorf("%s: %s: %s", r.URL.Path, answer.Status, bytes.TrimSpace(body))
	}
	return body, err
}

// folder finds a folder by its path; the path of an inbox begins with inboxes.
func (o *Office) folder(ctx context.Context, path ...string) (int64, error) {
	var answer struct {
		Folders []folder `json:"folders"`
		Inboxes []struct {
			Folder folder `json:"folder"`
		} `json:"inboxes"`
	}
	where := "/archivestructure"
	if path[0] == "inboxes" {
		where, path = "/inboxes", path[1:]
	}
	body, err := o.get(ctx, where)
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
	for _, name := range path {
		i := slices.IndexFunc(found.Folders, func(f folder) bool { return f.Name == name })
		if i < 0 {
			return 0, fmt.Errorf("the archive has no folder %q", path)
		}
		found = found.Folders[i]
	}
	return found.ID, nil
}

// Has says whether the archive has the folder.
func (o *Office) Has(ctx context.Context, path ...string) bool {
	_, err := o.folder(ctx, path...)
	return err == nil
}

// Documents are the names of the documents in a folder, in the order of their ids.
func (o *Office) Documents(ctx context.Context, path ...string) ([]string, error) {
	all, err := o.documents(ctx, path)
	var names []string
	for _, d := range all {
		names = append(names, d.Name)
	}
	return names, err
}

func (o *Office) documents(ctx context.Context, path []string) (all []document, err error) {
	id, err := o.folder(ctx, path...)
	if err != nil {
		return nil, err
	}
	body, err := o.get(ctx, "/document/list?folder-id="+strconv.FormatInt(id, 10))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(body, &all)
	return all, err
}

// Content is what the archive has of a document.
func (o *Office) Content(ctx context.Context, name string, path ...string) ([]byte, error) {
	d, err := o.document(ctx, name, path)
	if err != nil {
		return nil, err
	}
	return o.get(ctx, fmt.Sprintf("/document/%d/pdf?original=true", d.ID))
}

func (o *Office) document(ctx context.Context, name string, path []string) (document, error) {
	all, err := o.documents(ctx, path)
	if err != nil {
		return document{}, err
	}
	i := slices.IndexFunc(all, func(d document) bool { return d.Name == name })
	if i < 0 {
		return document{}, fmt.Errorf("the archive has no document %q", name)
	}
	return all[i], nil
}
