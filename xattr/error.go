package xattr

import "errors"

// Errors of names and values.
var (
	// ErrUnknown: the name has Prefix but is not in the table.
	ErrUnknown = errors.New("unknown attribute")
	// ErrForeign: the name is in the user namespace but not below Prefix.
	ErrForeign = errors.New("not an attribute of the archive")
	// ErrNamespace: the name is outside of the user namespace.
	ErrNamespace = errors.New("attribute namespace is not supported")
	// ErrValue: the value is not one that the attribute can have.
	ErrValue = errors.New("bad attribute value")
	// ErrStays: the service has no operation that removes the attribute of a document.
	ErrStays = errors.New("the service has no operation that removes it")
	// ErrTooBig: the value is longer than MaxValue.
	ErrTooBig = errors.New("attribute value is too long")
)
