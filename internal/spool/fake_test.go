package spool

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"

	"github.com/archivefs/archivefs/archive"
)

// outcome is what happens to one upload or replacement.
type outcome struct {
	had    archive.ID // the answer, where nothing is made
	commit bool       // the document is there afterwards
	noID   bool       // the answer does not tell its id
	job    archive.ID // the answer is this number, which no document has
	err    error      // the answer, if not success
	late   int        // with commit: it shows only after so many listings
	then   func()
}

// stored is a document of the fake archive.
type stored struct {
	archive.Document
	external string
	bytes    []byte
	hidden   int // listings until it shows
}

// fakeArchive answers uploads by a script, and with success when the script is over.
type fakeArchive struct {
	mu      sync.Mutex
	docs    []stored
	nextID  archive.ID
	script  []outcome
	lists   []error // errors of the next listings, nil for an answer
	data    []error // errors of the next data requests, nil for an answer
	hideIDs bool    // document data shows no external id
	noData  bool    // the service lacks document data
	content error   // answers every request for content
	once    []error // errors of the next requests for content, nil for an answer
	uploads []archive.Upload
	listed  int
	rename  func(string) string
	// split makes several documents of an upload.
	split bool
	// processing is how often it answers 404 when it is asked what came of an upload; asked counts the questions.
	processing, asked int
}

func newFake(script ...outcome) *fakeArchive { return &fakeArchive{nextID: 100, script: script} }

// snapshot is an archive of the same content.
func (f *fakeArchive) snapshot() *fakeArchive {
	f.mu.Lock()
	defer f.mu.Unlock()
	return &fakeArchive{docs: slices.Clone(f.docs), nextID: f.nextID}
}

func (f *fakeArchive) add(folder archive.ID, name, external, data string) archive.ID {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.addLocked(folder, name, external, []byte(data), 0)
}

func (f *fakeArchive) addLocked(folder archive.ID, name, external string, data []byte, hidden int) archive.ID {
	f.nextID++
	if f.rename != nil {
		name = f.rename(name)
	}
	doc := archive.Document{ID: f.nextID, Name: name, Folder: folder, Size: int64(len(data))}
	f.docs = append(f.docs, stored{Document: doc, external: external, bytes: data, hidden: hidden})
	return f.nextID
}

func (f *fakeArchive) nextLocked() outcome {
	if len(f.script) == 0 {
		return outcome{commit: true}
	}
	o := f.script[0]
	f.script = f.script[1:]
	return o
}

func (f *fakeArchive) Upload(_ context.Context, up archive.Upload, body archive.Blob) (archive.ID, error) {
	data, err := io.ReadAll(io.NewSectionReader(body, 0, body.Size()))
	if err != nil {
		return 0, err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uploads = append(f.uploads, up)
	o := f.nextLocked()
	if o.then != nil {
		defer o.then()
	}
	id := o.had
	if o.commit {
		id = f.addLocked(up.Folder, up.Name, up.ExternalID, data, o.late)
		if f.split {
			f.addLocked(up.Folder, "attachment.pdf", up.ExternalID, []byte("attached"), o.late)
		}
	}
	if o.err != nil || o.noID {
		return 0, o.err
	}
	return cmp.Or(o.job, id), nil
}

func (f *fakeArchive) Replace(_ context.Context, doc archive.ID, _ string, _ []string, body archive.Blob) error {
	data, err := io.ReadAll(io.NewSectionReader(body, 0, body.Size()))
	if err != nil {
		return err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.uploads = append(f.uploads, archive.Upload{})
	o := f.nextLocked()
	if o.then != nil {
		defer o.then()
	}
	d := f.findLocked(doc)
	switch {
	case d == nil && o.err == nil:
		return kindErr(archive.KindNotFound)
	case d != nil && o.commit:
		d.bytes, d.Size = data, int64(len(data))
	}
	return o.err
}

func (f *fakeArchive) UploadedWith(_ context.Context, doc archive.ID) ([]archive.ID, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked++
	if f.processing > 0 {
		f.processing--
		return nil, kindErr(archive.KindNotFound)
	}
	var ids []archive.ID
	for i := range f.docs {
		if f.docs[i].ID > doc {
			ids = append(ids, f.docs[i].ID)
		}
	}
	return ids, nil
}

func (f *fakeArchive) findLocked(id archive.ID) *stored {
	for i := range f.docs {
		if f.docs[i].ID == id {
			return &f.docs[i]
		}
	}
	return nil
}

func (f *fakeArchive) Documents(_ context.Context, folder archive.ID, _ archive.ListOptions) ([]archive.Document, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.listed++
	if len(f.lists) > 0 {
		err := f.lists[0]
		f.lists = f.lists[1:]
		if err != nil {
			return nil, err
		}
	}
	var docs []archive.Document
	for i := range f.docs {
		switch d := &f.docs[i]; {
		case d.hidden > 0:
			d.hidden--
		case d.Folder == folder:
			docs = append(docs, d.Document)
		}
	}
	return docs, nil
}

func (f *fakeArchive) Data(_ context.Context, id archive.ID) (archive.DocumentData, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.data) > 0 {
		err := f.data[0]
		f.data = f.data[1:]
		if err != nil {
			return archive.DocumentData{}, err
		}
	}
	d := f.findLocked(id)
	switch {
	case f.noData:
		return archive.DocumentData{}, kindErr(archive.KindUnsupported)
	case d == nil:
		return archive.DocumentData{}, kindErr(archive.KindNotFound)
	}
	data := archive.DocumentData{ID: id, Name: d.Name, Folder: d.Folder, ExternalID: d.external}
	if f.hideIDs {
		data.ExternalID = ""
	}
	return data, nil
}

func (f *fakeArchive) Content(_ context.Context, req archive.ContentRequest) (*archive.Content, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.once) > 0 {
		err := f.once[0]
		f.once = f.once[1:]
		if err != nil {
			return nil, err
		}
	}
	d := f.findLocked(req.Document)
	switch {
	case f.content != nil:
		return nil, f.content
	case d == nil || req.Representation != archive.Original:
		return nil, kindErr(archive.KindNotFound)
	}
	return &archive.Content{Body: io.NopCloser(bytes.NewReader(d.bytes)), Size: archive.SizeUnknown}, nil
}

// holding returns the documents of those bytes.
func (f *fakeArchive) holding(data string) (ids []archive.ID) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, d := range f.docs {
		if string(d.bytes) == data {
			ids = append(ids, d.ID)
		}
	}
	return ids
}

// sentIDs are the external ids of the uploads so far.
func (f *fakeArchive) sentIDs() (ids []string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, up := range f.uploads {
		ids = append(ids, up.ExternalID)
	}
	return ids
}

func (f *fakeArchive) sends() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.uploads)
}

func generated(id string) bool { return strings.HasPrefix(id, idPrefix) && len(id) == len(idPrefix)+36 }
