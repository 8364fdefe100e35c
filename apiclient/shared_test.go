package apiclient

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/archivefs/archivefs/archive"
)

// Texts that documents have in common are kept once, and stay what they are.
func TestSharedTexts(t *testing.T) {
	var s shared
	doc := func() *archive.Document {
		return &archive.Document{
			ContentType: strings.Clone("application/pdf"), Keywords: []string{strings.Clone("Rechnung"), ""},
			Metadata: []archive.KeyValue{{Key: strings.Clone("Kunde"), Value: "4711"}},
		}
	}
	first, second := doc(), doc()
	s.document(first)
	s.document(second)
	for _, pair := range [][2]string{
		{first.ContentType, second.ContentType}, {first.Keywords[0], second.Keywords[0]}, {first.Metadata[0].Key, second.Metadata[0].Key},
	} {
		if pair[0] != pair[1] || unsafe.StringData(pair[0]) != unsafe.StringData(pair[1]) {
			t.Errorf("%q and %q are kept twice", pair[0], pair[1])
		}
	}
	if want := doc(); fmt.Sprint(*second) != fmt.Sprint(*want) {
		t.Errorf("%+v, want %+v", *second, *want)
	}
	for i := range 2 * maxShared {
		if text := fmt.Sprint(i); s.text(text) != text {
			t.Errorf("%s became another text", text)
		}
	}
	if len(s) > maxShared {
		t.Errorf("%d texts are kept", len(s))
	}
}
