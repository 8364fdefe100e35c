package server

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// What counts when Options do not say.
const (
	DefaultMaxUpload   = 10 << 30 // bytes
	DefaultMaxRequests = 512
	DefaultMaxUploads  = 64
	DefaultStall       = 30 * time.Second
	DefaultDrain       = 30 * time.Second
)

// Options configure a Server.
type Options struct {
	// Data is the directory of the archive; it is made with mode 0700. With Database it has no more
	// than the contents, and with Blobs no more than what is being received.
	Data string
	// Database is the URL of a PostgreSQL database, which any number of servers may use at the same
	// time. Empty is a file in Data, for one. There may be a password in it; it is never told.
	Database string
	// Blobs is the address of a bucket for the contents (blob.ParseAddress); it needs Database.
	// Empty is files in Data, which all servers of one Database then share.
	Blobs string
	// Credentials are what a client must show.
	Credentials Credentials
	// Log gets a line for each request at info level, and failures. Nil is silence.
	Log logrus.FieldLogger
	// OnRequest, when set, is called after each request was answered.
	OnRequest func(Request)
	// MaxUpload is the largest content taken, in bytes; 0 is DefaultMaxUpload.
	MaxUpload int64
	// MaxRequests and MaxUploads are how many requests, and how many uploads among them, are
	// answered at a time; further ones wait, and are sent away with 429 after 10 s.
	MaxRequests, MaxUploads int
	// Stall is how long the sender of a body, and the reader of an answer, are waited for, beside
	// a second for each KiB, before the request is ended.
	Stall time.Duration
	// DrainDelay is how long Serve goes on as before when it is told to end, so that whoever
	// asks for readiness sends nobody any more. Then requests under way have Drain to end; less
	// than 0 is no time at all.
	DrainDelay, Drain time.Duration
	// Location is the time zone of the dates on the wire; nil is the local one.
	Location *time.Location

	// FreeStructure and FreeInboxStructure say whether clients may create folders in
	// the archive and in inboxes. They are kept in the archive; FlagUnknown leaves what
	// is kept, which is true at first.
	FreeStructure      archive.Flag
	FreeInboxStructure archive.Flag

	// What plainer deployments lack can be left out.

	// HideSizes leaves content-length and content-type out of document lists.
	HideSizes bool
	// NoHead answers HEAD of contents with 405.
	NoHead bool
	// NoRange answers every content whole.
	NoRange bool
	// OnlyEight serves the eight operations of the specification alone.
	OnlyEight bool
}
