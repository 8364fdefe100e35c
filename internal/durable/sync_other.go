//go:build !linux

package durable

import "os"

// BeginSync is a hint that this system does not take.
func BeginSync(*os.File, int64, int64) {}

// SyncData makes the bytes of f, and its length, survive a crash of the machine.
func SyncData(f *os.File) error { return f.Sync() }

// Allocate gives an empty file its size in bytes.
func Allocate(f *os.File, size int64) error { return f.Truncate(size) }
