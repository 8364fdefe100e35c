// Package xattr holds the extended attributes of an archive in one table: which there are, where
// their values come from, on what they can be set, and what that does; and their names and
// values both ways (xattr(7)).
//
// It keeps no state and makes no errno, and asks the service for nothing but Change, through the
// Service that it is given. Names begin with Prefix. Parsing what Name has written gives the
// same attribute back, and parsing a formatted value gives the same value. Errors wrap one of
// the package's, so that a caller can tell a bad value from a name that does not exist.
package xattr
