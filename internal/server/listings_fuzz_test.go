package server

import (
	"encoding/json"
	"strings"
	"testing"
)

// A JSON decoder reads back what was written.
func FuzzAppendText(f *testing.F) {
	for _, s := range []string{"", "a b.pdf", `"quoted" \ back`, "line\nbreak\x00\x1f\x7f", "Grüße 日本", "\u2028<&>", "bad \xff"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		text := appendText([]byte("x"), s)[1:]
		if err := json.Unmarshal(text, &got); err != nil || got != strings.ToValidUTF8(s, "\ufffd") && got != replaced(s) {
			t.Errorf("%q is written %s and read %q, %v", s, text, got, err)
		}
	})
}

// replaced has a mark for each byte that is not UTF-8, as package json writes it.
func replaced(s string) string { return string([]rune(s)) }
