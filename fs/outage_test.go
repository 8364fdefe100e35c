package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// later is the answer of a service that itself lacks something.
func later() hostile.Action { return hostile.Answer(503, "") }

// repetitions counts the retries for a content.
func (m *mounted) repetitions() (n int64) {
	for _, op := range m.fs.Status().Requests {
		if strings.HasPrefix(op.Operation, "document/original") {
			n += op.Retries
		}
	}
	return n
}

// The first change during an outage is sent once and looked for; the next ones are not even sent.
func TestAnOutageIsWaitedForOnce(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do         func(path string) error
		post, look string // paths of the request that is sent once, and of the look
	}{
		"mkdir": {func(path string) error { return os.Mkdir(path, 0o700) }, "/folder/create", "/archivestructure"},
		"cp":    {func(path string) error { return os.WriteFile(path, []byte("Inhalt"), 0o600) }, "/file-upload", "/document/list"},
	} {
		t.Run(name, func(t *testing.T) {
			f := newForeign(t, hostile.Config{})
			m := f.mount(t, nil)
			letters := m.path("Muster GmbH", "Briefe")
			wantNames(t, letters)
			f.Fault(hostile.Fault{Times: hostile.Always, Do: later()})
			f.Reset()
			wantErrno(t, "the first", tt.do(filepath.Join(letters, "new 1.txt")), syscall.EAGAIN)
			looks := 0
			for _, r := range f.RequestsTo("GET", tt.look) {
				if r.Query.Has("parent-folder-id") || r.Query.Has("folder-id") { // others are probes
					looks++
				}
			}
			if sent := f.Count("POST", tt.post); sent != 1 || looks == 0 {
				t.Errorf("sent %d times, looked for %d times", sent, looks)
			}
			for range 5 {
				wantErrno(t, "another", tt.do(filepath.Join(letters, "new 2.txt")), syscall.EAGAIN)
			}
			if sent := f.Count("POST", tt.post); sent != 1 {
				t.Errorf("sent %d times", sent)
			}
			f.ClearFaults()
			heals(t, "a new one", func() bool { return tt.do(filepath.Join(letters, "new 3.txt")) == nil })
		})
	}
}

// With queued folders nobody waits for a busy service, and a folder that it created anyway is not
// created twice.
func TestAQueuedFolderIsLookedForByTheQueue(t *testing.T) {
	for name, do := range map[string]hostile.Action{
		"not made": hostile.Answer(503, "", "Retry-After", "1"),
		"made":     hostile.AnswerAfter(503, "", "Retry-After", "1"),
	} {
		t.Run(name, func(t *testing.T) {
			a := newAsync(t, hostile.Config{})
			gate := hostile.NewGate()
			a.Fault(hostile.Fault{Method: "POST", Path: "/folder/create", Do: do})
			a.Fault(hostile.Fault{Method: "GET", Path: "/archivestructure", Times: hostile.Always, Do: hostile.StallBefore(gate)})
			must(t, ends(t, run(t, "mkdir", a.path("Muster GmbH", "Neu"), a.path("Muster GmbH", "Andere"))))
			wantNames(t, a.path("Muster GmbH", "Neu"))
			if n := a.Count("POST", "/folder/create"); n != 1 {
				t.Errorf("asked for %d folders, want the first alone", n)
			}
			gate.Open()
			heals(t, "they are made", func() bool { return len(a.uploads()) == 0 })
			a.wantTree(t, "Neu/", "Andere/")
		})
	}
}

// While a service cannot reach its contents, one reader waits, everything else works, and all
// documents are back as soon as the contents are.
func TestContentsThatAreAway(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{List: hostile.ListShape{Sizes: true}})
	for _, name := range []string{"cached.txt", "1.txt", "2.txt", "3.txt", "4.txt"} {
		f.AddDocument(f.bills, hostile.Document{Name: name, Content: []byte(name), Pages: 1})
	}
	m := f.mount(t, nil)
	bills := m.path("Muster GmbH", "Rechnungen")
	wantContent(t, filepath.Join(bills, "cached.txt"), "cached.txt")
	f.Fault(hostile.Fault{Path: "/document/{id}/pdf", Times: hostile.Always, Do: later()})
	read := func(name string) error {
		_, err := os.ReadFile(filepath.Join(bills, name))
		return err
	}
	if err := read("1.txt"); err == nil {
		t.Fatal("read")
	}
	before := m.repetitions()
	for range 5 {
		for _, name := range []string{"1.txt", "2.txt", "3.txt", "4.txt"} {
			if err := read(name); !errors.Is(err, syscall.EAGAIN) && !errors.Is(err, syscall.EIO) {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	if n := m.repetitions() - before; n != 0 {
		t.Errorf("%d repetitions for the others", n)
	}
	wantNames(t, bills, "1.txt", "2.txt", "3.txt", "4.txt", "cached.txt")
	wantContent(t, filepath.Join(bills, "cached.txt"), "cached.txt")
	must(t, os.Mkdir(filepath.Join(bills, "new"), 0o700))
	f.ClearFaults()
	for _, name := range []string{"1.txt", "2.txt", "3.txt", "4.txt"} {
		wantContent(t, filepath.Join(bills, name), name)
	}
}
