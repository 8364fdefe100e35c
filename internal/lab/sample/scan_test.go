package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestScanRefusesWhatDoesNotFitOneImage(t *testing.T) {
	var p paper
	p.title = "Langes Protokoll"
	p.add(styleBody, strings.Repeat("Zeile\n", 200))
	for name, content := range map[string]source{"JPEG": jpegSource(p, 1), "TIFF": tiffSource(p, 1)} {
		var buf bytes.Buffer
		err := content(&buf)
		if err == nil || !strings.Contains(err.Error(), p.title) {
			t.Errorf("%s: error %v, want one that names the paper", name, err)
		}
		if buf.Len() != 0 {
			t.Errorf("%s: %d bytes of half a paper were written", name, buf.Len())
		}
	}
}
