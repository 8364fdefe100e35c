// Package xattr holds the extended attributes of an archive: which there are, on what,
// who may write them, and their names and values both ways (xattr(7)).
//
// It is pure: it does not ask the service, keep state or make an errno. Names begin with
// Prefix. Parsing what Name has written gives the same attribute back, and parsing a
// formatted value gives the same value. Errors wrap one of the package's, so that a caller
// can tell a bad value from a name that does not exist.
package xattr
