package manual

import (
	"strings"
	"testing"
)

func TestManualText(t *testing.T) {
	tests := []struct{ text, want string }{
		{"One. Two --a-b.", "One.\nTwo \\-\\-a\\-b.\n"},
		{"as FILE:LINE: TEXT. The rest", "as FILE:LINE: TEXT.\nThe rest\n"},
		{".a 'b", "\\&.a 'b\n"},
		{`a\b`, `a\eb` + "\n"},
		{strings.Repeat("word ", 20), strings.TrimSpace(strings.Repeat("word ", 15)) + "\n" + strings.TrimSpace(strings.Repeat("word ", 5)) + "\n"},
	}
	for _, tt := range tests {
		if got := running(tt.text); got != tt.want {
			t.Errorf("%q becomes %q, want %q", tt.text, got, tt.want)
		}
	}
	if got, want := paragraphs("A:\n\n   $ x\n   .y -z\n\nB."), ".Pp\nA:\n.Bd -literal -offset indent\n$ x\n\\&.y \\-z\n.Ed\n.Pp\nB.\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
