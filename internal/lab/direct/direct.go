// Package direct works with an archive service without a mount, as colleagues do: it says what has
// become of a document, and changes what a mount has to notice.
package direct

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
)

// Archive is an archive at a service. Folders and documents have the paths that they have in a mount;
// that of an inbox begins with inboxes.
type Archive struct{ base, key string }

// At is the archive that a key opens at the service of an address.
func At(address, key string) *Archive {
	return &Archive{"http://" + address + "/api/v2", key}
}

// Ready says whether the service answers.
func (a *Archive) Ready(ctx context.Context) bool {
	_, err := a.get(ctx, "/inboxes")
	return err == nil
}

func (a *Archive) get(ctx context.Context, where string) ([]byte, error) {
	return a.ask(ctx, http.MethodGet, where, "", nil)
}

func (a *Archive) ask(ctx context.Context, method, where, kind string, body io.Reader) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.base+where, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("API-Key", a.key)
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
		err = fmt.Errorf("%s: %s: %s", where, answer.Status, bytes.TrimSpace(all))
	}
	return all, err
}

type folder struct {
	ID      int64    `json:"id"`
	Name    string   `json:"name"`
	Folders []folder `json:"folders"`
}

// folder finds a folder.
func (a *Archive) folder(ctx context.Context, at string) (found folder, err error) {
	var answer struct {
		Folders []folder `json:"folders"`
		Inboxes []struct {
			Folder folder `json:"folder"`
		} `json:"inboxes"`
	}
	where := "/archivestructure"
	below, isInbox := strings.CutPrefix(at, "inboxes/")
	if isInbox {
		where = "/inboxes"
	}
	body, err := a.get(ctx, where)
	if err != nil {
		return found, err
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		return found, err
	}
	for _, inbox := range answer.Inboxes {
		answer.Folders = append(answer.Folders, inbox.Folder)
	}
	found = folder{Folders: answer.Folders}
	for name := range strings.SplitSeq(below, "/") {
		i := slices.IndexFunc(found.Folders, func(f folder) bool { return f.Name == name })
		if i < 0 {
			return found, fmt.Errorf("the archive has no folder %q", at)
		}
		found = found.Folders[i]
	}
	return found, nil
}

// Has says whether there is a folder.
func (a *Archive) Has(ctx context.Context, at string) bool {
	_, err := a.folder(ctx, at)
	return err == nil
}

// Document is what is listed of a document.
type Document struct {
	ID   int64  `json:"id"`
	Name string `json:"name"`
}

// Documents are the documents in a folder, in the order of their ids.
func (a *Archive) Documents(ctx context.Context, at string) ([]Document, error) {
	f, err := a.folder(ctx, at)
	if err != nil {
		return nil, err
	}
	return a.list(ctx, f.ID)
}

func (a *Archive) list(ctx context.Context, folder int64) (all []Document, err error) {
	body, err := a.get(ctx, "/document/list?folder-id="+strconv.FormatInt(folder, 10))
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal(body, &all)
	return all, err
}

func (a *Archive) document(ctx context.Context, at string) (Document, error) {
	all, err := a.Documents(ctx, path.Dir(at))
	if err != nil {
		return Document{}, err
	}
	i := slices.IndexFunc(all, func(d Document) bool { return d.Name == path.Base(at) })
	if i < 0 {
		return Document{}, fmt.Errorf("the archive has no document %q", at)
	}
	return all[i], nil
}

// Entry is a document or a folder somewhere below a folder.
type Entry struct {
	Document
	Path   string // from that folder
	Folder bool   // then the document is empty
}

// Below are all folders and documents below a folder.
func (a *Archive) Below(ctx context.Context, at string) ([]Entry, error) {
	top, err := a.folder(ctx, at)
	if err != nil {
		return nil, err
	}
	return a.below(ctx, top, "")
}

func (a *Archive) below(ctx context.Context, in folder, prefix string) (all []Entry, err error) {
	documents, err := a.list(ctx, in.ID)
	if err != nil {
		return nil, err
	}
	for _, d := range documents {
		all = append(all, Entry{Document: d, Path: prefix + d.Name})
	}
	for _, f := range in.Folders {
		all = append(all, Entry{Path: prefix + f.Name, Folder: true})
		more, err := a.below(ctx, f, prefix+f.Name+"/")
		if err != nil {
			return nil, err
		}
		all = append(all, more...)
	}
	return all, nil
}

// Change is a change in the history of a document.
type Change struct {
	Action string `json:"action"`
	Old    string `json:"oldValue"`
	New    string `json:"newValue"`
}

// History are the changes of a document, the last one first.
func (a *Archive) History(ctx context.Context, id int64) ([]Change, error) {
	var answer struct {
		History []Change `json:"history"`
	}
	body, err := a.get(ctx, fmt.Sprintf("/document/%d/data", id))
	if err == nil {
		err = json.Unmarshal(body, &answer)
	}
	return answer.History, err
}

// Make makes a folder in one that is there.
func (a *Archive) Make(ctx context.Context, at string) error {
	in, err := a.folder(ctx, path.Dir(at))
	if err != nil {
		return err
	}
	form := url.Values{"parent-folder-id": {strconv.FormatInt(in.ID, 10)}, "folder-name": {path.Base(at)}}
	_, err = a.ask(ctx, http.MethodPost, "/folder/create", "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	return err
}

// Content are the bytes of a document.
func (a *Archive) Content(ctx context.Context, id int64) ([]byte, error) {
	return a.get(ctx, fmt.Sprintf("/document/%d/pdf?original=true", id))
}

// ContentAt are the bytes of the document at a path.
func (a *Archive) ContentAt(ctx context.Context, at string) ([]byte, error) {
	d, err := a.document(ctx, at)
	if err != nil {
		return nil, err
	}
	return a.Content(ctx, d.ID)
}

// Add archives a document.
func (a *Archive) Add(ctx context.Context, at string, content []byte) error {
	in, err := a.folder(ctx, path.Dir(at))
	if err != nil {
		return err
	}
	var form bytes.Buffer // which takes everything
	w := multipart.NewWriter(&form)
	_ = w.WriteField("target-folder-id", strconv.FormatInt(in.ID, 10))
	part, _ := w.CreateFormFile("upload-data", path.Base(at))
	_, _ = part.Write(content)
	_ = w.Close()
	_, err = a.ask(ctx, http.MethodPost, "/file-upload", w.FormDataContentType(), &form)
	return err
}

// Rename gives a document another name.
func (a *Archive) Rename(ctx context.Context, at, name string) error {
	return a.change(ctx, at, "rename", url.Values{"new-name": {name}})
}

// Remove removes a document from an inbox.
func (a *Archive) Remove(ctx context.Context, at string) error {
	return a.change(ctx, at, "delete", nil)
}

func (a *Archive) change(ctx context.Context, at, operation string, form url.Values) error {
	d, err := a.document(ctx, at)
	if err != nil {
		return err
	}
	_, err = a.ask(ctx, http.MethodPost, fmt.Sprintf("/document/%d/%s", d.ID, operation), "application/x-www-form-urlencoded", strings.NewReader(form.Encode()))
	return err
}
