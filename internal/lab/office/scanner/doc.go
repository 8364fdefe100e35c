//go:build linux

// Package scanner is devices that scan: they write to an inbox by SMB and FTP as such devices do, while
// connections, the service and the mount break. A plan, drawn from a seed, says what each writes and
// what fails when. In the end the documents of the archive are compared with what was written.
package scanner
