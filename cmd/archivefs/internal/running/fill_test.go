package running

import (
	"testing"

	"github.com/archivefs/archivefs/internal/sample"
)

func TestSampleIsToldInWords(t *testing.T) {
	got := inWords(sample.Summary{Mandators: 2, Inboxes: 3, Folders: 45, Documents: 1, Bytes: 3 << 20})
	if want := "2 mandators, 45 folders, 3 inboxes, 1 document; 3.0 MiB"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
