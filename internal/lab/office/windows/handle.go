//go:build linux

package windows

import (
	"bytes"
	"encoding/binary"
	"errors"
	"time"
	"unicode/utf16"
)

// How says how a file is opened.
type How struct {
	Access      int
	Share       int // what others may do
	Options     int
	Disposition int
	Oplock      int    // what is asked for
	Context     string // name of a create context; empty for none
	Data        []byte // of the context
}

// Handle is an open file or directory.
type Handle struct {
	c  *Client
	id string
	// Oplock is what was granted, 0 for none.
	Oplock int
}

// Open opens a file, a stream of one ("a.txt:Zone.Identifier") or a directory.
func (c *Client) Open(path string, how How) (*Handle, error) {
	var answer struct {
		Handle string
		Oplock int
	}
	err := c.do("open", map[string]any{
		"path": backslashes(path), "access": how.Access, "share": how.Share, "options": how.Options, "disposition": how.Disposition,
		"oplock": how.Oplock, "context": how.Context, "data": how.Data,
	}, &answer)
	return &Handle{c, answer.Handle, answer.Oplock}, err
}

// Close closes it.
func (h *Handle) Close() error { return h.c.do("close", map[string]any{"handle": h.id}, nil) }

// Piece is how much Explorer writes and reads at once.
const Piece = 64 << 10

// WriteAt writes in pieces.
func (h *Handle) WriteAt(data []byte, offset int64) (n int, err error) {
	for n < len(data) && err == nil {
		p := data[n:min(n+Piece, len(data))]
		if err = h.c.do("write", map[string]any{"handle": h.id, "offset": offset + int64(n), "data": p}, nil); err == nil {
			n += len(p)
		}
	}
	return n, err
}

// Vanish begins to write as WriteAt does, and resets the connection in the middle of the piece that begins
// after so many bytes. The client is of no use then.
func (h *Handle) Vanish(data []byte, after int) error {
	if _, err := h.WriteAt(data[:after], 0); err != nil {
		return err
	}
	return h.c.do("vanish", map[string]any{"handle": h.id, "offset": after, "data": data[after:min(after+Piece, len(data))]}, nil)
}

// Read reads up to count bytes from offset on, at most one piece.
func (h *Handle) Read(offset int64, count int) (data []byte, err error) {
	err = h.c.do("read", map[string]any{"handle": h.id, "offset": offset, "count": min(count, Piece)}, &data)
	if errors.Is(err, StatusError("STATUS_END_OF_FILE")) {
		return nil, nil
	}
	return data, err
}

// ReadAll reads it to its end. Behind the end of AFP_AfpInfo Samba answers with its beginning.
func (h *Handle) ReadAll() (all []byte, err error) {
	for {
		p, err := h.Read(int64(len(all)), Piece)
		all = append(all, p...)
		if err != nil || len(p) < Piece {
			return all, err
		}
	}
}

// File information classes of [MS-FSCC] 2.4.
const (
	basic       = 4
	renaming    = 10
	disposition = 13
	endOfFile   = 20
)

func (h *Handle) set(class int, fields ...any) error {
	var b bytes.Buffer
	for _, f := range fields {
		_ = binary.Write(&b, binary.LittleEndian, f) // a buffer takes everything
	}
	return h.c.do("set", map[string]any{"handle": h.id, "info": class, "data": b.Bytes()}, nil)
}

// SetSize sets the end of the file.
func (h *Handle) SetSize(n int64) error { return h.set(endOfFile, n) }

// SetTime sets when the file was written.
func (h *Handle) SetTime(t time.Time) error {
	const epoch = 116444736000000000 // of Unix, in units of 100 ns since 1601
	return h.set(basic, int64(0), int64(0), t.UnixNano()/100+epoch, int64(0), int64(0))
}

// Rename gives the file another path. replace says that what has that path goes.
func (h *Handle) Rename(path string, replace bool) error {
	name := utf16.Encode([]rune(backslashes(path)))
	return h.set(renaming, replace, [7]byte{}, int64(0), uint32(2*len(name)), name) //nolint:gosec // a path is short
}

// Remove has the file go when it is closed.
func (h *Handle) Remove() error { return h.set(disposition, true) }

// Kinds of information.
const (
	OfFile     = 1
	OfSystem   = 2
	OfSecurity = 3
)

// Query asks for information. parts says which ones of a security descriptor.
func (h *Handle) Query(kind, class, parts int) (answer []byte, err error) {
	err = h.c.do("query", map[string]any{"handle": h.id, "kind": kind, "info": class, "more": parts}, &answer)
	return answer, err
}

// Notify waits until something changes in a directory, and returns what the names are.
func (h *Handle) Notify() (names []string, err error) {
	const namesSizesTimes = 0x01 | 0x02 | 0x08 | 0x10 // FILE_NOTIFY_CHANGE_FILE_NAME, _DIR_NAME, _SIZE, _LAST_WRITE
	err = h.c.do("notify", map[string]any{"handle": h.id, "filter": namesSizesTimes}, &names)
	return names, err
}

// Streams are the names of the streams of a file, from what Query answered (class Streams).
func Streams(answer []byte) (names []string) {
	for len(answer) >= 24 {
		next, length := binary.LittleEndian.Uint32(answer), binary.LittleEndian.Uint32(answer[4:])
		if int(length) > len(answer)-24 || int(next) > len(answer) {
			return names
		}
		name := make([]uint16, length/2)
		_, _ = binary.Decode(answer[24:], binary.LittleEndian, name) // it is long enough
		names = append(names, string(utf16.Decode(name)))
		if next == 0 {
			return names
		}
		answer = answer[next:]
	}
	return names
}
