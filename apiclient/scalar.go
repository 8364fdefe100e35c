package apiclient

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"

	"github.com/archivefs/archivefs/archive"
)

// scalar is a string, number or boolean in whatever of these types the service wrote
// it: it keeps the text. Null, objects and longer arrays read as absent; an array of
// one reads as its element.
type scalar struct {
	text string
	set  bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *scalar) UnmarshalJSON(b []byte) error {
	*s = scalarOf(b)
	return nil
}

// scalar reads the next value.
func (r *jsonReader) scalar(s *scalar) error {
	value, err := r.raw()
	if err == nil {
		*s = scalarOf(value)
	}
	return err
}

// scalarOf reads sound JSON.
func scalarOf(value []byte) scalar {
	switch value[0] {
	case 'n', '{':
		return scalar{}
	case '[':
		var elements []json.RawMessage
		if err := json.Unmarshal(value, &elements); err != nil || len(elements) != 1 || elements[0][0] == '[' {
			return scalar{}
		}
		return scalarOf(elements[0])
	case '"':
		return scalar{text: string(unquote(value)), set: true}
	}
	return scalar{text: string(value), set: true}
}

// int64 returns the number that s is or spells; false when it is none, has a fraction
// or does not fit.
func (s scalar) int64() (int64, bool) {
	text := strings.TrimSpace(s.text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int64(f), true
}

// id returns the ID that s is or spells, 0 without one.
func (s scalar) id() archive.ID {
	n, _ := s.int64()
	return archive.ID(n)
}

// count returns a small number such as of pages, 0 when s is none.
func (s scalar) count() int {
	n, ok := s.int64()
	if !ok || n < 0 || n > math.MaxInt32 {
		return 0
	}
	return int(n)
}

// largestSize bounds what is taken for a length in bytes: 1 PiB.
const largestSize = 1 << 50

// size returns a length in bytes, archive.SizeUnknown when s is none.
func (s scalar) size() int64 {
	n, ok := s.int64()
	if !ok || n < 0 || n > largestSize {
		return archive.SizeUnknown
	}
	return n
}

// flag returns the boolean that s is or spells.
func (s scalar) flag() archive.Flag {
	switch strings.ToLower(strings.TrimSpace(s.text)) {
	case "true", "1":
		return archive.FlagTrue
	case "false", "0":
		return archive.FlagFalse
	}
	return archive.FlagUnknown
}
