package fs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/pkg/xattr"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// gracious mounts with a time of grace that no test waits for.
func gracious(o *fs.Options) { o.Grace = time.Hour }

// send ends the time of grace of everything in and below a directory.
func (m *mounted) send(elem ...string) {
	m.t.Helper()
	must(m.t, xattr.Set(m.path(elem...), "user.archive.send", nil))
}

// changes returns the requests that changed something.
func (f *foreign) changes() (all []string) {
	for _, r := range f.RequestsTo("POST", "") {
		all = append(all, r.Path)
	}
	return all
}

// What is done in the time of grace is not done at the service: that hears of the outcome alone.
func TestTheServiceHearsOfTheOutcome(t *testing.T) {
	tests := map[string]struct {
		do            func(m *mounted, at, inbox string) error
		folder, inbox []string
	}{
		"a folder is made and then named": {func(_ *mounted, at, _ string) error {
			return first(os.Mkdir(at+"/Neuer Ordner", 0o700), os.Rename(at+"/Neuer Ordner", at+"/Mahnungen"))
		}, []string{"Mahnungen/"}, nil},
		"a folder is named when something is in it": {func(_ *mounted, at, _ string) error {
			return first(os.MkdirAll(at+"/Neu/a", 0o700), put(at+"/Neu/a/b.txt", "b"), put(at+"/Neu/c.txt", "c"), os.Rename(at+"/Neu", at+"/Alt"))
		}, []string{"Alt/", "Alt/a/", "Alt/a/b.txt=b", "Alt/c.txt=c"}, nil},
		"a folder is removed": {func(_ *mounted, at, _ string) error {
			return first(os.Mkdir(at+"/Verträeg", 0o700), os.Remove(at+"/Verträeg"))
		}, nil, nil},
		"a folder with files is removed": {func(_ *mounted, at, _ string) error {
			return first(os.MkdirAll(at+"/Neu/a", 0o700), put(at+"/Neu/a/b.txt", "b"), os.RemoveAll(at+"/Neu"))
		}, nil, nil},
		"a folder moves into another": {func(_ *mounted, at, _ string) error {
			return first(os.Mkdir(at+"/A", 0o700), os.Mkdir(at+"/B", 0o700), put(at+"/A/a.txt", "a"), os.Rename(at+"/A", at+"/B/C"))
		}, []string{"B/", "B/C/", "B/C/a.txt=a"}, nil},
		"a folder takes the place of an empty one": {func(_ *mounted, at, _ string) error {
			return first(os.Mkdir(at+"/A", 0o700), os.Mkdir(at+"/B", 0o700), put(at+"/A/a.txt", "a"), syscall.Rename(at+"/A", at+"/B"))
		}, []string{"B/", "B/a.txt=a"}, nil},
		"a folder moves from an inbox to the archive": {func(_ *mounted, at, inbox string) error {
			return first(os.MkdirAll(inbox+"/A/b", 0o700), put(inbox+"/A/a.txt", "a"), put(inbox+"/A/b/c.txt", "c"), os.Rename(inbox+"/A", at+"/A"))
		}, []string{"A/", "A/a.txt=a", "A/b/", "A/b/c.txt=c"}, nil},
		"a folder moves from the archive to an inbox": {func(_ *mounted, at, inbox string) error {
			return first(os.Mkdir(at+"/A", 0o700), put(at+"/A/a.txt", "a"), os.Rename(at+"/A", inbox+"/A"))
		}, nil, []string{"A/", "A/a.txt=a"}},
		"a folder is thrown away": {func(_ *mounted, at, _ string) error {
			return first(os.MkdirAll(at+"/.Trash-0/files", 0o700), os.Mkdir(at+"/A", 0o700), put(at+"/A/a.txt", "a"), os.Rename(at+"/A", at+"/.Trash-0/files/A"))
		}, nil, nil},
		"a folder comes back from the trash": {func(_ *mounted, at, _ string) error {
			return first(os.MkdirAll(at+"/.Trash-0/files/A/b", 0o700), put(at+"/.Trash-0/files/A/b/a.txt", "a"), os.Rename(at+"/.Trash-0/files/A", at+"/A"))
		}, []string{"A/", "A/b/", "A/b/a.txt=a"}, nil},
		"a file is written again": {func(_ *mounted, at, _ string) error {
			return first(put(at+"/a.txt", "alt"), put(at+"/a.txt", "neu"))
		}, []string{"a.txt=neu"}, nil},
		"a file is renamed and moved": {func(_ *mounted, at, inbox string) error {
			return first(put(inbox+"/a.txt", "a"), os.Rename(inbox+"/a.txt", inbox+"/b.txt"), os.Rename(inbox+"/b.txt", at+"/c.txt"))
		}, []string{"c.txt=a"}, nil},
		"a file is removed": {func(_ *mounted, at, _ string) error {
			return first(put(at+"/a.txt", "a"), os.Remove(at+"/a.txt"))
		}, nil, nil},
		"a file takes the place of another": {func(_ *mounted, at, _ string) error {
			return first(put(at+"/a.txt", "alt"), put(at+"/b.txt", "neu"), os.Rename(at+"/b.txt", at+"/a.txt"))
		}, []string{"a.txt=neu"}, nil},
		"a file gets a working name": {func(_ *mounted, at, _ string) error {
			return first(put(at+"/a.txt", "a"), os.Rename(at+"/a.txt", at+"/a.txt~"))
		}, nil, nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{})
			m := f.mount(t, gracious)
			must(t, tt.do(m, m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")))
			if sent := f.changes(); len(sent) > 0 {
				t.Errorf("sent in the time of grace: %q", sent)
			}
			m.send()
			heals(t, "the service has the outcome", func() bool {
				return slices.Equal(f.tree(f.letters, ""), tt.folder) && slices.Equal(f.tree(f.inbox, ""), tt.inbox) && len(m.uploads()) == 0
			})
			if got := f.Count("POST", "/file-upload") + f.Count("POST", "/folder/create"); got != len(tt.folder)+len(tt.inbox) {
				t.Errorf("%d requests: %q", got, f.changes())
			}
		})
	}
}

// first returns the first error.
func first(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

func put(path, content string) error { return os.WriteFile(path, []byte(content), 0o600) }

func TestTheEndOfTheMountEndsTheTimeOfGrace(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, gracious)
	at := m.path("Muster GmbH", "Briefe")
	must(t, first(os.Mkdir(at+"/Neu", 0o700), put(at+"/Neu/a.txt", "a"), put(at+"/b.txt", "b")))
	m.unmount()
	if got, want := f.tree(f.letters, ""), []string{"Neu/", "Neu/a.txt=a", "b.txt=b"}; !slices.Equal(got, want) {
		t.Errorf("the service has %q, want %q", got, want)
	}
}

func TestTheTimeOfGraceSurvivesACrash(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, gracious)
	at := m.path("Muster GmbH", "Briefe")
	must(t, first(os.Mkdir(at+"/A", 0o700), put(at+"/A/a.txt", "a"), put(at+"/b.txt", "b")))
	crashed := m.spoolNow()
	m.unmount()
	for _, d := range append(f.Documents(f.Folders(f.letters)[0].ID), f.Documents(f.letters)...) {
		f.Remove(d.ID) // the end of this mount has sent them
	}
	f.Reset()
	m.remountAfter(crashed)
	names(t, at)
	must(t, os.Rename(at+"/b.txt", at+"/c.txt"))
	if sent := f.changes(); len(sent) > 0 {
		t.Errorf("sent in the time of grace: %q", sent)
	}
	m.send()
	heals(t, "it is archived", func() bool {
		return slices.Equal(f.tree(f.letters, ""), []string{"A/", "A/a.txt=a", "c.txt=b"})
	})
}

// So does one that was being renamed or opened for a change when the program was killed.
func TestTheTimeOfGraceOfARecalledFileSurvivesACrash(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, gracious)
	at := m.path("Muster GmbH", "Briefe")
	must(t, put(at+"/a.txt", "a"))
	crashed := m.spoolNow()
	must(t, os.Remove(at+"/a.txt"))
	left := get(spool.Open(spool.Options{Dir: crashed}))(t)
	must(t, first(left.List()[0].Recall(), left.Close()))
	m.remountAfter(crashed)
	names(t, at)
	must(t, put(at+"/b.txt", "b"))
	m.send("Muster GmbH", "Briefe", "b.txt") // a.txt is before it in the queue
	f.wantArrives(t, "b.txt=b")
	m.send()
	f.wantArrives(t, "a.txt=a", "b.txt=b")
}

// The time of grace of one file can be ended, and with it that of its folders.
func TestAFileIsSentBeforeOthers(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, gracious)
	at := m.path("Muster GmbH", "Briefe")
	must(t, first(os.MkdirAll(at+"/A/B", 0o700), os.Mkdir(at+"/C", 0o700), put(at+"/A/B/a.txt", "a"), put(at+"/A/b.txt", "b")))
	if got := attr(t, at+"/A", "state"); got != "pending" {
		t.Errorf("the folder is %q", got)
	}
	must(t, first(setAttr(at+"/A", "id", "5"), setAttr(at+"/A", "kind", "folder"))) // as by rsync -X
	m.send("Muster GmbH", "Briefe", "A", "B", "a.txt")
	heals(t, "it is archived", func() bool {
		return slices.Equal(f.tree(f.letters, ""), []string{"A/", "A/B/", "A/B/a.txt=a"})
	})
	heals(t, "the others wait", func() bool {
		got := m.uploads()
		return len(got) == 2 && got[0].Directory && got[1].Path == "Muster GmbH/Briefe/A/b.txt" && strings.Contains(got[1].Error, "--grace")
	})
}

// Whoever retries an upload does not wait for its time of grace again, nor for that of another one.
func TestARetryEndsTheTimeOfGrace(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, gracious)
	at := m.path("Muster GmbH", "Briefe")
	must(t, put(at+"/a.txt", "a"))
	f.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.Answer(400, "")})
	m.send()
	heals(t, "it is refused", func() bool { all := m.uploads(); return len(all) == 1 && all[0].State == "failed" })
	must(t, m.retryNow(m.uploads()[0]))
	f.wantArrives(t, "a.txt=a")
	must(t, put(at+"/b.txt", "b"))
	heals(t, "only the other one waits", func() bool {
		all := m.uploads()
		return len(all) == 1 && all[0].Path == "Muster GmbH/Briefe/b.txt"
	})
	must(t, m.retryNow(m.uploads()[0]))
	f.wantArrives(t, "a.txt=a", "b.txt=b")
}

// wantArrives fails the test unless a folder of the service soon holds these files.
func (f *foreign) wantArrives(t *testing.T, files ...string) {
	t.Helper()
	heals(t, "it is archived", func() bool { return slices.Equal(f.tree(f.letters, ""), files) })
}

// A document that is moved into a folder which waits makes that, and so do attributes of it.
func TestAFolderThatIsNeededIsMade(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan")})
	m := f.mount(t, gracious)
	at := m.path("Muster GmbH", "Briefe")
	must(t, first(os.MkdirAll(at+"/A/B", 0o700), os.Rename(m.path("inboxes", "Administrator", "scan.txt"), at+"/A/B/scan.txt")))
	if got, want := f.tree(f.letters, ""), []string{"A/", "A/B/", "A/B/scan.txt=scan"}; !slices.Equal(got, want) {
		t.Errorf("the service has %q, want %q", got, want)
	}
	must(t, first(os.Mkdir(at+"/C", 0o700), xattr.Set(at+"/C", "user.archive.upload.keywords", []byte("k"))))
	if got := f.tree(f.letters, ""); !slices.Contains(got, "C/") {
		t.Errorf("the service has %q", got)
	}
}

// So does what waits to replace a document that is moved: it is sent first, or nothing is moved.
func TestAMoveEndsTheTimeOfGraceOfAReplacement(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	f.AddInbox(2, "Buchhaltung")
	for _, name := range []string{"brief.txt", "half.pdf", "other.txt"} {
		f.AddDocument(f.inbox, hostile.Document{Name: name, Content: []byte("v1\n")})
	}
	m := f.mount(t, gracious)
	at, inbox := m.path("Muster GmbH", "Briefe"), m.path("inboxes", "Administrator")
	add := func(name, text string) {
		w := get(os.OpenFile(filepath.Join(inbox, name), os.O_WRONLY|os.O_APPEND, 0))(t)
		get(w.WriteString(text))(t)
		must(t, w.Close())
	}
	add("brief.txt", "v2\n")
	wantErrno(t, "move to another inbox", os.Rename(inbox+"/brief.txt", m.path("inboxes", "Buchhaltung")+"/brief.txt"), syscall.EPERM)
	if sent := f.changes(); len(sent) > 0 {
		t.Errorf("sent in the time of grace: %q", sent)
	}
	must(t, os.Rename(inbox+"/brief.txt", at+"/brief.txt"))
	f.wantHolds(t, f.letters, "brief.txt=v1\nv2\n")
	add("other.txt", "v2\n")
	must(t, os.Rename(inbox+"/other.txt", inbox+"/renamed.txt"))
	must(t, put(inbox+"/half.pdf", "%PDF-1.7 and no end"))
	wantErrno(t, "move half a file", os.Rename(inbox+"/half.pdf", at+"/half.pdf"), syscall.EIO)
	f.wantHolds(t, f.inbox, "half.pdf=v1\n", "renamed.txt=v1\nv2\n")
	m.unmount()
}

// A name that may be a document's waits for its rename, also without a time of grace.
func TestADoubtfulNameWaitsForItsRename(t *testing.T) {
	for _, name := range []string{"brief.txt.Ab3dEf", "Motor.part", "12AB3456", "Skizze~", "brief.tmp"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newScanner(t, hostile.Config{}, func(o *fs.Options) { o.Grace, o.Number = 0, false })
			at := s.path("Muster GmbH", "Briefe")
			must(t, put(filepath.Join(at, name), "neu"))
			s.wantHolds(t, s.letters)
			heals(t, "it says why it waits", func() bool {
				list := s.uploads()
				return len(list) == 1 && strings.HasPrefix(list[0].Error, "it is sent at ") && strings.Contains(list[0].Error, "programs write under such names")
			})
			must(t, os.Rename(filepath.Join(at, name), at+"/brief.txt"))
			s.wantHolds(t, s.letters, "brief.txt=neu") // at once: the rename returns the outcome
			must(t, put(filepath.Join(at, name), "noch eins"))
			must(t, os.Remove(filepath.Join(at, name)))
			must(t, put(filepath.Join(at, name), "ein Dokument"))
			heals(t, "it is archived after all", func() bool {
				s.later.Add(int64(time.Minute))
				s.hurries()
				return slices.Equal(s.holds(s.letters), sorted("brief.txt=neu", name+"=ein Dokument"))
			})
		})
	}
}

func sorted(all ...string) []string { slices.Sort(all); return all }

// A save that is refused leaves nothing behind that would be archived later.
func TestARefusedSaveStaysHere(t *testing.T) {
	for what, c := range map[string]struct {
		where string
		grace time.Duration
	}{
		"over an archived document":                          {"Muster GmbH/Briefe", 0},
		"over an archived document, with a time of grace":    {"Muster GmbH/Briefe", time.Minute},
		"over an inbox document, where no operation does it": {"inboxes/Administrator", 0},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{OnlyEight: true})
			for _, folder := range []int64{f.letters, f.inbox} {
				f.AddDocument(folder, hostile.Document{Name: "brief.txt", Content: []byte("alt")})
			}
			m := f.mount(t, func(o *fs.Options) { o.Grace = c.grace })
			at := m.path(c.where)
			for _, save := range []string{"brief.txt.Ab3dEf", "tmpab12cd_x"} {
				w := get(os.OpenFile(filepath.Join(at, save), os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600))(t)
				get(w.WriteString("neu"))(t)
				must(t, w.Close())
				wantErrno(t, save, os.Rename(filepath.Join(at, save), at+"/brief.txt"), syscall.EPERM)
			}
			m.unmount()
			for _, folder := range []int64{f.letters, f.inbox} {
				f.wantHolds(t, folder, "brief.txt=alt")
			}
			m.remount()
			names(t, at)
			must(t, os.Remove(at+"/brief.txt.Ab3dEf"))
		})
	}
}

// A doubtful file that cannot be archived under its real name keeps its name, and waits on.
func TestADoubtfulFileKeepsItsNameIfItIsRefused(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, func(o *fs.Options) { o.Grace, o.Number = 0, false })
	at := s.path("Muster GmbH", "Briefe")
	must(t, put(at+"/half.pdf.Ab3dEf", "%PDF-1.7\n"))
	wantErrno(t, "rename half a file", os.Rename(at+"/half.pdf.Ab3dEf", at+"/half.pdf"), syscall.EIO)
	must(t, put(at+"/whole.txt.Ab3dEf", "all of it"))
	s.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.Answer(400, "")})
	wantErrno(t, "rename what is refused", os.Rename(at+"/whole.txt.Ab3dEf", at+"/whole.txt"), syscall.EPERM)
	wantNames(t, at, "half.pdf.Ab3dEf", "whole.txt.Ab3dEf")
	must(t, os.Rename(at+"/whole.txt.Ab3dEf", at+"/whole.txt"))
	s.wantHolds(t, s.letters, "whole.txt=all of it")
}

// A crash while it is sent by its rename does not lose what its close had promised.
func TestACrashWhileADoubtfulFileIsRenamed(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, func(o *fs.Options) { o.Grace, o.Number = 0, false })
	at := s.path("Muster GmbH", "Briefe")
	must(t, put(at+"/scan.txt.Ab3dEf", "page 1"))
	gate := hostile.NewGate()
	s.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.StallBefore(gate)})
	moved := make(chan error)
	go func() { moved <- os.Rename(at+"/scan.txt.Ab3dEf", at+"/scan.txt") }()
	<-gate.Arrived()
	crashed := s.spoolNow()
	gate.Open()
	must(t, <-moved)
	for _, d := range s.Documents(s.letters) { // it had not arrived
		s.Remove(d.ID)
	}
	s.remountAfter(crashed)
	heals(t, "it is archived once", func() bool { s.hurries(); return slices.Equal(s.holds(s.letters), []string{"scan.txt=page 1"}) })
}

// A directory in which a program works stays here, and becomes a folder with its real name.
func TestAWorkingDirectoryBecomesAFolder(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, nil)
	at := m.path("Muster GmbH", "Briefe")
	dir := at + "/.unison.neu.0123456789abcdef0123456789abcdef.unison.tmp"
	must(t, first(os.MkdirAll(dir+"/sub", 0o700), put(dir+"/a.txt", "a"), put(dir+"/sub/b.txt", "b")))
	if sent := f.changes(); len(sent) > 0 {
		t.Errorf("sent before it has its name: %q", sent)
	}
	must(t, os.Rename(dir, at+"/neu"))
	heals(t, "it is archived", func() bool {
		return slices.Equal(f.tree(f.letters, ""), []string{"neu/", "neu/a.txt=a", "neu/sub/", "neu/sub/b.txt=b"})
	})
	safe := at + "/brief.docx.sb-6d6ce842-tI5oYC"
	must(t, first(os.Mkdir(safe, 0o700), put(safe+"/brief.txt", "brief"), os.Rename(safe+"/brief.txt", at+"/brief.txt"), os.Remove(safe)))
	f.wantHolds(t, f.letters, "brief.txt=brief")
}

// A document that cannot be taken away is not copied over another one either.
func TestARenameOverAnInboxDocumentThatIsRefusedChangesNothing(t *testing.T) {
	for _, async := range []bool{false, true} {
		t.Run(fmt.Sprintf("async %v", async), func(t *testing.T) {
			t.Parallel()
			f := newForeign(t, hostile.Config{OnlyEight: true})
			for _, name := range []string{"brief.txt", "kopie.txt"} {
				f.AddDocument(f.inbox, hostile.Document{Name: name, Content: []byte(name)})
			}
			m := f.mount(t, func(o *fs.Options) { o.Async = async })
			at := m.path("inboxes", "Administrator")
			wantErrno(t, "rename", os.Rename(at+"/kopie.txt", at+"/brief.txt"), syscall.EPERM)
			wantNames(t, at, "brief.txt", "kopie.txt")
			if got := m.uploads(); len(got) > 0 {
				t.Errorf("uploads: %+v", got)
			}
		})
	}
}

// A rename over an inbox document replaces it, whatever the name was before.
func TestARenameOverAnInboxDocumentReplacesIt(t *testing.T) {
	for name, from := range map[string]string{"by a doubtful name": "brief.txt.Ab3dEf", "by a certain name": "brief.txt.part", "by a document": "kopie.txt"} {
		for _, grace := range []time.Duration{0, time.Hour} {
			t.Run(fmt.Sprintf("%s, grace %v", name, grace), func(t *testing.T) {
				t.Parallel()
				f := newForeign(t, hostile.Config{})
				id := f.AddDocument(f.inbox, hostile.Document{Name: "brief.txt", Content: []byte("alt")})
				m := f.mount(t, func(o *fs.Options) { o.Grace = grace })
				at := m.path("inboxes", "Administrator")
				must(t, first(put(filepath.Join(at, from), "neu"), os.Rename(filepath.Join(at, from), at+"/brief.txt")))
				wantNames(t, at, "brief.txt")
				wantContent(t, at+"/brief.txt", "neu")
				m.send()
				heals(t, "it is one document", func() bool { return len(m.uploads()) == 0 })
				if docs := f.Documents(f.inbox); len(docs) != 1 || docs[0].ID != id || docs[0].Name != "brief.txt" || string(docs[0].Content) != "neu" {
					t.Errorf("the inbox has %+v", docs)
				}
			})
		}
	}
}

// A file that waits from a mount with a time of grace and is written again in one without is archived at its close.
func TestWrittenAgainInAMountWithoutGrace(t *testing.T) {
	t.Parallel()
	f := newForeign(t, hostile.Config{})
	m := f.mount(t, gracious)
	at := m.path("Muster GmbH", "Briefe")
	must(t, put(at+"/a.txt", "one"))
	crashed := m.spoolNow()
	m.tweak = nil
	must(t, os.Remove(at+"/a.txt"))
	m.remountAfter(crashed)
	must(t, put(at+"/a.txt", "two"))
	f.wantHolds(t, f.letters, "a.txt=two")
}
