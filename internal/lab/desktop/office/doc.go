//go:build linux

// Package office is the archive that a tour of the desktop works in: the service, a mount of
// it at Archive in the home of the session, and between the two a wire that counts what the
// service was asked and how many bytes went which way. What has become of a document is asked
// at the service, past the mount.
package office
