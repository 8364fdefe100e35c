package fs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// The extensions for file managers show what a mount knows of its files, without a request. They run
// with stand-ins for the libraries of the desktop.
func TestExtensionsForFileManagers(t *testing.T) {
	f := newForeign(t, hostile.Config{})
	for _, name := range []string{"kept.txt", "read.txt", "other.txt"} {
		folder := f.bills
		if name == "kept.txt" {
			folder = f.letters
		}
		f.AddDocument(folder, hostile.Document{Name: name, Content: []byte(name), Pages: 1})
	}
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan"), Pages: 1})
	l, address := newLine(t, f.url)
	m := mount(t, address, f.cred, func(o *fs.Options) { o.Async = true })
	bills, letters, inbox := m.path("Muster GmbH", "Rechnungen"), m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
	must(t, xattr.Set(letters, keepAttr, []byte("1")))
	m.keeps(fs.KeptComplete)
	wantContent(t, filepath.Join(bills, "read.txt"), "read.txt")
	for _, dir := range []string{bills, letters, inbox} {
		get(os.ReadDir(dir))(t)
	}
	l.cut()
	must(t, os.WriteFile(filepath.Join(bills, "new.txt"), []byte("new"), 0o600))
	before := len(f.Requests())
	want := get(json.Marshal(map[string]string{
		m.dir: "", m.path("Muster GmbH"): "", letters: "kept", inbox: "inbox",
		filepath.Join(letters, "kept.txt"): "kept", filepath.Join(bills, "read.txt"): "cached", filepath.Join(bills, "other.txt"): "",
		filepath.Join(bills, "new.txt"): "waiting", filepath.Join(inbox, "scan.txt"): "inbox",
	}))(t)
	tests := exec.CommandContext(t.Context(), "python3", "-B", "../packaging/filemanager/test_extensions.py", "-v")
	tests.Env = append(os.Environ(), "MOUNTED="+string(want))
	if out, err := tests.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if n := len(f.Requests()); n != before {
		t.Errorf("%d requests", n-before)
	}
	l.mend()
	heals(t, "what waited is archived", func() bool { return len(m.pending()) == 0 })
}
