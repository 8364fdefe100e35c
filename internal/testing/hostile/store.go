package hostile

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"strings"
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

// store is the content. It is not safe for concurrent use: the service locks.
type store struct {
	folders      []*Folder // in the order of their ids
	documents    map[int64]*Document
	nextFolder   int64
	nextDocument int64
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
