package sample

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"io"

	"github.com/archivefs/archivefs/archive"
)

// recorder is a Target that keeps everything in memory.
type recorder struct {
	mandators []string
	inboxes   map[string]int64 // user ids by name
	paths     map[archive.ID]string
	waiting   map[archive.ID]bool // folders that are inboxes
	documents []recorded
	failAt    string // "mandator", "inbox", "folder" or "document"
	failWith  error
}

// recorded is a received document.
type recorded struct {
	Document
	path    string // folder and name
	waiting bool   // in an inbox
	content []byte
}

func newRecorder() *recorder {
	return &recorder{
		inboxes: map[string]int64{}, paths: map[archive.ID]string{}, waiting: map[archive.ID]bool{},
	}
}

// add makes a folder; ids begin at 1.
func (r *recorder) add(kind, path string) (archive.ID, error) {
	if r.failAt == kind {
		return 0, r.failWith
	}
	id := archive.ID(len(r.paths) + 1)
	r.paths[id] = path
	return id, nil
}

func (r *recorder) AddMandator(_ context.Context, name string) (archive.ID, error) {
	r.mandators = append(r.mandators, name)
	return r.add("mandator", name)
}

func (r *recorder) AddInbox(_ context.Context, userID int64, name string) (archive.ID, error) {
	r.inboxes[name] = userID
	id, err := r.add("inbox", "inboxes/"+name)
	r.waiting[id] = true
	return id, err
}

func (r *recorder) AddFolder(_ context.Context, parent archive.ID, name string) (archive.ID, error) {
	above, ok := r.paths[parent]
	if !ok {
		return 0, fmt.Errorf("folder %q has no parent %d", name, parent)
	}
	return r.add("folder", above+"/"+name)
}

func (r *recorder) AddDocument(_ context.Context, doc Document, content io.Reader) (archive.ID, error) {
	if r.failAt == "document" {
		return 0, r.failWith
	}
	folder, ok := r.paths[doc.Folder]
	if !ok {
		return 0, fmt.Errorf("document %q has no folder %d", doc.Name, doc.Folder)
	}
	data, err := io.ReadAll(content)
	if err != nil {
		return 0, err
	}
	r.documents = append(r.documents, recorded{
		Document: doc, path: folder + "/" + doc.Name, waiting: r.waiting[doc.Folder], content: data,
	})
	return archive.ID(len(r.documents)), nil
}

// sum returns a hash of all that was recorded.
func (r *recorder) sum() [sha256.Size]byte {
	h := sha256.New()
	for id := range archive.ID(len(r.paths)) {
		_, _ = fmt.Fprintf(h, "%q\n", r.paths[id+1])
	}
	for _, d := range r.documents {
		_, _ = fmt.Fprintf(h, "%q %+v\n", d.path, d.Document)
		_ = binary.Write(h, binary.BigEndian, int64(len(d.content)))
		_, _ = h.Write(d.content)
	}
	return [sha256.Size]byte(h.Sum(nil))
}
