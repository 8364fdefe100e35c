package closing

import (
	"errors"

	"golang.org/x/sys/unix"
)

// Files of /proc are read without package os, which takes three more system calls for each, to
// find out that it cannot be polled. A close waits for a dozen of them.

// procRoom is room for what most files in /proc hold, in bytes.
const procRoom = 4 << 10

// readOnce is readProc for a file that the kernel writes in one piece (single_open of seq_file), which
// needs no second read to tell that it ended.
func readOnce(path string, buf []byte) ([]byte, error) { return read(path, buf, true) }

// readProc reads a file below /proc by way of buf, which it may use.
func readProc(path string, buf []byte) ([]byte, error) { return read(path, buf, false) }

func read(path string, buf []byte, once bool) ([]byte, error) {
	fd, err := openProc(path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	buf = roomIn(buf)
	for {
		if len(buf) == cap(buf) {
			buf = append(buf, 0)[:len(buf)]
		}
		n, err := unix.Read(fd, buf[len(buf):cap(buf)])
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		default:
			buf = buf[:len(buf)+n]
			if n == 0 || once && len(buf) < cap(buf) {
				return buf, nil
			}
		}
	}
}

// direntRoom is more than an entry takes whose name is a number. Where so much room is left there are no
// more entries.
const direntRoom = 64

// listProc returns the names in a directory below /proc, all of them numbers. It uses buf likewise.
func listProc(path string, buf []byte) ([]string, error) {
	fd, err := openProc(path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	var names []string
	buf = roomIn(buf)[:procRoom]
	for {
		n, err := unix.ReadDirent(fd, buf)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return nil, err
		case n == 0:
			return names, nil
		default:
			if _, _, names = unix.ParseDirent(buf[:n], -1, names); len(buf)-n >= direntRoom {
				return names, nil
			}
		}
	}
}

// roomIn returns buf without what is in it, or another one where it has not enough room.
func roomIn(buf []byte) []byte {
	if cap(buf) < procRoom {
		return make([]byte, 0, procRoom)
	}
	return buf[:0]
}

func openProc(path string, flags int) (fd int, err error) {
	for {
		fd, err = unix.Open(path, flags|unix.O_CLOEXEC, 0)
		if !errors.Is(err, unix.EINTR) {
			return fd, err
		}
	}
}
