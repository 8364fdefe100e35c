// Package sample holds a sample office archive and loads it into an archive service: two mandators with their
// folders, some three hundred documents and three inboxes with waiting documents.
//
// Every document is a real file of its kind that other programs open: PDFs with text and several pages, scanned
// pages as JPEG, TIFF and PDF, e-mails with attachments, workbooks, text. Names are as varied as in a real archive:
// umlauts, blanks, a slash, no extension, more bytes than a file name can have, the same name twice in a folder.
//
// internal/lab/sample draws the archive, once, into sample.zip. Its dates are fixed between 2018 and 2026 (in UTC).
package sample

import (
	"archive/zip"
	"bytes"
	"context"
	_ "embed" // the archive
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
)

//go:generate go run ../lab/sample sample.zip

// packed is a ZIP file: first an Archive in JSON, and then the contents of its documents in the order in which
// they are loaded.
//
//go:embed sample.zip
var packed []byte

// Archive is the sample archive without contents.
type Archive struct {
	Mandators []Folder
	Inboxes   []Inbox
}

// Folder is a mandator or a folder, with all that is in it. Its documents are loaded before its folders.
type Folder struct {
	Name      string
	Documents []Document `json:",omitempty"`
	Folders   []Folder   `json:",omitempty"`
}

// Inbox is an inbox with the documents that wait in it.
type Inbox struct {
	UserID    int64
	Name      string
	Documents []Document
}

// Document is the metadata of a document.
type Document struct {
	// Folder is the folder of the archive or of an inbox that the document goes into.
	Folder archive.ID `json:"-"`
	Name   string
	// Created is never zero, in UTC; Archived is zero for a document in an inbox.
	Created    time.Time
	Archived   time.Time          `json:",omitzero"`
	Keywords   []string           `json:",omitempty"`
	Types      []string           `json:",omitempty"`
	Metadata   []archive.KeyValue `json:",omitempty"`
	ExternalID string             `json:",omitempty"`
	AutoExport bool               `json:",omitempty"`
	// Notes and Stamps belong to the document's first page.
	Notes  []archive.Note  `json:",omitempty"`
	Stamps []archive.Stamp `json:",omitempty"`
}

// Target receives the sample archive. Names are passed unchanged, slashes and duplicates included; an error ends
// the loading.
type Target interface {
	// AddMandator creates a top-level folder and returns its id.
	AddMandator(ctx context.Context, name string) (archive.ID, error)
	// AddInbox creates the inbox of a user and returns the id of its folder.
	AddInbox(ctx context.Context, userID int64, name string) (archive.ID, error)
	// AddFolder creates a folder below parent and returns its id.
	AddFolder(ctx context.Context, parent archive.ID, name string) (archive.ID, error)
	// AddDocument stores a document in doc.Folder and returns its id. It must not use content after it has returned.
	AddDocument(ctx context.Context, doc Document, content io.Reader) (archive.ID, error)
}

// Summary counts what was loaded.
type Summary struct {
	Mandators int
	Inboxes   int
	// Folders are those below the mandators; mandators and inboxes do not count.
	Folders   int
	Documents int
	// Bytes is the sum of the lengths of all documents.
	Bytes int64
}

// Load adds the sample archive to t, folder by folder, parents first. It does not check what t holds already:
// loading twice adds everything twice. An error names what could not be added and wraps its cause; what was added
// before stays, and the Summary counts it.
func Load(ctx context.Context, t Target) (Summary, error) {
	l := loader{target: t}
	a, z, err := Open()
	if err == nil {
		l.contents = z.File[1:]
		err = l.load(ctx, a)
	}
	return l.summary, err
}

// Open returns the archive, and the file that it was packed into. Its comment is the release of Go that drew it.
func Open() (a Archive, z *zip.Reader, err error) {
	z, err = zip.NewReader(bytes.NewReader(packed), int64(len(packed)))
	if err != nil {
		return a, nil, fmt.Errorf("sample: %w", err)
	}
	f, err := z.File[0].Open()
	if err != nil {
		return a, nil, fmt.Errorf("sample: %w", err)
	}
	defer f.Close() //nolint:errcheck // only read
	if err := json.NewDecoder(f).Decode(&a); err != nil {
		return a, nil, fmt.Errorf("sample: %w", err)
	}
	return a, z, nil
}

// loader carries the archive to a Target.
type loader struct {
	target   Target
	summary  Summary
	contents []*zip.File // of the documents that are still to come
}

func (l *loader) load(ctx context.Context, a Archive) error {
	for _, m := range a.Mandators {
		id, err := l.target.AddMandator(ctx, m.Name)
		if err != nil {
			return fmt.Errorf("sample: mandator %q: %w", m.Name, err)
		}
		l.summary.Mandators++
		if err := l.fill(ctx, id, m); err != nil {
			return err
		}
	}
	for _, in := range a.Inboxes {
		id, err := l.target.AddInbox(ctx, in.UserID, in.Name)
		if err != nil {
			return fmt.Errorf("sample: inbox %q: %w", in.Name, err)
		}
		l.summary.Inboxes++
		if err := l.documents(ctx, id, in.Documents); err != nil {
			return err
		}
	}
	return nil
}

// fill adds the contents of f to the folder id.
func (l *loader) fill(ctx context.Context, id archive.ID, f Folder) error {
	if err := l.documents(ctx, id, f.Documents); err != nil {
		return err
	}
	for _, sub := range f.Folders {
		subID, err := l.target.AddFolder(ctx, id, sub.Name)
		if err != nil {
			return fmt.Errorf("sample: folder %q: %w", sub.Name, err)
		}
		l.summary.Folders++
		if err := l.fill(ctx, subID, sub); err != nil {
			return err
		}
	}
	return nil
}

// documents adds documents to the folder id, one after the other.
func (l *loader) documents(ctx context.Context, id archive.ID, documents []Document) error {
	for _, doc := range documents {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("sample: document %q: %w", doc.Name, err)
		}
		doc.Folder = id
		if err := l.document(ctx, doc); err != nil {
			return fmt.Errorf("sample: document %q: %w", doc.Name, err)
		}
	}
	return nil
}

func (l *loader) document(ctx context.Context, doc Document) error {
	packed := l.contents[0]
	content, err := packed.Open()
	if err != nil {
		return err
	}
	defer content.Close() //nolint:errcheck // only read
	if _, err := l.target.AddDocument(ctx, doc, content); err != nil {
		return err
	}
	l.contents = l.contents[1:]
	l.summary.Documents++
	l.summary.Bytes += int64(packed.UncompressedSize64) //nolint:gosec // of the sample itself
	return nil
}
