package shell

import (
	"strings"
	"testing"
)

func TestOperandKinds(t *testing.T) {
	tests := []struct {
		usage string
		n     int
		want  string
	}{
		{"", 0, ""},
		{"MOUNTPOINT", 0, "MOUNTPOINT"},
		{"MOUNTPOINT", 1, ""},
		{"MOUNTPOINT|PROFILE", 0, "MOUNTPOINT PROFILE"},
		{"[PROFILE] MOUNTPOINT", 0, "PROFILE MOUNTPOINT"},
		{"[PROFILE] MOUNTPOINT", 1, "MOUNTPOINT"},
		{"[PROFILE] MOUNTPOINT", 2, ""},
		{"[PROFILE] [MOUNTPOINT...]", 7, "MOUNTPOINT"},
		{"MOUNTPOINT ID...", 0, "MOUNTPOINT"},
		{"MOUNTPOINT ID...", 3, "ID"},
	}
	for _, tt := range tests {
		if got := strings.Join(operandKinds(tt.usage, tt.n), " "); got != tt.want {
			t.Errorf("operand %d of %q is %q, want %q", tt.n, tt.usage, got, tt.want)
		}
	}
}
