// Package sample makes a sample office archive and loads it into an archive
// service: two mandators with their folders, some three hundred documents and three
// inboxes with waiting documents.
//
// Every document is a real file of its kind that other programs open: PDFs with text
// and several pages, scanned pages as JPEG, TIFF and PDF, e-mails with attachments,
// workbooks, text. Names are as varied as in a real archive: umlauts, blanks, a slash,
// no extension, more bytes than a file name can have, the same name twice in a folder.
//
// The archive is the same on every run, byte by byte: it uses no clock and no outside source of
// randomness, and dates are fixed between 2018 and 2026 (in UTC). Persons, companies and accounts
// are invented; mail domains end in .example (RFC 2606). At most one document is in
// memory at a time.
package sample

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Document is the metadata of a document.
type Document struct {
	// Folder is the folder of the archive or of an inbox that the document goes into.
	Folder archive.ID
	Name   string
	// Created is never zero, in UTC; Archived is zero for a document in an inbox.
	Created, Archived time.Time
	Keywords, Types   []string
	Metadata          []archive.KeyValue
	ExternalID        string
	AutoExport        bool
	// Notes and Stamps belong to the document's first page.
	Notes  []archive.Note
	Stamps []archive.Stamp
}

// source writes the bytes of a document: the same ones each time.
type source func(w io.Writer) error

// entry is a document of the plan; its Folder is known only when it is loaded.
type entry struct {
	Document
	content source
}

// folder is a mandator or a folder of the plan, with its contents.
type folder struct {
	name    string
	folders []folder
	entries []entry
}

// inbox is an inbox of the plan with the documents that wait in it.
type inbox struct {
	userID  int64
	name    string
	entries []entry
}

// plan is the whole sample archive before it is loaded.
type plan struct {
	mandators []folder
	inboxes   []inbox
}

// newPlan returns the sample archive. Each part draws from a random stream of its
// own, so a change in one leaves the bytes of the others as they are.
func newPlan() plan {
	return plan{
		mandators: []folder{
			musterFolders(newClerk(1, muster(), staff())),
			bakeryFolders(newClerk(2, bakery(), []string{"Gülsüm Körner", "Hans-Jörg Körner"})),
		},
		inboxes: waitingDocuments(newClerk(3, muster(), staff())),
	}
}

// Target receives the sample archive. Names are passed unchanged, slashes and
// duplicates included; an error ends the loading.
type Target interface {
	// AddMandator creates a top-level folder and returns its id.
	AddMandator(ctx context.Context, name string) (archive.ID, error)
	// AddInbox creates the inbox of a user and returns the id of its folder.
	AddInbox(ctx context.Context, userID int64, name string) (archive.ID, error)
	// AddFolder creates a folder below parent and returns its id.
	AddFolder(ctx context.Context, parent archive.ID, name string) (archive.ID, error)
	// AddDocument stores a document in doc.Folder and returns its id. It must not use
	// content after it has returned.
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

// Load makes the sample archive and adds it to t, folder by folder, parents first.
// It does not check what t holds already: loading twice adds everything twice. An error names what
// could not be added and wraps its cause; what was added before stays, and the Summary counts it.
func Load(ctx context.Context, t Target) (Summary, error) {
	l := loader{target: t}
	err := l.load(ctx, newPlan())
	return l.summary, err
}

// loader carries a plan to a Target.
type loader struct {
	target  Target
	summary Summary
	buf     bytes.Buffer // the document that is being added
}

func (l *loader) load(ctx context.Context, p plan) error {
	for _, m := range p.mandators {
		id, err := l.target.AddMandator(ctx, m.name)
		if err != nil {
			return fmt.Errorf("sample: mandator %q: %w", m.name, err)
		}
		l.summary.Mandators++
		if err := l.fill(ctx, id, m); err != nil {
			return err
		}
	}
	for _, in := range p.inboxes {
		id, err := l.target.AddInbox(ctx, in.userID, in.name)
		if err != nil {
			return fmt.Errorf("sample: inbox %q: %w", in.name, err)
		}
		l.summary.Inboxes++
		if err := l.documents(ctx, id, in.entries); err != nil {
			return err
		}
	}
	return nil
}

// fill adds the contents of f to the folder id.
func (l *loader) fill(ctx context.Context, id archive.ID, f folder) error {
	if err := l.documents(ctx, id, f.entries); err != nil {
		return err
	}
	for _, sub := range f.folders {
		subID, err := l.target.AddFolder(ctx, id, sub.name)
		if err != nil {
			return fmt.Errorf("sample: folder %q: %w", sub.name, err)
		}
		l.summary.Folders++
		if err := l.fill(ctx, subID, sub); err != nil {
			return err
		}
	}
	return nil
}

// documents makes the entries one after the other and adds them to the folder id.
func (l *loader) documents(ctx context.Context, id archive.ID, entries []entry) error {
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("sample: document %q: %w", e.Name, err)
		}
		l.buf.Reset()
		if err := e.content(&l.buf); err != nil {
			return fmt.Errorf("sample: making document %q: %w", e.Name, err)
		}
		doc := e.Document
		doc.Folder = id
		if _, err := l.target.AddDocument(ctx, doc, bytes.NewReader(l.buf.Bytes())); err != nil {
			return fmt.Errorf("sample: document %q: %w", e.Name, err)
		}
		l.summary.Documents++
		l.summary.Bytes += int64(l.buf.Len())
	}
	return nil
}
