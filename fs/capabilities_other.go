//go:build !linux

package fs

// platformCapabilities are those of this system alone.
const platformCapabilities = 0
