package server

import (
	"errors"
	"fmt"
	"strings"

	"github.com/archivefs/archivefs/archive"
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
