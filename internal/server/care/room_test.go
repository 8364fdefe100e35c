package care

import (
	"strings"
	"testing"
)

func TestRoomForTemporaryFiles(t *testing.T) {
	in := t.TempDir()
	t.Setenv("TMPDIR", in)
	if err := wantRoom(in, 1<<10); err != nil {
		t.Error(err)
	}
	if err := wantRoom(in, 1<<60); err == nil || !strings.Contains(err.Error(), "up to 1.0 EiB are needed") || !strings.Contains(err.Error(), in) {
		t.Errorf("there is room for everything: %v", err)
	}
}
