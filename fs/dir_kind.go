package fs

// dirKind says what a directory stands for.
type dirKind uint8

const (
	rootDir     dirKind = iota // the mandators, and inboxes
	inboxesDir                 // the inboxes
	mandatorDir                // a top-level folder of the archive
	folderDir                  // a folder below a mandator
	inboxDir                   // an inbox, or a folder in one
	localDir                   // a directory that only this machine has
)

// String is the value of the attribute kind.
func (k dirKind) String() string {
	switch k {
	case mandatorDir:
		return "mandator"
	case folderDir:
		return "folder"
	case inboxDir:
		return "inbox"
	case localDir:
		return "local"
	case rootDir, inboxesDir:
	}
	return ""
}

// holdsDocuments reports whether documents can lie in such a directory.
func (k dirKind) holdsDocuments() bool { return k == mandatorDir || k == folderDir || k == inboxDir }

// archives reports whether a document in such a directory is archived.
func (k dirKind) archives() bool { return k == mandatorDir || k == folderDir }

// below is the kind of a folder inside a directory of kind k.
func (k dirKind) below() dirKind {
	switch k {
	case rootDir:
		return mandatorDir
	case inboxesDir, inboxDir:
		return inboxDir
	case mandatorDir, folderDir, localDir:
	}
	return folderDir
}
