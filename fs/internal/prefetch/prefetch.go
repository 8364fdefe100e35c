// Package prefetch asks the service for listings and contents before programs do: Walks for the
// listings that a walk over a subtree will come to, ReadAhead for the documents of a folder
// that are likely to be opened next.
//
// Nothing of it is needed for an answer: what cannot be prefetched is asked for alone, when
// somebody needs it. Walks has one prefetch of listings in flight, ReadAhead a bounded number
// of contents; both end with the context that they were made with.
//
// The package knows nothing of FUSE and of files. Everything in it is safe for concurrent use.
package prefetch

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Folder is a directory of the mount. Two that are equal (==) are the same directory.
type Folder interface {
	// ID is the folder's id; that of the root is 0.
	ID() archive.ID
	// Wants reports whether a listing would be used: it is a folder of the archive of which the
	// mount shows all documents, and cannot be listed without a request.
	Wants() bool
}

// Service is what is asked for many folders at once.
type Service interface {
	// Structure returns the folders below one; all of them unless lazy.
	Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error)
	// EachDocument gives what begin returns the documents of a list one by one; begin is called
	// anew for each repetition.
	EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error
}

// Options are what Walks works with.
type Options struct {
	Service Service
	// Answered is given the outcome of each request that was not cancelled.
	Answered func(error) error
	// Folders and Documents are offered what was prefetched.
	Folders   *cache.Listings[archive.ID, archive.Structure]
	Documents *cache.Listings[archive.ID, []archive.Document]
	// List is passed to every list of documents.
	List archive.ListOptions
	// Decoded is called with the number of documents of each prefetched list.
	Decoded func(documents int)
	// Go runs a function in the background.
	Go  func(func())
	Now func() time.Time
}
