//go:build linux

package windows

import (
	"encoding/binary"
	"slices"
	"testing"
	"unicode/utf16"
)

func TestStreams(t *testing.T) {
	entry := func(name string, last bool) []byte {
		units := utf16.Encode([]rune(name))
		length := 24 + 2*len(units)
		padded := (length + 7) / 8 * 8
		next := uint32(padded)
		if last {
			next = 0
		}
		b := binary.LittleEndian.AppendUint32(nil, next)
		b = binary.LittleEndian.AppendUint32(b, uint32(2*len(units)))
		b = append(b, make([]byte, 16)...)
		for _, u := range units {
			b = binary.LittleEndian.AppendUint16(b, u)
		}
		return append(b, make([]byte, padded-length)...)
	}
	answer := slices.Concat(entry("::$DATA", false), entry(":Zone.Identifier:$DATA", true))
	if got := Streams(answer); !slices.Equal(got, []string{"::$DATA", ":Zone.Identifier:$DATA"}) {
		t.Errorf("%q", got)
	}
	for n := range answer {
		Streams(answer[:n]) // what was cut off does no harm
	}
}
