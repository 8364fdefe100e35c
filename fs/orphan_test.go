package fs_test

import (
	"os"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// failedReplacement is a mount and its service, which refused new bytes of an inbox document after
// their close had succeeded.
func failedReplacement(t *testing.T) (f *foreign, m *mounted, doc int64, path string) {
	t.Helper()
	f = newForeign(t, hostile.Config{})
	doc = f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("alt")})
	m = f.mount(t, nil)
	f.Fault(hostile.Fault{Method: "POST", Path: "/document/{id}/replace", Times: 1, Do: hostile.Answer(400, "not today")})
	sh(t, m, `python3 -c 'import os,sys; fd=os.open(sys.argv[1],os.O_WRONLY|os.O_TRUNC); os.write(fd,b"neu"); os.execvp("true",["true"])' "$1/inboxes/Administrator/scan.txt"`)
	heals(t, "the replacement fails", func() bool { ups := m.uploads(); return len(ups) == 1 && ups[0].State == "failed" })
	return f, m, doc, m.path("inboxes", "Administrator", "scan.txt")
}

// If a document is gone by the next mount, the bytes that were to replace it are a failed file in
// its place, for a person to decide.
func TestReplacementOfADocumentThatIsGone(t *testing.T) {
	tests := map[string]struct {
		then func(path string) error
		want string // name and content of the only document
	}{
		"overwritten":    {func(path string) error { return os.WriteFile(path, []byte("frisch"), 0o600) }, "scan.txt=frisch"},
		"the same again": {func(path string) error { return os.WriteFile(path, []byte("neu"), 0o600) }, "scan.txt=neu"},
		"renamed and overwritten": {func(path string) error {
			if err := os.Rename(path, path+".txt"); err != nil {
				return err
			}
			return os.WriteFile(path+".txt", []byte("frisch"), 0o600)
		}, "scan.txt.txt=frisch"},
		"made anew": {func(path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.WriteFile(path, []byte("frisch"), 0o600)
		}, "scan.txt=frisch"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			f, m, doc, path := failedReplacement(t)
			m.unmount()
			f.Remove(doc)
			m.remount()
			wantContent(t, path, "neu")
			if ups := m.uploads(); len(ups) != 1 || ups[0].State != "failed" || !strings.Contains(ups[0].Error, "not today") {
				t.Errorf("uploads: %+v", ups)
			}
			must(t, tt.then(path))
			docs := f.Documents(f.inbox)
			if len(docs) != 1 || docs[0].Name+"="+string(docs[0].Content) != tt.want {
				t.Errorf("the inbox holds %+v, want %s", docs, tt.want)
			}
			if ups := m.uploads(); len(ups) != 0 {
				t.Errorf("uploads: %+v", ups)
			}
		})
	}
}

// If the document disappears while the mount runs, writing to it fails once, with the reason; then
// its name is free.
func TestReplacementOfADocumentThatGoes(t *testing.T) {
	f, m, doc, path := failedReplacement(t)
	wantContent(t, path, "neu")
	f.Remove(doc)
	if err := os.WriteFile(path, []byte("frisch"), 0o600); !os.IsNotExist(err) {
		t.Errorf("close: %v", err)
	}
	if ups := m.uploads(); len(ups) != 1 || !strings.Contains(ups[0].Error, "which it replaces, is gone") {
		t.Errorf("uploads: %+v", ups)
	}
	heals(t, "it is a new document", func() bool { return os.WriteFile(path, []byte("frisch"), 0o600) == nil })
	if n := f.named(f.inbox, "scan.txt", "frisch"); n != 1 {
		t.Errorf("the inbox holds %+v", f.Documents(f.inbox))
	}
}

// If the new bytes are discarded, the document has its old content.
func TestDiscardedReplacement(t *testing.T) {
	f, m, _, path := failedReplacement(t)
	wantContent(t, path, "neu")
	kept := m.path(".archivefs", "uploads", m.uploads()[0].ID+" scan.txt")
	heals(t, "they can be discarded", func() bool { return os.Remove(kept) == nil })
	heals(t, "the document is shown", func() bool { b, err := os.ReadFile(path); return err == nil && string(b) == "alt" })
	must(t, os.WriteFile(path, []byte("frisch"), 0o600))
	if n := f.named(f.inbox, "scan.txt", "frisch"); n != 1 {
		t.Errorf("the inbox holds %+v", f.Documents(f.inbox))
	}
}
