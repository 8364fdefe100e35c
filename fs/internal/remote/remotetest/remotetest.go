// Package remotetest is an archive service for tests that need only one folder.
package remotetest

import (
	"context"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs/internal/remote"
)

// service is an Archive, under a name that is not one of its methods.
type service interface{ remote.Archive }

// Folder is a service whose folders all have the same contents. It panics on all requests except listings of folders.
type Folder struct {
	service
	Docs []archive.Document
	Subs []archive.Folder
	// Lists counts the listings of documents.
	Lists int
}

// Children lists the sub-folders.
func (f *Folder) Children(context.Context, archive.ID) (archive.Structure, error) {
	return archive.Structure{Free: true, Folders: f.Subs}, nil
}

// Documents lists the documents.
func (f *Folder) Documents(context.Context, archive.ID, archive.ListOptions) ([]archive.Document, error) {
	f.Lists++
	return f.Docs, nil
}

// Named is a document with a name.
func Named(id archive.ID, name string) archive.Document { return archive.Document{ID: id, Name: name} }
