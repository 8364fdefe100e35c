package fs_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// A rename during the upload waits, and then renames the document.
func TestRenameWhileSending(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	dir := m.path("Muster GmbH", "Briefe")
	gate := hostile.NewGate()
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.StallBefore(gate)})
	closed, renamed := make(chan error), make(chan error)
	go func() { closed <- os.WriteFile(filepath.Join(dir, "a.txt"), []byte("Inhalt"), 0o600) }()
	<-gate.Arrived()
	go func() { renamed <- os.Rename(filepath.Join(dir, "a.txt"), filepath.Join(dir, "b.txt")) }()
	gate.Open()
	must(t, <-closed)
	must(t, <-renamed)
	wantNames(t, dir, "b.txt")
	if n := f.named(f.letters, "b.txt", "Inhalt"); n != 1 || len(f.Documents(f.letters)) != 1 {
		t.Errorf("the archive holds %v", f.Documents(f.letters))
	}
}

// A file that is still being written is renamed over an inbox document: its close replaces the
// document, and a refusal leaves the document as it was.
func TestRenameWhileOpenOverAnInboxDocument(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	m := f.mount(t, nil)
	dir := m.path("inboxes", "Administrator")
	f.Fault(hostile.Fault{Method: "POST", Path: "/document/{id}/replace", Times: 1, Do: hostile.Answer(403, "no")})
	save := func() error {
		w := get(os.Create(filepath.Join(dir, "x.part")))(t)
		get(w.WriteString("ne"))(t)
		must(t, os.Rename(filepath.Join(dir, "x.part"), filepath.Join(dir, "scan.txt")))
		wantNames(t, dir, "scan.txt")
		get(w.WriteString("u"))(t)
		return w.Close()
	}
	wantErrno(t, "close", save(), syscall.EACCES)
	wantNames(t, dir, "scan.txt")
	wantContent(t, filepath.Join(dir, "scan.txt"), "alt")
	must(t, save())
	wantNames(t, dir, "scan.txt")
	wantContent(t, filepath.Join(dir, "scan.txt"), "neu")
	if docs := f.Documents(f.inbox); len(docs) != 1 || string(docs[0].Content) != "neu" {
		t.Errorf("the inbox holds %v", docs)
	}
}
