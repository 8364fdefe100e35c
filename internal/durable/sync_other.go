//go:build !linux

package durable

import "os"

// SyncData makes the bytes of f, and its length, survive a crash of the machine.
func SyncData(f *os.File) error { return f.Sync() }
