package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/sirupsen/logrus"
	"github.com/sirupsen/logrus/hooks/test"
	"golang.org/x/sys/unix"

	"github.com/archivefs/archivefs/internal/server"
)

// smallDisk is a directory on a disk of its own, of 16 MiB. fill leaves about so many bytes of it
// free.
func smallDisk(t *testing.T) (dir string, fill func(free int64)) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can mount a disk")
	}
	dir = t.TempDir()
	if err := unix.Mount("test", dir, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir, func(free int64) {
		t.Helper()
		ballast := filepath.Join(dir, "ballast")
		if err := os.WriteFile(ballast, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		var disk unix.Statfs_t
		if err := unix.Statfs(dir, &disk); err != nil {
			t.Fatal(err)
		}
		have := int64(disk.Bavail) * disk.Bsize
		if err := os.WriteFile(ballast, make([]byte, max(have-free, 0)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// On a full disk uploads are refused with the reason, and succeed again once there is room.
func TestAFullDisk(t *testing.T) {
	t.Parallel()
	log, logged := test.NewNullLogger()
	dir, fill := smallDisk(t)
	h := start(t, func(o *server.Options) { o.Data, o.Database, o.Blobs, o.Log = dir, "", "", log })
	h.StopBackground() // it would also fail on the full disk
	o := furnish(t, h)
	large := strings.Repeat("0123456789abcdef", 256<<10)
	doc := "/document/" + text(o.a)
	remark := `{"remark":"` + strings.Repeat("r", 60<<10) + `"}`
	refused := func(what string, a answer) {
		t.Helper()
		wantProblem(t, a, http.StatusInsufficientStorage, "")
		if !strings.Contains(a.body, "urn:archivefs:problem:full") || !strings.Contains(a.body, "no room") || strings.Contains(a.body, dir) || a.header.Get("Retry-After") != "60" {
			t.Errorf("%s: %v %s", what, a.header, a.body)
		}
		lines := logged.AllEntries()
		lines = slices.DeleteFunc(lines, func(e *logrus.Entry) bool { return e.Level > logrus.WarnLevel })
		if len(lines) != 1 || lines[0].Level != logrus.ErrorLevel {
			t.Errorf("%s: logged %v", what, lines)
		}
		logged.Reset()
		wantStaged(t, h, 0)
		if a := h.beside("/readyz"); a.status != http.StatusOK {
			t.Errorf("%s: ready: %d %s", what, a.status, a.body)
		}
	}
	fill(1 << 20)
	refused("a large upload", h.upload("large.bin", large, "target-folder-id", text(o.year)))
	fill(0)
	refused("a small upload", h.upload("small.txt", "text", "target-folder-id", text(o.year)))
	refused("a change", h.postJSON(doc+"/metadata", remark))
	refused("a folder", h.post("/folder/create", "parent-folder-id", text(o.year), "folder-name", strings.Repeat("f", 250)))
	if a := h.get(doc + "/pdf?original=true"); a.status != http.StatusOK || a.body != "content of a" {
		t.Errorf("reading: %d %s", a.status, a.body)
	}
	if refused := h.Stats(t.Context()).Refused; refused["full"] != 2 {
		t.Errorf("counted %v, want 2 uploads", refused)
	}
	before := h.list(o.year)
	fill(10 << 20)
	h.uploaded("large.bin", large, "target-folder-id", text(o.year))
	if a := h.postJSON(doc+"/metadata", remark); a.status != http.StatusOK {
		t.Errorf("a change: %d %s", a.status, a.body)
	}
	if after := h.list(o.year); len(before) != 2 || len(after) != 3 {
		t.Errorf("%q, then %q", names(before), names(after))
	}
}
