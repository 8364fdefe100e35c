//go:build !linux

package durable

import "os"

// Allocate gives an empty file its size in bytes.
func Allocate(f *os.File, size int64) error { return f.Truncate(size) }
