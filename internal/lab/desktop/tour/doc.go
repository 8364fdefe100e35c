//go:build linux

// Package tour goes through what people do with an archive on a desktop, with the programs
// that they do it with, and keeps of each step what was expected, what was seen, a picture,
// and what the service was asked meanwhile. Whether a step went well is decided by what the
// archive has afterwards and by what the program says, never by how the screen looks.
package tour
