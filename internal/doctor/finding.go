package doctor

import "github.com/archivefs/archivefs/archive"

// Level is how bad a finding is.
type Level string

// The levels. With a warning a mount works; with a failure it does not, or not always.
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
	Do    string `json:"do,omitempty"` // how to fix it; empty if there is nothing to fix
}

// Fine is a finding that all is well.
func Fine(check, text string) Finding { return Finding{check, OK, archive.Printable(text), ""} }

// Warn is a finding of something that may matter.
func Warn(check, text, do string) Finding {
	return Finding{check, Warning, archive.Printable(text), archive.Printable(do)}
}

// Fail is a finding of something that does not work.
func Fail(check, text, do string) Finding {
	return Finding{check, Failure, archive.Printable(text), archive.Printable(do)}
}

// Failures counts the findings of level Failure.
func Failures(findings []Finding) (n int) {
	for _, f := range findings {
		if f.Level == Failure {
			n++
		}
	}
	return n
}
