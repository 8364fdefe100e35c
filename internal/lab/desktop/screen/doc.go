//go:build linux

// Package screen is a desktop of its own: an X server without a monitor, a window manager, a
// session bus and a home, with what a person does on it. Keys and the mouse go through the X
// server as they do from a real keyboard and mouse; what is shown is read through the
// accessibility bus (AT-SPI), as a screen reader does, and kept as pictures.
//
// Every wait polls for what shall come, with a limit; no pause decides about a result.
package screen
