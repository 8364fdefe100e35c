package fs_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// notified keeps what a Notifier is told, a line each.
type notified struct {
	mu    sync.Mutex
	lines []string // +checklocks:mu
}

func (n *notified) add(words ...string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.lines = append(n.lines, strings.Join(words, " "))
}

func (n *notified) UploadFailed(_, path, reason string) { n.add("failed", path, reason) }
func (n *notified) UploadArrived(string)                { n.add("arrived") }
func (n *notified) Refused(reason string)               { n.add("refused", reason) }

func (n *notified) has(parts ...string) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.ContainsFunc(n.lines, func(line string) bool {
		return !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(line, part) })
	})
}

func TestNotifier(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		async  bool
		answer int // of file-upload
		body   string
		err    error // of close
		want   []string
	}{
		"refused":               {answer: 400, body: "Inhalt", err: syscall.EINVAL, want: []string{"failed", "Briefe/a.pdf send the file: ", "not today"}},
		"refused after close":   {async: true, answer: 400, body: "Inhalt", want: []string{"failed", "Briefe/a.pdf send the file: ", "not today"}},
		"cut off":               {body: "%PDF-1.7 and no end", err: syscall.EIO, want: []string{"failed", "Briefe/a.pdf", "the end of the file is missing"}},
		"credentials":           {answer: 401, body: "Inhalt", err: syscall.EACCES, want: []string{"refused", "not today"}},
		"archived":              {body: "Inhalt", want: []string{"arrived"}},
		"archived in the queue": {async: true, body: "Inhalt", want: []string{"arrived"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := &notified{}
			a := newAsyncWith(t, hostile.Config{}, func(o *fs.Options) { o.Notifier, o.Async = n, c.async })
			if c.answer != 0 {
				a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: hostile.Always, Do: hostile.Answer(c.answer, `{"message":"not today"}`)})
			}
			err := os.WriteFile(filepath.Join(a.letters, "a.pdf"), []byte(c.body), 0o600)
			if (c.err == nil) != (err == nil) {
				t.Errorf("%v, want %v", err, c.err)
			}
			heals(t, "the person is notified", func() bool { return n.has(c.want...) })
			if n.has("failed") != (c.want[0] != "arrived") {
				t.Error("told that it failed, or not told so")
			}
		})
	}
}
