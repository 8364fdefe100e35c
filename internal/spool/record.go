package spool

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// Record is what the spool keeps about an upload beside its bytes. The fields under
// "owned by the spool" cannot be changed by Update.
type Record struct {
	Version int    `json:"version"`
	ID      string `json:"id"` // 12 digits of [0-9a-z], ascending by creation
	State   State  `json:"state"`
	// UID is the user of this machine who made it or closed it last, 0 if that is not known, or, with
	// ByRoot, root: people take turns in the queue, and the archive may know each of them (Person).
	UID    uint32 `json:"uid,omitempty"`
	ByRoot bool   `json:"byRoot,omitempty"`
	// Rest is its time of grace: for how long it must have been left alone (Changed), once its close was answered,
	// before it is checked for its end and sent; 0 for none.
	Rest time.Duration `json:"rest,omitempty"`
	// Doubted says that its program may rename it, by its name or by how it was created.
	Doubted bool `json:"doubted,omitempty"`
	// Written is the first name that it had in an inbox with a time of grace, working names aside: its
	// writer may come back to that, whatever Name is by then.
	Written string    `json:"written,omitempty"`
	Created time.Time `json:"created"`
	Changed time.Time `json:"changed"` // the last transition or change of a field

	// Directory says that it is no file but a folder to be made. It has no data.
	Directory bool       `json:"directory,omitempty"`
	Folder    archive.ID `json:"folder"`
	// Within is the upload of the folder that this lies in until that is made; Folder is not known until then.
	Within string `json:"within,omitempty"`
	Inbox  bool   `json:"inbox,omitempty"`
	// Path is the folder as shown in the mount ("Muster GmbH/Rechnungen"), for people.
	Path string `json:"path"`
	// Local are the names of the local-only directories it lies in, outermost first.
	Local []string `json:"local,omitempty"`
	// Name is the file name as shown in its directory.
	Name string `json:"name"`
	// DocumentName is the name to send where it differs from Name.
	DocumentName string `json:"documentName,omitempty"`
	// Temporary says that a program made it under a name that it is to rename later.
	Temporary bool `json:"temporary,omitempty"`
	// Forgotten (a local file) is when it left its folder for good, because nobody had used it for
	// long; zero while it is there.
	Forgotten time.Time `json:"forgotten,omitzero"`
	// Replace is the inbox document whose content this replaces; 0 for a new document.
	Replace archive.ID `json:"replace,omitempty"`

	archive.Attributes
	// AutoExport is to be set on the document, which no upload does.
	AutoExport bool `json:"autoExport,omitempty"`
	// Xattrs are other user.* attributes by their full name.
	Xattrs map[string][]byte `json:"xattrs,omitempty"`
	// Mtime is a modification time that was set, zero for none.
	Mtime time.Time `json:"mtime,omitzero"`
	// Stopped says that rsync was stopped while it wrote it. It ends with the next change of the bytes.
	Stopped bool `json:"stopped,omitempty"`

	// Owned by the spool, with Version, ID, State, Created and Changed.

	// Size and SHA256 (hexadecimal) are of the committed data; SHA256 is empty while there
	// is none. For a local or failed file Size is its length all the same.
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256,omitempty"`
	// Unwritten is how many of its last bytes were announced, by the length, and never written.
	Unwritten int64 `json:"unwritten,omitempty"`
	// SentID is the idempotency key: the user's external id, else "archivefs-" and a UUID.
	SentID string `json:"sentId,omitempty"`
	// SentName, SentFolder, SentReplace and SentSHA256 are what was sent last, and where.
	SentName    string     `json:"sentName,omitempty"`
	SentFolder  archive.ID `json:"sentFolder,omitempty"`
	SentReplace archive.ID `json:"sentReplace,omitempty"`
	SentSHA256  string     `json:"sentSha256,omitempty"`
	// Split says that the service may make several documents of it, under other names.
	Split bool `json:"split,omitempty"`
	// Baseline are the documents of that name in the folder before it was sent; all
	// documents of the folder when Split is set.
	Baseline []archive.ID `json:"baseline,omitempty"`
	// Doubtful says that something was sent and may have arrived, so that the archive is
	// looked at before anything is sent again.
	Doubtful bool `json:"doubtful,omitempty"`
	// Open are the documents that may be what was sent, by the last look that could not tell.
	Open []archive.ID `json:"open,omitempty"`
	// Refused says that the service said no to what was sent last.
	Refused  bool `json:"refused,omitempty"`
	Attempts int  `json:"attempts,omitempty"`
	// Reason is why it failed, why it still waits, or why the local file was not taken; printable.
	Reason string `json:"reason,omitempty"`
	// Document is the document after confirmation, 0 when the service did not tell.
	Document archive.ID `json:"document,omitempty"`
	// Had is the name of that document, printable, where the archive had it before, in this
	// folder or another one, and made no new one. Else it is empty.
	Had string `json:"had,omitempty"`
}

// Person returns the user of this machine on whose behalf it is sent; false if that is not known.
func (r *Record) Person() (uid uint32, known bool) { return r.UID, r.UID != 0 || r.ByRoot }

// By sets on whose behalf it is sent, and changes nothing if that is not known.
func (r *Record) By(uid uint32, known bool) {
	if known {
		r.UID, r.ByRoot = uid, uid == 0
	}
}

// documentName is the name to send.
func (r *Record) documentName() string {
	if r.DocumentName != "" {
		return r.DocumentName
	}
	return r.Name
}

// clone returns a copy that shares nothing with r.
func (r *Record) clone() Record {
	c := *r
	c.Local = slices.Clone(r.Local)
	c.Attributes = r.CloneAttributes()
	c.Baseline, c.Open = slices.Clone(r.Baseline), slices.Clone(r.Open)
	c.Xattrs = maps.Clone(r.Xattrs)
	for name, value := range c.Xattrs {
		c.Xattrs[name] = slices.Clone(value)
	}
	return c
}

// keepOwned gives next the fields of r that only the spool changes.
func (r *Record) keepOwned(next *Record) {
	next.Version, next.ID, next.State = r.Version, r.ID, r.State
	next.Directory = r.Directory
	next.Created, next.Changed, next.Size, next.SHA256, next.Unwritten = r.Created, r.Changed, r.Size, r.SHA256, r.Unwritten
	next.SentID, next.SentName, next.SentFolder = r.SentID, r.SentName, r.SentFolder
	next.SentReplace, next.SentSHA256 = r.SentReplace, r.SentSHA256
	next.Split, next.Baseline, next.Open, next.Doubtful, next.Refused = r.Split, slices.Clone(r.Baseline), slices.Clone(r.Open), r.Doubtful, r.Refused
	next.Attempts, next.Reason, next.Document, next.Had = r.Attempts, r.Reason, r.Document, r.Had
}

// forgetSent drops what was known about earlier attempts.
func (r *Record) forgetSent() {
	r.SentID, r.SentName, r.SentFolder, r.SentReplace, r.SentSHA256 = "", "", 0, 0, ""
	r.Split, r.Baseline, r.Open, r.Doubtful, r.Refused, r.Attempts = false, nil, nil, false, false, 0
}

// fail makes r the record of data of size bytes that failed outside a delivery.
func (r *Record) fail(reason string, size int64) {
	r.Doubtful = r.inDoubt()
	if r.SHA256 == "" {
		r.Size = size
	}
	r.Rest, r.Reason = 0, archive.Printable(reason)
}

// miss makes r the record of a complete upload of which later records may be missing: it may have been sent, under a
// key that is lost. Then its content says whether a document is it.
func (r *Record) miss() {
	r.Doubtful, r.Rest, r.Reason = true, 0, errMissed.Error()
	r.SentID, r.SentName, r.SentFolder, r.SentReplace, r.SentSHA256 = r.ExternalID, r.documentName(), r.Folder, r.Replace, r.SHA256
	r.Split, r.Baseline = r.Splits(), nil
}

// Incomplete reports whether it failed for a reason in the file itself: its writer did not finish it, it could not be
// written, it visibly lacks its end, or it is empty. Only a commit says that a file is whole, and takes its checksum.
func (r *Record) Incomplete() bool {
	return r.State.IsFailed() && !r.Directory && (r.SHA256 == "" || r.Size == 0)
}

// Lacks returns why its bytes are not all that its writer meant, nil if nothing says so.
func (r *Record) Lacks() error {
	switch {
	case r.Stopped:
		return ErrStopped
	case r.Unwritten > 0:
		return fmt.Errorf("announced %d bytes, the last %d were never written", r.Size, r.Unwritten)
	}
	return nil
}

// inDoubt reports whether the archive may have it from an earlier attempt.
func (r *Record) inDoubt() bool { return r.State.InFlight() || r.Doubtful }

// WaitsInDoubt reports whether it waits in the queue after it was sent without an answer, and may still arrive.
func (r *Record) WaitsInDoubt() bool { return r.State == Delivering && r.Reason != "" }

// Splits reports whether the service may make several documents of it, under other names.
func (r *Record) Splits() bool {
	return r.EmailImportOrder != "" || strings.EqualFold(path.Ext(r.documentName()), ".eml")
}

// repeats reports whether to send it now is to repeat what was sent in doubt, with the same
// external id and the same baseline.
func (r *Record) repeats() bool {
	return r.inDoubt() && (r.SentID != "" || r.Replace != 0) && r.SentFolder == r.Folder && r.SentName == r.documentName() && r.SentReplace == r.Replace &&
		(r.ExternalID == "" || r.ExternalID == r.SentID)
}

// MayBe reports whether a document that the folder lists may be what was sent: it was not
// there before, and has the name where nothing but the upload itself made a document of it.
func (r *Record) MayBe(doc *archive.Document) bool {
	return r.mayBeNamed(doc.Name) && !slices.Contains(r.Baseline, doc.ID)
}

func (r *Record) mayBeNamed(name string) bool { return r.Split || sameName(name, r.SentName) }

// sameRequest reports whether a and b ask the same of the archive.
func sameRequest(a, b *Record) bool {
	return a.Folder == b.Folder && a.Within == b.Within && a.Inbox == b.Inbox && a.documentName() == b.documentName() && a.Replace == b.Replace &&
		a.EqualAttributes(&b.Attributes)
}
