//go:build linux

// Package lab runs histories: it joins the forgetful disk, the proxy, an archive service
// and the real program, lets writers loose on the mount, and hands what came of it to the
// audit.
//
// A run has a directory of its own with two mounts: disk, where the program keeps its state,
// served by this process, and mnt, the archive, served by the program. This process never
// touches what lies below either, since it would wait for itself or for one that waits for
// it; writers and inspectors are processes of their own.
//
// However a run ends, nothing of it stays: its processes are ended by their id, its mounts
// detached, its directory removed.
package lab
