// Package refusal makes the errors with which the service refuses what a client asks: what is wrong, with which
// field, or why credentials are not enough. What they say is told to the client.
package refusal

import (
	"errors"
	"fmt"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
)

// Field blames a parameter or form field for an error.
type Field struct {
	Name string
	Err  error
}

// Reason says what is wrong with the field.
func (e Field) Reason() string {
	var refused *archive.Error
	if errors.As(e.Err, &refused) && refused.Detail != "" {
		return refused.Detail
	}
	return archive.KindOf(e.Err).String()
}

// Fields are the fields that are wrong; there is at least one.
type Fields []Field

// Error implements error.
func (e Fields) Error() string {
	texts := make([]string, 0, len(e))
	for _, f := range e {
		texts = append(texts, f.Name+": "+f.Reason())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns what the fields are blamed for.
func (e Fields) Unwrap() []error {
	errs := make([]error, 0, len(e))
	for _, f := range e {
		errs = append(errs, f.Err)
	}
	return errs
}

// New makes an error that tells the client what is wrong.
func New(kind archive.Kind, format string, args ...any) error {
	return &archive.Error{Op: "server", Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// Invalid refuses a field's value.
func Invalid(field, format string, args ...any) error {
	return Fields{{Name: field, Err: New(archive.KindInvalid, format, args...)}}
}

// Blame names the field in an error that is the client's doing; others pass.
func Blame(field string, err error) error {
	var already Fields
	if err == nil || archive.KindOf(err) == archive.KindOther || errors.As(err, &already) {
		return err
	}
	return Fields{{Name: field, Err: err}}
}

// The reasons for which somebody is not let in, or not to what they ask for, beside those of
// package gate.
const (
	Twice       gate.Reason = "twice"        // a header is there twice
	OtherScheme gate.Reason = "other-scheme" // the Authorization is not Basic
	Incomplete  gate.Reason = "incomplete"   // the key of the options, without what belongs beside it
	NoScope     gate.Reason = "scope"
	NoMandator  gate.Reason = "mandator" // it belongs to one that the key is not for
)

// Deny refuses what is asked for with credentials that are good for other things.
func Deny(why gate.Reason, kind archive.Kind, format string, args ...any) error {
	return &gate.Refusal{Reason: why, Public: New(kind, format, args...)}
}

// Denial is the reason of an error for which somebody is not let in, empty when that is not why.
func Denial(err error) gate.Reason {
	refusal := new(gate.Refusal)
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Reason
}

// Nothing says that something is not there, as err does in other words. Whether it is there for
// others is not told.
func Nothing(err error, format string, args ...any) error {
	if why := Denial(err); why != "" {
		return Deny(why, archive.KindNotFound, format, args...)
	}
	return New(archive.KindNotFound, format, args...)
}

// Elsewhere says that what belongs to a mandator that the key is not for is not there.
func Elsewhere(format string, args ...any) error {
	return Deny(NoMandator, archive.KindNotFound, format, args...)
}
