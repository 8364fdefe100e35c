package writer

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
)

// Order is what a process is to do.
type Order struct {
	history.Action
	Root    string // the mount point
	Path    string // below Root: the file, the folder, or the document that is moved or read
	To      string // below Root, of Temporary, Move, File and Rename
	Content []byte
	// Contents are those of the Ops of Work.
	Contents [][]byte
	// Other is written and replaced before Content, by Rewrite.
	Other []byte
	// Keyword is to be set, empty for none.
	Keyword string
	// Part is which half is written, 1 or 2, by Two and TwoKilled; 0 for all of it.
	Part int
	// Program is the archivefs that a person uses, for CutRetry and Retry.
	Program string
}

// Mark is how far a process got.
type Mark string

// The marks.
const (
	Opening Mark = "opening" // what is there is truncated with the next step
	Synced  Mark = "synced"  // fsync, or an earlier close, answered 0: Event.Range is accepted
	Half    Mark = "half"    // half is written, or listed; the process waits for a line
	Closing Mark = "closing" // all is written, the last step begins
	ReadIt  Mark = "read"    // it read Event.Sum
	Tagged  Mark = "tagged"  // Event.Errno was the answer of setting the keyword
	Seen    Mark = "seen"    // the document that the rename is to replace is there: an old listing may not have it
	Moved   Mark = "moved"   // Event.Errno was the answer of the rename after the close
	Gone    Mark = "gone"    // Event.Errno was the answer of the removal after the close
	Leaving Mark = "leaving" // the removal begins
	Begins  Mark = "begins"  // the op begins that Event.Op counts, of Work
	// Answered: Event.Errno was the answer of that op.
	Answered Mark = "answered"
	Made     Mark = "made"  // Event.Errno was the answer of the mkdir before the rename
	Again    Mark = "again" // it failed; the process waits for a line, then it is retried
	Done     Mark = "done"  // Event.Errno was the answer of Event.Step
)

// Event is a message of a process.
type Event struct {
	Mark       Mark
	Begin, End int               `json:",omitempty"` // of the range that is accepted
	Sum        [sha256.Size]byte `json:",omitzero"`
	Step       string            `json:",omitempty"` // open, write, fsync, close, rename, mkdir, read
	Errno      syscall.Errno     `json:",omitempty"`
	Op         int               `json:",omitempty"`
}

// String is for people.
func (e Event) String() string {
	switch e.Mark { // the others are words
	case Synced:
		return fmt.Sprintf("%s: %d to %d", e.Mark, e.Begin, e.End)
	case ReadIt:
		return fmt.Sprintf("%s: %x", e.Mark, e.Sum[:4])
	case Done:
		return fmt.Sprintf("%s: %s: %v", e.Mark, e.Step, e.Errno)
	case Begins:
		return fmt.Sprintf("%s: %d", e.Mark, e.Op)
	case Answered:
		return fmt.Sprintf("%s: %d: %v", e.Mark, e.Op, e.Errno)
	case Tagged, Moved, Gone, Made:
		return fmt.Sprintf("%s: %v", e.Mark, e.Errno)
	}
	return string(e.Mark)
}

// Main runs the action of the Order in the first line of in and returns the exit status.
func Main(in io.Reader, out io.Writer) int {
	p := &process{in: bufio.NewReader(in), out: json.NewEncoder(out)}
	order, err := p.in.ReadBytes('\n')
	if err == nil {
		err = json.Unmarshal(order, &p.Order)
	}
	if err != nil {
		fmt.Fprintln(out, err) //nolint:errcheck // nowhere to say it
		return 1
	}
	p.answer(p.run())
	return 0
}

// answer tells the lab what archivefs answered to the last step, once.
func (p *process) answer(err error) {
	if p.answered {
		return
	}
	p.answered = true
	p.say(outcome(Done, err))
}

// outcome is the event of a step that ended with err.
func outcome(mark Mark, err error) Event {
	if failed, ok := errors.AsType[*stepError](err); ok {
		return Event{Mark: mark, Step: failed.step, Errno: failed.errno()}
	}
	return Event{Mark: mark}
}

// stepError is an error that archivefs answered.
type stepError struct {
	step string
	err  error
}

func (e *stepError) Error() string { return e.step + ": " + e.err.Error() }

// errno is the answer as a number, EIO where there is none.
func (e *stepError) errno() syscall.Errno {
	if errno, ok := errors.AsType[syscall.Errno](e.err); ok {
		return errno
	}
	return syscall.EIO
}

// step makes the error of a system call one that the lab is told.
func step(name string, err error) error {
	if err == nil {
		return nil
	}
	return &stepError{name, err}
}

// process is a process at work.
type process struct {
	Order
	in       *bufio.Reader
	out      *json.Encoder
	answered bool
}

// say tells the lab how far the process got. When nobody listens the process ends soon.
func (p *process) say(e Event) { _ = p.out.Encode(e) }

// wait returns when the lab says so.
func (p *process) wait() { _, _ = p.in.ReadString('\n') }
