package user

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
)

// When the time is over the reason is told.
func TestUnmountTellsOfAnUploadInDoubt(t *testing.T) {
	dir := t.TempDir() // looks like a mount
	status := fs.Status{Health: fs.HealthOK, StateDir: "/state", Uploads: fs.UploadStatus{List: []fs.UploadInfo{
		{ID: "1", State: "pending", Size: 9, Waits: true, InDoubt: true}, {ID: "2", State: "pending", Size: 1, Waits: true},
	}}}
	text, err := json.Marshal(status)
	if err == nil {
		err = os.Mkdir(filepath.Join(dir, ".archivefs"), 0o700)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, ".archivefs", "status.json"), text, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var said bytes.Buffer
	rest, err := waitForUploads(t.Context(), dir, 10*time.Millisecond, &said)
	const want = "archivefs: not everything was archived within 10ms: 1 upload was sent without an answer and may still arrive; " +
		"kept in /state for the next mount: 2 uploads, 10 B\n"
	if err != nil || !rest || !strings.HasSuffix(said.String(), want) {
		t.Errorf("%v, %v, said %q; want %q", rest, err, said.String(), want)
	}
}
