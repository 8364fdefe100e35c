// Package refusal makes the errors with which the service refuses a request: what is wrong, with which field,
// or why credentials are not enough. Clients get to see their text.
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
	if refused, ok := errors.AsType[*archive.Error](e.Err); ok && refused.Detail != "" {
		return refused.Detail
	}
	return archive.KindOf(e.Err).String()
}

// Fields are the invalid fields, at least one.
type Fields []Field

// Error implements error.
func (e Fields) Error() string {
	texts := make([]string, 0, len(e))
	for _, f := range e {
		texts = append(texts, f.Name+": "+f.Reason())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns the errors of the fields.
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

// Blame adds the field to an error that the client caused; other errors are returned unchanged.
func Blame(field string, err error) error {
	if _, already := errors.AsType[Fields](err); err == nil || already || archive.KindOf(err) == archive.KindOther {
		return err
	}
	return Fields{{Name: field, Err: err}}
}

// Further reasons to refuse credentials, or a request that they do not permit.
const (
	Twice       gate.Reason = "twice"        // a header is there twice
	OtherScheme gate.Reason = "other-scheme" // the Authorization is not Basic
	Incomplete  gate.Reason = "incomplete"   // the key of the options, without the user or Cloud-ID that it needs
	NoScope     gate.Reason = "scope"
	NoMandator  gate.Reason = "mandator" // the key is for other mandators
)

// Deny refuses a request that valid credentials do not permit.
func Deny(why gate.Reason, kind archive.Kind, format string, args ...any) error {
	return &gate.Refusal{Reason: why, Public: New(kind, format, args...)}
}

// Denial is the reason of a gate.Refusal, empty for any other error.
func Denial(err error) gate.Reason {
	if refused, ok := errors.AsType[*gate.Refusal](err); ok {
		return refused.Reason
	}
	return ""
}

// Nothing rewords an error of KindNotFound, and keeps its reason for the operator. The client cannot
// tell whether the thing exists for others.
func Nothing(err error, format string, args ...any) error {
	if why := Denial(err); why != "" {
		return Deny(why, archive.KindNotFound, format, args...)
	}
	return New(archive.KindNotFound, format, args...)
}

// Elsewhere says that something was not found, because the key is for other mandators.
func Elsewhere(format string, args ...any) error {
	return Deny(NoMandator, archive.KindNotFound, format, args...)
}
