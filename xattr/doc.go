// Package xattr defines the extended attributes of an archive in one table: their names, where
// their values come from, on what they can be set, and what setting them does. It also converts
// names and values (xattr(7)).
//
// It keeps no state and makes no errno. Only Change sends requests, through the Service that it is
// given. Names begin with Prefix. Parsing a formatted name or value gives the same attribute or
// value back. Errors wrap one of the package's, so that a caller can tell a wrong value from an
// unknown name.
package xattr
