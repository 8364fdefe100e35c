//go:build linux

// Package host is a machine that exports an archive to an office: the archive service, a mount of it
// with the options of archivefs share samba --unit, Samba with the section of archivefs share samba,
// and servers of FTP for scanners. All of it listens on loopback, and keeps its files below one
// directory. Between the mount and the service is a proxy that breaks requests when told to. What has
// become of a document is asked at the service, past the mount.
package host
