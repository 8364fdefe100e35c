package audit

import "crypto/sha256"

// Sum identifies a content.
type Sum [sha256.Size]byte

// Outcome is all that is known about a run.
type Outcome struct {
	Sync    bool // the mode of writing
	Files   []File
	Folders []Folder
	Reads   []Read
	Passed  []Passed
	// DiskFailed says that the disk refused something by plan.
	DiskFailed bool

	// What is there in the end.

	Archive []Document
	// Retried is the archive after a person had all that failed sent again; nil if nothing had.
	Retried []Document
	Made    []string // the paths of the folders below the mandator and in the inbox
	// Others are the paths of those that no program made.
	Others []string
	Kept   []Kept // pending and failed uploads
	Local  []Local
}

// Told is what a program was told.
type Told string

// The answers.
const (
	Nothing Told = ""
	OK      Told = "ok"
	Failed  Told = "error"
)

// File is a content that a program put in, or that was in an inbox from the beginning.
type File struct {
	What        string // for people: kind and number of the action
	Folder      string // where it is to be; empty: nobody can tell
	Name        string
	Content     []byte
	Old         bool // it was in the inbox from the beginning
	Replacement bool // of the content of an inbox document
	// Replaces is the content that it takes the place of, when Replacement is set.
	Replaces Sum
	// Took says that a rename over what it replaces was answered with 0.
	Took bool
	// Opening: the program began to truncate what it replaces.
	Opening bool

	// Closing: all of it was written and the last step begun, so that the archive may have it.
	Closing bool
	Told    Told
	Time    uint64 // when it was told, on the clock of the run
	// Refused says that the answer was an error of close, after all was written.
	Refused bool
	// Late says that the answer was that there was none in time: it may take effect later.
	Late bool
	// Retried is when a person asked for it to be sent again after it had failed; 0: never.
	Retried uint64
	// Accepted are parts of the content that were accepted before the last answer.
	Accepted []Range
	// Keyword was set on it, and the answer was 0; empty for none.
	Keyword string
	// Leaving says that the program began to remove it after its close.
	Leaving bool
	// Removed is when that was answered with 0; 0: never.
	Removed uint64
	// Stays says that it is never sent: it has a temporary name, or visibly lacks its end.
	Stays bool

	// Waits says that accepted means archived in the end or failed, in sync mode, too: its session had a
	// time of grace, or its name may be a working name.
	Waits bool
	// Places, when there are any, are where it may be instead of Folder and Name: an op that got no answer
	// leaves several. Absent says that it may be gone or have other bytes by one.
	Places []Place
	Absent bool
	// MayStay says that it may stay on this machine, Stays that it must.
	MayStay bool
	// Over is when other bytes had taken its place with the answer 0; 0: never.
	Over uint64
	// Rests says that it must not be sent before Until.
	Rests bool
	Until uint64
}

// Place is a folder and a name in it.
type Place struct{ Folder, Name string }

// Range is a part of a content.
type Range struct{ Begin, End int }

// Folder is a folder that a program made.
type Folder struct {
	What string
	Told Told
	// Paths are where it may be; none: it stays on this machine or is gone. Absent says that it may.
	Paths  []string
	Absent bool
	// Waits is as that of a File.
	Waits bool
}

// Read is a read that succeeded.
type Read struct {
	What string
	Got  Sum
	// Want are the contents that are right.
	Want []Sum
}

// Passed is a content that the service was given.
type Passed struct {
	Sum  Sum
	Time uint64
}

// Document is a document of the archive.
type Document struct {
	Folder, Name string
	Keywords     []string
	Sum          Sum
}

// Kept is an upload that stays here.
type Kept struct {
	ID, Name string
	State    string // pending or failed
	Reason   string
	Content  []byte
	// Directory says that it is a folder that waits to be made.
	Directory bool
	// Broken says that its record or its bytes cannot be read.
	Broken bool
}

// Local is a file that is shown in a folder and is no document.
type Local struct {
	Name    string
	Content []byte
}

// Kind is a kind of violation.
type Kind string

// The kinds; the package comment has the rules.
const (
	Lost        Kind = "lost"
	Doubled     Kind = "doubled"
	Wrong       Kind = "wrong bytes"
	Missing     Kind = "told ok but missing"
	Late        Kind = "archived after an error"
	Unexplained Kind = "unexplained failures"
	Left        Kind = "folder left behind"
	Early       Kind = "sent before its time of grace was over"
)

// Kinds returns all kinds, in the order of reports.
func Kinds() []Kind { return []Kind{Lost, Doubled, Wrong, Missing, Late, Unexplained, Left, Early} }

// Violation is a rule that was broken.
type Violation struct {
	Kind Kind
	Text string
}
