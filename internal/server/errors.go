package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/server/gate"
)

// fieldError blames a parameter or form field for an error.
type fieldError struct {
	name string
	err  error
}

// reason says what is wrong with the field.
func (e fieldError) reason() string {
	var told *archive.Error
	if errors.As(e.err, &told) && told.Detail != "" {
		return told.Detail
	}
	return archive.KindOf(e.err).String()
}

// fieldErrors are the fields that are wrong; there is at least one.
type fieldErrors []fieldError

// Error implements error.
func (e fieldErrors) Error() string {
	texts := make([]string, 0, len(e))
	for _, f := range e {
		texts = append(texts, f.name+": "+f.reason())
	}
	return strings.Join(texts, "; ")
}

// Unwrap returns what the fields are blamed for.
func (e fieldErrors) Unwrap() []error {
	errs := make([]error, 0, len(e))
	for _, f := range e {
		errs = append(errs, f.err)
	}
	return errs
}

// refuse makes an error that tells the client what is wrong.
func refuse(kind archive.Kind, format string, args ...any) error {
	return &archive.Error{Op: "server", Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// invalid refuses a field's value.
func invalid(field, format string, args ...any) error {
	return fieldErrors{{name: field, err: refuse(archive.KindInvalid, format, args...)}}
}

// blame names the field in an error that is the client's doing; others pass.
func blame(field string, err error) error {
	var already fieldErrors
	if err == nil || archive.KindOf(err) == archive.KindOther || errors.As(err, &already) {
		return err
	}
	return fieldErrors{{name: field, err: err}}
}

// The reasons for which somebody is not let in, or not to what they ask for, beside those of
// package gate.
const (
	twice       gate.Reason = "twice"        // a header is there twice
	otherScheme gate.Reason = "other-scheme" // the Authorization is not Basic
	incomplete  gate.Reason = "incomplete"   // the key of the options, without what belongs beside it
	noScope     gate.Reason = "scope"
	noMandator  gate.Reason = "mandator" // it belongs to one that the key is not for
)

// deny refuses what is asked for with credentials that are good for other things.
func deny(why gate.Reason, kind archive.Kind, format string, args ...any) error {
	return &gate.Refusal{Reason: why, Told: refuse(kind, format, args...)}
}

// denial is the reason of an error for which somebody is not let in, empty when that is not why.
func denial(err error) gate.Reason {
	refusal := new(gate.Refusal)
	if !errors.As(err, &refusal) {
		return ""
	}
	return refusal.Reason
}

// nothing says that something is not there, as err does in other words. Whether it is there for
// others is not told.
func nothing(err error, format string, args ...any) error {
	if why := denial(err); why != "" {
		return deny(why, archive.KindNotFound, format, args...)
	}
	return refuse(archive.KindNotFound, format, args...)
}

// elsewhere says that what belongs to a mandator that the key is not for is not there.
func elsewhere(format string, args ...any) error {
	return deny(noMandator, archive.KindNotFound, format, args...)
}
