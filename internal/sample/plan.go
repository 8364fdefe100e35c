package sample

import (
	"io"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Document is what is known about a document beside its content.
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

// folder is a mandator or a folder of the plan with what lies in it.
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
