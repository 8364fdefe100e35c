// Package prefetch requests listings and contents before programs need them: Walks prefetches the
// listings that a walk over a subtree will come to, ReadAhead the documents of a folder that are
// likely to be opened next.
//
// Nothing depends on a prefetch: what cannot be prefetched is requested when somebody needs it. Walks
// has one prefetch of listings in flight, ReadAhead a bounded number of contents; both end with the
// context that they were made with.
//
// The package knows nothing of FUSE or files. Everything in it is safe for concurrent use.
package prefetch

import (
	"context"
	"time"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/cache"
)

// Folder is a directory of the mount. Two that are equal (==) are the same directory.
type Folder interface {
	// ID returns the folder's id, 0 for the root.
	ID() archive.ID
	// Wants reports whether a prefetched listing would be used: it is a folder of the archive, the
	// mount shows all its documents, and it cannot be listed without a request.
	Wants() bool
}

// Service answers requests for many folders at once.
type Service interface {
	// Structure returns the folders below parent: all of them, or only its children if lazy.
	Structure(ctx context.Context, parent archive.ID, lazy bool) (archive.Structure, error)
	// EachDocument passes the documents of a list one by one to the function that begin returns. It
	// calls begin again for each retry.
	EachDocument(ctx context.Context, folder archive.ID, options archive.ListOptions, begin func() func(*archive.Document)) error
}

// Options configure Walks.
type Options struct {
	Service Service
	// Answered gets the outcome of each request that was not cancelled.
	Answered func(error) error
	// Folders and Documents get the prefetched listings.
	Folders   *cache.Listings[archive.ID, archive.Structure]
	Documents *cache.Listings[archive.ID, []archive.Document]
	// List is passed to every list of documents.
	List archive.ListOptions
	// Decoded is called with the number of documents of each prefetched list.
	Decoded func(documents int)
	// Near is the time within which a near service answers a listing (Entering); 0 for 3 ms. A negative
	// one says that the service is near, however long it takes.
	Near time.Duration
	// Go runs a function in the background.
	Go  func(func())
	Now func() time.Time
}
