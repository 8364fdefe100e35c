package hostile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// Document is a document as it is, whatever the answers make of it.
type Document struct {
	// ID is given by AddDocument. Documents and folders are counted separately, each
	// from 1, so that their ids overlap.
	ID     int64
	Folder int64
	Name   string
	// Content is the original, PDF the rendition; without PDF a short one is made.
	Content []byte
	PDF     []byte
	// Text was recognised, and Preview is the picture of each page; empty: there is none.
	Text    string
	Preview []byte
	// OriginalStatus refuses the original of this document alone with this status.
	OriginalStatus int
	// ContentType is told where sizes are; empty: application/octet-stream.
	ContentType string
	// Pages is the number of pages, 0 means 1.
	Pages int
	// Created is a wall-clock time; zero: 2023-11-22 14:14:29. Archived is zero for a
	// document never archived.
	Created, Archived time.Time
	Keywords          []string
	Types             []string
	Metadata          map[string]string
	ExternalID        string
	AutoExport        bool
	// Notes and Stamps stand on the first page.
	Notes, Stamps, Workflows []string

	hidden int // listings that still leave it out
}

// clone returns a copy that shares nothing which either side could change.
func (d *Document) clone() Document {
	c := *d
	c.Content, c.PDF, c.Preview = bytes.Clone(d.Content), bytes.Clone(d.PDF), bytes.Clone(d.Preview)
	c.Metadata = maps.Clone(d.Metadata)
	for _, s := range []*[]string{&c.Keywords, &c.Types, &c.Notes, &c.Stamps, &c.Workflows} {
		*s = slices.Clone(*s)
	}
	return c
}

// addKeywords adds those of words that d does not bear.
func (d *Document) addKeywords(words []string) {
	for _, w := range words {
		if !slices.Contains(d.Keywords, w) {
			d.Keywords = append(d.Keywords, w)
		}
	}
}

// rendition is the document as a PDF.
func (d *Document) rendition() []byte {
	switch {
	case d.PDF != nil:
		return d.PDF
	case bytes.HasPrefix(d.Content, []byte("%PDF-")):
		return d.Content
	}
	return fmt.Appendf(nil, "%%PDF-1.4\n%% rendition of %x\n%%%%EOF\n", sha256.Sum256(d.Content))
}

// Folder is a mandator, a folder below one, or a folder of an inbox.
type Folder struct {
	ID     int64
	Parent int64 // 0 for a mandator and for the folder of an inbox
	Name   string
	Inbox  bool  // in an inbox, or its folder
	User   int64 // whose inbox it is
}

// store is the content. It is not safe for concurrent use: content locks.
type store struct {
	folders      []*Folder // in the order of their ids
	documents    map[int64]*Document
	nextFolder   int64
	nextDocument int64
	tags         int // changing entity tags that were answered
}

// addFolder adds f, which gets an id and what it inherits of its parent.
func (st *store) addFolder(f Folder) int64 {
	if p := st.folder(f.Parent); p != nil {
		f.Inbox, f.User = p.Inbox, p.User
	}
	st.nextFolder++
	f.ID = st.nextFolder
	st.folders = append(st.folders, &f)
	return f.ID
}

// removeFolder removes a folder and all below it.
func (st *store) removeFolder(id int64) {
	for _, f := range st.selectFolders(func(f *Folder) bool { return f.Parent == id }) {
		st.removeFolder(f.ID)
	}
	for _, d := range st.in(id, false) {
		delete(st.documents, d.ID)
	}
	st.folders = slices.DeleteFunc(st.folders, func(f *Folder) bool { return f.ID == id })
}

// folder returns the folder of that id, or nil.
func (st *store) folder(id int64) *Folder {
	i := slices.IndexFunc(st.folders, func(f *Folder) bool { return f.ID == id })
	if i < 0 {
		return nil
	}
	return st.folders[i]
}

// children returns the folders below parent; 0: the mandators.
func (st *store) children(parent int64) []*Folder {
	return st.selectFolders(func(f *Folder) bool {
		return f.Parent == parent && (parent != 0 || !f.Inbox)
	})
}

// inboxes returns the folders of the inboxes.
func (st *store) inboxes() []*Folder {
	return st.selectFolders(func(f *Folder) bool { return f.Inbox && f.Parent == 0 })
}

func (st *store) selectFolders(want func(*Folder) bool) []*Folder {
	var found []*Folder
	for _, f := range st.folders {
		if want(f) {
			found = append(found, f)
		}
	}
	return found
}

// add adds d under a new id.
func (st *store) add(d Document) *Document {
	st.nextDocument++
	d.ID = st.nextDocument
	if d.Created.IsZero() {
		d.Created = time.Date(2023, 11, 22, 14, 14, 29, 0, time.UTC)
	}
	if d.Pages == 0 {
		d.Pages = 1
	}
	st.documents[d.ID] = &d
	return &d
}

// in returns the documents of a folder, with those of its subfolders when recursive
// is set, by ascending id within each folder.
func (st *store) in(folder int64, recursive bool) []*Document {
	var found []*Document
	for _, id := range slices.Sorted(maps.Keys(st.documents)) {
		if d := st.documents[id]; d.Folder == folder {
			found = append(found, d)
		}
	}
	if recursive {
		for _, f := range st.children(folder) {
			found = append(found, st.in(f.ID, true)...)
		}
	}
	return found
}

// inInbox reports whether d has not been archived yet.
func (st *store) inInbox(d *Document) bool {
	f := st.folder(d.Folder)
	return f != nil && f.Inbox
}

// resolve finds a folder by its path from the mandator; the mandator may be given
// apart and is then optional in the path. The inbox of x is "INBOX/x".
func (st *store) resolve(mandator, path string) *Folder {
	names := strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
	if mandator != "" {
		if f := st.walk(nil, st.children(0), append([]string{mandator}, names...)); f != nil {
			return f
		}
		if len(names) == 0 || names[0] != mandator {
			return nil
		}
	}
	if len(names) > 0 && names[0] == "INBOX" {
		return st.walk(nil, st.inboxes(), names[1:])
	}
	return st.walk(nil, st.children(0), names)
}

func (st *store) walk(at *Folder, below []*Folder, names []string) *Folder {
	if len(names) == 0 {
		return at
	}
	for _, f := range below {
		if f.Name == names[0] {
			return st.walk(f, st.children(f.ID), names[1:])
		}
	}
	return nil
}

// trail returns the folders from the top level down to id.
func (st *store) trail(id int64) []*Folder {
	var up []*Folder
	for f := st.folder(id); f != nil; f = st.folder(f.Parent) {
		up = append(up, f)
	}
	slices.Reverse(up)
	return up
}

// below reports whether d lies in a folder, or in one below it.
func (st *store) below(d *Document, folder *Folder) bool {
	return slices.Contains(st.trail(d.Folder), folder)
}

// withExternalID returns the document with the lowest id that has an external id.
func (st *store) withExternalID(externalID string) *Document {
	var found *Document
	for _, d := range st.documents {
		if externalID != "" && d.ExternalID == externalID && (found == nil || d.ID < found.ID) {
			found = d
		}
	}
	return found
}

// content is what tests put into the service and see of it, behind the client's back.
type content struct {
	mu    sync.Mutex
	store store // guarded by mu
}

// AddMandator adds a top-level folder and returns its id.
func (c *content) AddMandator(name string) int64 { return c.addFolder(Folder{Name: name}) }

// AddFolder adds a folder below parent, a mandator, a folder or one of an inbox.
func (c *content) AddFolder(parent int64, name string) int64 {
	return c.addFolder(Folder{Parent: parent, Name: name})
}

// AddInbox adds the inbox of a user and returns the id of its folder.
func (c *content) AddInbox(user int64, name string) int64 {
	return c.addFolder(Folder{Name: name, Inbox: true, User: user})
}

func (c *content) addFolder(f Folder) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.store.addFolder(f)
}

// AddDocument adds a copy of d to a folder and returns its id.
func (c *content) AddDocument(folder int64, d Document) int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	d = d.clone()
	d.Folder = folder
	return c.store.add(d).ID
}

// Document returns a copy of a document, and whether there is one of that id.
func (c *content) Document(id int64) (Document, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.store.documents[id]
	if !ok {
		return Document{}, false
	}
	return d.clone(), true
}

// Documents returns copies of the documents in a folder by ascending id, those that
// listings still leave out included.
func (c *content) Documents(folder int64) []Document {
	c.mu.Lock()
	defer c.mu.Unlock()
	var docs []Document
	for _, d := range c.store.in(folder, false) {
		docs = append(docs, d.clone())
	}
	return docs
}

// Reveal makes listings show what they still leave out.
func (c *content) Reveal() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, d := range c.store.documents {
		d.hidden = 0
	}
}

// Change changes a document behind the client's back and reports whether there is one
// of that id.
func (c *content) Change(id int64, change func(*Document)) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	d, ok := c.store.documents[id]
	if ok {
		change(d)
	}
	return ok
}

// Remove removes a document behind the client's back.
func (c *content) Remove(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.store.documents, id)
}

// RemoveFolder removes a folder and all below it behind the client's back.
func (c *content) RemoveFolder(id int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.store.removeFolder(id)
}

// RenameFolder gives a folder another name behind the client's back.
func (c *content) RenameFolder(id int64, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, f := range c.store.selectFolders(func(f *Folder) bool { return f.ID == id }) {
		f.Name = name
	}
}

// Folders returns the folders below parent by ascending id; 0: the mandators.
func (c *content) Folders(parent int64) []Folder {
	c.mu.Lock()
	defer c.mu.Unlock()
	return values(c.store.children(parent))
}

// InboxFolders returns the folders of the inboxes by ascending id.
func (c *content) InboxFolders() []Folder {
	c.mu.Lock()
	defer c.mu.Unlock()
	return values(c.store.inboxes())
}

func values(folders []*Folder) []Folder {
	var out []Folder
	for _, f := range folders {
		out = append(out, *f)
	}
	return out
}
