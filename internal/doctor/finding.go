package doctor

import "github.com/archivefs/archivefs/archive"

// Level says how bad a finding is.
type Level string

// The levels. With a warning a mount works, with a failure it does not, or not always.
const (
	OK      Level = "ok"
	Warning Level = "warning"
	Failure Level = "failure"
)

// Finding is the result of a check. Its texts are printable.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"level"`
	Text  string `json:"text"`
	Do    string `json:"do,omitempty"` // what helps; empty when nothing has to
}

// Fine says that all is well.
func Fine(check, text string) Finding { return Finding{check, OK, archive.Printable(text), ""} }

// Warn says that something may be missed.
func Warn(check, text, do string) Finding {
	return Finding{check, Warning, archive.Printable(text), archive.Printable(do)}
}

// Fail says that something does not work.
func Fail(check, text, do string) Finding {
	return Finding{check, Failure, archive.Printable(text), archive.Printable(do)}
}

// Failures counts the findings of that level.
func Failures(findings []Finding) (n int) {
	for _, f := range findings {
		if f.Level == Failure {
			n++
		}
	}
	return n
}
