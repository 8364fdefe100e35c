package history

// Kind is what a program does in an action.
type Kind string

// The kinds of actions.
const (
	Write     Kind = "write"      // creates a file, writes it and closes it
	Copy      Kind = "copy"       // the same, then sets mode and time, as cp -p
	Temporary Kind = "temporary"  // writes under a temporary name and renames it
	Rewrite   Kind = "rewrite"    // writes, opens again with O_TRUNC, writes, closes both
	Killed    Kind = "killed"     // is killed when half is written
	KillClose Kind = "kill close" // is killed while it closes
	Hanging   Kind = "hanging"    // has half written when the session ends
	Two       Kind = "two"        // two programs write a half of one file each
	TwoKilled Kind = "two killed" // the same, and the second is killed before it closes
	Cut       Kind = "cut"        // writes a PDF without its end, as a cancelled copy does
	CutRetry  Kind = "cut retry"  // the same, and a person has it sent all the same
	Retry     Kind = "retry"      // writes a file, and a person has it sent again when it failed
	Keep      Kind = "keep"       // leaves a file under a temporary name
	KeepMore  Kind = "keep more"  // the same, and appends to it later
	Move      Kind = "move"       // writes a file and closes it, and then gives it another name or folder
	Remove    Kind = "remove"     // writes a file and closes it, and then removes it
	Mkdir     Kind = "mkdir"
	File      Kind = "file"      // moves an inbox document into the folder
	Rename    Kind = "rename"    // renames an inbox document
	Replace   Kind = "replace"   // overwrites an inbox document
	Read      Kind = "read"      // reads an inbox document
	Work      Kind = "work"      // makes, renames, moves, rewrites and removes files and folders of its own
	Over      Kind = "over"      // writes a file in the inbox and renames it over an inbox document
	FileAway  Kind = "file away" // makes a folder, and moves an inbox document into it
	Look      Kind = "look"      // lists a folder, which somebody else changes at the service, and lists it again
)

// Action is what a program does.
type Action struct {
	Kind  Kind
	Index int    // of the content that it writes
	Dir   string // Folder or Inbox
	Name  string // of the file or folder, after all renames
	From  string // where Move writes it: Folder or Inbox
	Size  int    // in bytes
	Chunk int    // of a write, in bytes
	Fsync bool   // before the close
	// Tagged says that a keyword is set on it: before the close of a new file, or before File
	// moves it.
	Tagged bool
	// Document is the inbox document that it is about, by its place in History.Waiting.
	Document int
	// Ops are those of Work. Tree is the index of the action that began it: a later one may go on.
	Ops  []Op `json:",omitempty"`
	Tree int  `json:",omitempty"`
	// New is the folder that FileAway makes, or the name under which Over writes.
	New string `json:",omitempty"`
}

// Temp is the temporary name of the actions that have one.
func (a *Action) Temp() string { return a.Name + ".part" }

// Draft is the name under which Move writes.
func (a *Action) Draft() string { return "entwurf-" + a.Name }

// OnDocument reports whether the action is about a document of the inbox.
func (a *Action) OnDocument() bool {
	switch a.Kind { // the others are not
	case File, Rename, Replace, Read, Over, FileAway:
		return true
	}
	return false
}
