package main

import (
	"os"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/cache"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/fusetest"
)

// statusTable is the status as people see it, with single blanks.
func statusTable(t *testing.T, s *fs.Status) string {
	t.Helper()
	var b strings.Builder
	if err := printStatus(&b, "/mnt", s); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	for i, line := range lines {
		lines[i] = strings.Join(strings.Fields(line), " ")
	}
	return strings.Join(lines, "\n")
}

func wantLine(t *testing.T, table, want string) {
	t.Helper()
	if !strings.Contains(table, want+"\n") {
		t.Errorf("no line %q in\n%s", want, table)
	}
}

func TestStatusExplainsHealth(t *testing.T) {
	for health, want := range map[string]string{
		fs.HealthOK:      "health ok: the service answers, and no upload failed",
		fs.HealthAway:    "health away: the service does not answer, or not to these credentials; what is known is shown, and uploads wait",
		fs.HealthFailing: "health failing: uploads failed and wait for your decision; see archivefs uploads list /mnt",
		"new":            "health new",
	} {
		wantLine(t, statusTable(t, &fs.Status{Health: health}), want)
	}
}

func TestStatusCountsInWords(t *testing.T) {
	one := fs.Status{Cache: fs.CacheStatus{
		Content:   cache.ContentStats{Files: 1, Bytes: 5, Limit: 10 << 30, Misses: 1},
		Documents: cache.ListingsStats{Entries: 1, Hits: 1},
	}}
	wantLine(t, statusTable(t, &one), "content cache 1 document, 5 B of 10 GiB; 0 of 1 open from it")
	wantLine(t, statusTable(t, &one), "listings 1 folder known; 1 of 1 look-up from memory")
	none := fs.Status{}
	wantLine(t, statusTable(t, &none), "content cache 0 documents, 0 B of 0 B; 0 of 0 opens from it")
	wantLine(t, statusTable(t, &none), "listings 0 folders known; 0 of 0 look-ups from memory")
}

// What a process left behind that was killed is named with its cure.
func TestStatusOfAStaleMount(t *testing.T) {
	fusetest.Need(t)
	isolate(t)
	o := startOffice(t)
	dir := t.TempDir()
	m := o.mount(dir, t.TempDir()+"/state")
	if _, err := os.Stat(dir); err != nil { // which the kernel remembers
		t.Fatal(err)
	}
	if err := m.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = m.wait() // killed
	status, _, stderr := call(t, "status", dir)
	if status != 1 || !strings.Contains(stderr, "archivefs unmount "+dir) || strings.Contains(stderr, "fusermount") {
		t.Errorf("exit status %d, error %q; want 1 and archivefs unmount", status, stderr)
	}
	if status, _, stderr := call(t, "unmount", dir); status != 0 {
		t.Errorf("unmount: exit status %d, error %q", status, stderr)
	}
	wantUntouched(t, dir)
}
