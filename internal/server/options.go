package server

import (
	"time"

	"github.com/sirupsen/logrus"

	"github.com/archivefs/archivefs/archive"
)

// DefaultMaxUpload is the largest content taken when Options do not say, in bytes.
const DefaultMaxUpload = 10 << 30

// Options configure a Server.
type Options struct {
	// Data is the directory of the archive; it is made with mode 0700.
	Data string
	// Credentials are what a client must show.
	Credentials Credentials
	// Log gets a line for each request at info level, and failures. Nil is silence.
	Log logrus.FieldLogger
	// OnRequest, when set, is called after each request was answered.
	OnRequest func(Request)
	// MaxUpload is the largest content taken, in bytes; 0 is DefaultMaxUpload.
	MaxUpload int64
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
