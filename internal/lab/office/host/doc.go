//go:build linux

// Package host are machines that export an archive to an office. Each has a mount of it, with the options
// of archivefs share samba --unit, Samba with the section of archivefs share samba, and servers of FTP for
// scanners. All of it listens on loopback, and keeps its files below one directory. Between a mount and
// the service can be a proxy that breaks requests when told to, and another one that delays them. What has
// become of a document is asked at the service, past the mounts.
package host
