package names

import (
	"strings"
	"testing"
)

func TestWindowsShowsWhatItCanOpen(t *testing.T) {
	tests := []struct{ name, shown string }{
		{"Bäckerei Körner e.K.", "Bäckerei Körner e.K\uf029"},
		{"Müller & Co.", "Müller & Co\uf029"},
		{"Akten ...", "Akten ..\uf029"},
		{"Alt ", "Alt\uf028"},
		{"Alt. ", "Alt.\uf028"},
		{"Alt .", "Alt \uf029"},
		{".", "\uf029"},
		{"Brief.pdf", "Brief.pdf"},
		{"Rest .pdf", "Rest .pdf"},
		{" vorn", " vorn"},
		{"a:b?.pdf", "a:b?.pdf"}, // Samba's catia has these
		{"AUX", "AUX\uf05f"},
		{"aux.pdf", "aux\uf05f.pdf"},
		{"Nul.tar.gz", "Nul\uf05f.tar.gz"},
		{"CON .txt", "CON \uf05f.txt"},
		{"con.", "con\uf05f\uf029"},
		{"prn ", "prn \uf05f"},
		{"COM1.txt", "COM1\uf05f.txt"},
		{"lpt³", "lpt³\uf05f"},
		{"CONOUT$", "CONOUT$\uf05f"},
		{"Auxin.pdf", "Auxin.pdf"},
		{"COM10.txt", "COM10.txt"},
		{"Kontakt con.txt", "Kontakt con.txt"},
		{"", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Windows(true).Shown(tt.name); got != tt.shown {
				t.Errorf("it is shown as %q, want %q", got, tt.shown)
			}
			if got := Windows(true).Meant(tt.shown); got != tt.name {
				t.Errorf("%q means %q, want %q", tt.shown, got, tt.name)
			}
			if got := Windows(false).Shown(tt.name); got != tt.name {
				t.Errorf("it is shown as %q to others", got)
			}
			if got := Windows(false).Meant(tt.shown); got != tt.shown {
				t.Errorf("%q means %q to others", tt.shown, got)
			}
		})
	}
}

// What nothing is shown as means itself, and a name stays as long as a directory can hold.
func TestWindowsLeavesOtherNamesAlone(t *testing.T) {
	for _, name := range []string{"Brief\uf05f.pdf", "AUX\uf05fx.pdf", "a\uf029b", "AUX.pdf", "Alt ", "e.K.", "AUX\uf05f\uf05f"} {
		if got := Windows(true).Meant(name); got != name {
			t.Errorf("%q means %q", name, got)
		}
	}
	long := strings.Repeat("a", Max-1) + "."
	if got := Windows(true).Shown(long); got != long {
		t.Errorf("a name of %d bytes is shown with %d", len(long), len(got))
	}
}
