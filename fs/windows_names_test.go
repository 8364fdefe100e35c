package fs_test

import (
	"math"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
)

// The kernel gets the form of a name that Windows can open, and the service the name that is meant.
func TestWindowsNamesAreShownAndMeant(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	company := get(o.AddFolder(t.Context(), o.letters, "Bäckerei e.K."))(t)
	old := get(o.AddFolder(t.Context(), company, "Alt "))(t)
	o.put(t, company, "AUX.txt", "eins")
	o.put(t, old, "Brief.txt", "zwei")
	o.put(t, o.inbox, "con.txt", "drei")
	m := o.mount(t, func(opts *fs.Options) { opts.WindowsNames = true })
	letters, inbox := m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
	dir := filepath.Join(letters, "Bäckerei e.K\uf029")
	for range 2 {
		wantNames(t, letters, "Bäckerei e.K\uf029")
		wantNames(t, dir, "Alt\uf028", "AUX\uf05f.txt")
		wantNames(t, inbox, "con\uf05f.txt")
		wantContent(t, filepath.Join(dir, "AUX\uf05f.txt"), "eins")
		wantContent(t, filepath.Join(dir, "Alt\uf028", "Brief.txt"), "zwei")
		wantContent(t, filepath.Join(letters, "Bäckerei e.K.", "Alt ", "Brief.txt"), "zwei")
		m.remount()
	}
	shown, meant := get(os.Stat(filepath.Join(dir, "AUX\uf05f.txt")))(t), get(os.Stat(filepath.Join(dir, "AUX.txt")))(t)
	if !os.SameFile(shown, meant) {
		t.Error("the two forms of a name lead to different files")
	}

	must(t, os.Mkdir(filepath.Join(dir, "Müller & Co\uf029"), 0o700))
	wantErrno(t, "mkdir again", os.Mkdir(filepath.Join(dir, "Müller & Co."), 0o700), syscall.EEXIST)
	must(t, os.WriteFile(filepath.Join(dir, "Müller & Co\uf029", "nul\uf05f.txt"), []byte("vier"), 0o600))
	must(t, os.Rename(filepath.Join(inbox, "con\uf05f.txt"), filepath.Join(dir, "prn\uf05f.txt")))
	wantNames(t, dir, "Alt\uf028", "AUX\uf05f.txt", "Müller & Co\uf029", "prn\uf05f.txt")
	_, err := os.OpenFile(filepath.Join(dir, "AUX\uf05f.txt"), os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	wantErrno(t, "create", err, syscall.EEXIST)
	_, err = os.Stat(filepath.Join(dir, "lpt1\uf05f.txt"))
	wantErrno(t, "look for another", err, syscall.ENOENT)
	wantArchived(t, o, company, "AUX.txt=eins", "prn.txt=drei")
	m.remount()
	wantNames(t, filepath.Join(dir, "Müller & Co\uf029"), "nul\uf05f.txt")
	m.tweak = nil
	m.remount()
	wantNames(t, filepath.Join(letters, "Bäckerei e.K."), "Alt ", "AUX.txt", "Müller & Co.", "prn.txt")
}

// What a Mac has made without the option stays, as long as the archive has it under that name.
func TestWindowsNamesReachThoseThatTheArchiveHas(t *testing.T) {
	t.Parallel()
	o := newOffice(t, nil)
	o.put(t, get(o.AddFolder(t.Context(), o.letters, "Meier & Co\uf029"))(t), "Brief.txt", "eins")
	m := o.mount(t, func(opts *fs.Options) { opts.WindowsNames = true })
	wantContent(t, m.path("Muster GmbH", "Briefe", "Meier & Co\uf029", "Brief.txt"), "eins")
	wantNames(t, m.path("Muster GmbH", "Briefe"), "Meier & Co\uf029")
}

// A name in its shown form takes no request more than the name itself.
func TestWindowsNamesTakeNoRequestMore(t *testing.T) {
	t.Parallel()
	const plain, shown = "Akten u.a.", "Akten u.a\uf029"
	asked := map[string]int{plain: math.MaxInt, shown: math.MaxInt}
	for range 30 { // on a busy machine a listing ahead may come too late to save one
		for name := range asked {
			o := newOffice(t, nil)
			o.put(t, get(o.AddFolder(t.Context(), o.letters, plain))(t), "Brief.txt", "eins")
			m := o.mount(t, func(opts *fs.Options) { opts.WindowsNames = true })
			o.forget()
			wantContent(t, m.path("Muster GmbH", "Briefe", name, "Brief.txt"), "eins")
			asked[name] = min(asked[name], len(o.asked("", "")))
		}
		if asked[shown] <= asked[plain] {
			return
		}
	}
	t.Errorf("requests by name: %v", asked)
}
