package server

import (
	"errors"
	"fmt"

	"github.com/archivefs/archivefs/archive"
)

// fieldError blames a parameter or form field for an error.
type fieldError struct {
	name string
	err  error
}

// Error implements error.
func (e *fieldError) Error() string { return e.name + ": " + e.err.Error() }

// Unwrap returns the error that the field is blamed for.
func (e *fieldError) Unwrap() error { return e.err }

// invalid refuses a field's value.
func invalid(field, format string, args ...any) error {
	return &fieldError{name: field, err: refuse(archive.KindInvalid, format, args...)}
}

// refuse makes an error that tells the client what is wrong.
func refuse(kind archive.Kind, format string, args ...any) error {
	return &archive.Error{Op: "server", Kind: kind, Detail: fmt.Sprintf(format, args...)}
}

// blame names the field in an error that is the client's doing; others pass.
func blame(field string, err error) error {
	if err == nil || archive.KindOf(err) == archive.KindOther {
		return err
	}
	var already *fieldError
	if errors.As(err, &already) {
		return err
	}
	return &fieldError{name: field, err: err}
}
