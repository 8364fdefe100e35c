package cache

import (
	"context"
	"os"
	"time"
)

// SetPause replaces the wait between two tries of a download.
func (c *Content) SetPause(pause func(context.Context, time.Duration) error) { c.pause = pause }

// SetWrite replaces the writing to files.
func (c *Content) SetWrite(write func(*os.File, []byte, int64) (int, error)) { c.write = write }

// SetFree replaces the question how much the disk can take.
func (c *Content) SetFree(free func() (int64, error)) { c.free = free }

// BlockSize is how many bytes of a content that the disk has no room for are requested at a time.
const BlockSize = blockSize

// WaitIdle returns when no download runs.
func (c *Content) WaitIdle() { c.running.Wait() }

// ParseFileName decodes and encodes again the name of a cached file.
func ParseFileName(s string) (string, error) {
	n, err := parseFileName(s)
	return n.String(), err
}

// CopyFile is how Adopt takes a file over from another file system.
func CopyFile(path, target string) error { return copyFile(path, target) }

// SetLimit replaces the bound of the file.
func (k *Known) SetLimit(limit uint64) { k.limit = limit }

// Chunk is how many bytes a transfer writes at a time.
const Chunk = chunk
