package fs_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// tree lists the contents of a folder at the service, folders with a slash at the end, documents as
// "name=content".
func (f *foreign) tree(folder int64, at string) (list []string) {
	for _, d := range f.Documents(folder) {
		list = append(list, at+d.Name+"="+string(d.Content))
	}
	for _, sub := range f.Folders(folder) {
		list = append(list, at+sub.Name+"/")
		list = append(list, f.tree(sub.ID, at+sub.Name+"/")...)
	}
	slices.Sort(list)
	return list
}

// wantTree fails the test unless the mandator has exactly this, beside its initial contents.
func (a *async) wantTree(t *testing.T, want ...string) {
	t.Helper()
	want = append(want, "Briefe/", "Rechnungen/")
	slices.Sort(want)
	if got := a.tree(a.mandator, ""); !slices.Equal(got, want) {
		t.Errorf("the service has %q, want %q", got, want)
	}
}

// queuedFolders are changes while the service is away; at is the mandator's directory.
var queuedFolders = map[string]struct {
	do   func(t *testing.T, a *async, at string)
	want []string
}{
	"empty": {func(t *testing.T, _ *async, at string) {
		must(t, os.Mkdir(at+"/Neu", 0o700))
		wantErrno(t, "mkdir again", os.Mkdir(at+"/Neu", 0o700), syscall.EEXIST)
	}, []string{"Neu/"}},
	"two deep": {twoDeep, []string{"Neu/", "Neu/Unter/", "Neu/Unter/b.txt=b", "Neu/a.txt=a"}},
	"renamed": {func(t *testing.T, a *async, at string) {
		twoDeep(t, a, at)
		must(t, os.Rename(at+"/Neu/Unter", at+"/Neu/Ober"))
		must(t, os.Rename(at+"/Neu", at+"/Alt"))
		wantContent(t, at+"/Alt/Ober/b.txt", "b")
	}, []string{"Alt/", "Alt/Ober/", "Alt/Ober/b.txt=b", "Alt/a.txt=a"}},
	"moved": {func(t *testing.T, a *async, at string) {
		twoDeep(t, a, at)
		must(t, os.Rename(at+"/Neu/Unter", at+"/Briefe/Unter"))
		must(t, os.Rename(at+"/Neu", at+"/Briefe/Unter/Neu"))
	}, []string{"Briefe/Unter/", "Briefe/Unter/b.txt=b", "Briefe/Unter/Neu/", "Briefe/Unter/Neu/a.txt=a"}},
	"removed": {func(t *testing.T, a *async, at string) {
		twoDeep(t, a, at)
		wantErrno(t, "rmdir", os.Remove(at+"/Neu/Unter"), syscall.ENOTEMPTY)
		must(t, os.Remove(at+"/Neu/Unter/b.txt"))
		must(t, os.Remove(at+"/Neu/Unter"))
		wantNames(t, at+"/Neu", "a.txt")
	}, []string{"Neu/", "Neu/a.txt=a"}},
	"removed and made anew": {func(t *testing.T, a *async, at string) {
		must(t, os.Mkdir(at+"/Neu", 0o700))
		must(t, os.Remove(at+"/Neu"))
		twoDeep(t, a, at)
	}, []string{"Neu/", "Neu/Unter/", "Neu/Unter/b.txt=b", "Neu/a.txt=a"}},
	"files moved in and out": {func(t *testing.T, a *async, at string) {
		twoDeep(t, a, at)
		write(t, at+"/Briefe/c.txt", "c")
		must(t, os.Rename(at+"/Briefe/c.txt", at+"/Neu/Unter/c.txt"))
		must(t, os.Rename(at+"/Neu/a.txt", at+"/Briefe/a.txt"))
		must(t, os.Rename(at+"/Neu/Unter/b.txt", at+"/Neu/a.txt"))
	}, []string{"Briefe/a.txt=a", "Neu/", "Neu/Unter/", "Neu/Unter/c.txt=c", "Neu/a.txt=b"}},
	"files changed": {func(t *testing.T, a *async, at string) {
		twoDeep(t, a, at)
		write(t, at+"/Neu/a.txt", "new")
		opens(os.O_WRONLY|os.O_APPEND, "!")(t, a, at+"/Neu/Unter/b.txt")
		write(t, at+"/Neu/c.part", "c")
		must(t, os.Rename(at+"/Neu/c.part", at+"/Neu/c.txt"))
		write(t, at+"/Neu/local.txt.part", "not to be archived")
	}, []string{"Neu/", "Neu/Unter/", "Neu/Unter/b.txt=b!", "Neu/a.txt=new", "Neu/c.txt=c"}},
	"what does not go": {func(t *testing.T, a *async, at string) {
		must(t, os.Mkdir(at+"/Neu", 0o700))
		wantErrno(t, "archive into it", os.Rename(filepath.Join(a.inbox, "scan.txt"), at+"/Neu/scan.txt"), syscall.EBUSY)
		wantErrno(t, "defaults of it", setAttr(at+"/Neu", "upload.keywords", "rot"), syscall.EBUSY)
		wantErrno(t, "over a folder", syscall.Rename(at+"/Neu", at+"/Briefe"), syscall.EEXIST)
		wantErrno(t, "to the top", os.Rename(at+"/Neu", a.path("Neu")), syscall.EPERM)
		wantErrno(t, "remove a folder", os.Remove(at+"/Briefe"), syscall.EPERM)
	}, []string{"Neu/"}},
}

func twoDeep(t *testing.T, _ *async, at string) {
	t.Helper()
	must(t, os.MkdirAll(at+"/Neu/Unter", 0o700))
	write(t, at+"/Neu/a.txt", "a")
	write(t, at+"/Neu/Unter/b.txt", "b")
}

// A folder that is queued while the service is away behaves like a folder, and is created, with all
// its contents, as soon as the service is back.
func TestFoldersMadeWhileTheServiceIsAway(t *testing.T) {
	t.Parallel()
	for name, tt := range queuedFolders {
		for _, remounts := range []bool{false, true} {
			t.Run(name+map[bool]string{true: "/over a mount"}[remounts], func(t *testing.T) {
				t.Parallel()
				a := newAsync(t, hostile.Config{}, func(f *foreign) {
					f.AddDocument(f.inbox, hostile.Document{Name: "scan.txt", Content: []byte("scan")})
				})
				a.goesAway(t)
				at := a.path("Muster GmbH")
				tt.do(t, a, at)
				if remounts {
					a.remount()
					names(t, at)
				}
				a.line.mend()
				a.sends()
				a.wantTree(t, tt.want...)
				a.wantShows(t, at, tt.want)
				a.remount()
				a.wantShows(t, at, tt.want)
				if ups := a.uploads(); len(ups) != 0 {
					t.Errorf("uploads: %+v", ups)
				}
			})
		}
	}
}

// wantShows fails the test unless everything in the list can be read in the directory.
func (a *async) wantShows(t *testing.T, at string, list []string) {
	t.Helper()
	for _, what := range list {
		name, content, document := strings.Cut(what, "=")
		if document {
			wantContent(t, filepath.Join(at, name), content)
		} else if info := get(os.Stat(filepath.Join(at, name)))(t); !info.IsDir() {
			t.Errorf("%s is no directory", name)
		}
	}
}

// Another client created and filled the folder before the service could be reached.
func TestFolderThatOthersMadeMeanwhile(t *testing.T) {
	t.Parallel()
	for _, remounts := range []bool{false, true} {
		a := newAsync(t, hostile.Config{})
		a.line.cut()
		at := a.path("Muster GmbH")
		twoDeep(t, a, at)
		if exists(at + "/Neu/theirs.txt") { // the kernel remembers that
			t.Error("a document that nobody could know of is shown")
		}
		theirs := a.AddFolder(a.mandator, "Neu")
		a.AddDocument(theirs, hostile.Document{Name: "theirs.txt", Content: []byte("theirs")})
		a.AddDocument(theirs, hostile.Document{Name: "a.txt", Content: []byte("their a")})
		if remounts {
			a.remount()
		}
		a.line.mend()
		names(t, at)
		a.sends()
		a.wantTree(t, "Neu/", "Neu/theirs.txt=theirs", "Neu/a.txt=their a", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b")
		heals(t, "the folder shows once, with all that is in it", func() bool {
			return slices.Equal(names(t, at), []string{"Briefe", "Neu", "Rechnungen"}) && len(names(t, at+"/Neu")) == 4
		})
		heals(t, "what is theirs shows", func() bool { return exists(at + "/Neu/theirs.txt") })
	}
}

// The service made the folder, or may have, and its answer was lost: there is only one.
func TestFolderWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do    hostile.Action
		times int
	}{
		"lost after": {hostile.DropAfter(), 1}, "lost before": {hostile.DropBefore(), 1},
		"always lost after": {hostile.DropAfter(), hostile.Always}, "503": {hostile.Answer(503, ""), 5},
		"502 after": {hostile.AnswerAfter(502, ""), hostile.Always},
	} {
		for _, down := range []bool{false, true} { // when it is asked for
			t.Run(name+map[bool]string{true: "/later"}[down], func(t *testing.T) {
				t.Parallel()
				a := newAsync(t, hostile.Config{})
				if down {
					a.line.cut()
				}
				a.Fault(hostile.Fault{Method: "POST", Path: "/folder/create", Times: tt.times, Do: tt.do})
				at := a.path("Muster GmbH")
				twoDeep(t, a, at)
				if down {
					a.line.mend()
				}
				heals(t, "it was tried", func() bool {
					return len(a.pending()) == 0 || slices.ContainsFunc(a.pending(), func(u fs.UploadInfo) bool { return u.Waits })
				})
				a.ClearFaults()
				a.sends()
				a.wantTree(t, "Neu/", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b")
				wantNames(t, at, "Briefe", "Neu", "Rechnungen")
			})
		}
	}
}

// refusedFolder is a mount whose queued folder Neu was refused when the service was back. It has a
// file, and a folder with another file.
func refusedFolder(t *testing.T) (a *async, at string) {
	t.Helper()
	a = newAsync(t, hostile.Config{})
	a.Fault(hostile.Fault{Method: "POST", Path: "/folder/create", Times: hostile.Always, Do: hostile.Answer(403, "not yours")})
	a.line.cut()
	at = a.path("Muster GmbH")
	twoDeep(t, a, at)
	a.line.mend()
	heals(t, "the folder fails", func() bool {
		ups := a.uploads()
		return len(ups) == 4 && len(a.pending()) == 0
	})
	return a, at
}

// A refused folder is shown as failed, and so are its contents, with the reason.
func TestRefusedFolder(t *testing.T) {
	t.Parallel()
	decisions := map[string]struct {
		do   func(t *testing.T, a *async, at string)
		want []string
		left int // uploads
	}{
		"retried": {func(t *testing.T, a *async, _ string) {
			must(t, a.retryNow(a.uploads()[0]))
		}, []string{"Neu/", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b"}, 0},
		"retried by the innermost file": {func(t *testing.T, _ *async, at string) {
			must(t, setAttr(at+"/Neu/Unter/b.txt", "retry", "true"))
		}, []string{"Neu/", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b"}, 0},
		"all retried in any order": {func(t *testing.T, a *async, _ string) {
			for _, u := range slices.Backward(a.uploads()) {
				if err := a.retryNow(u); err != nil && !errors.Is(err, syscall.ENOENT) { // which is done by now
					t.Error(err)
				}
			}
		}, []string{"Neu/", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b"}, 0},
		"retried after another mount": {func(t *testing.T, a *async, _ string) {
			a.remount()
			must(t, a.retryNow(a.uploads()[0]))
		}, []string{"Neu/", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b"}, 0},
		"renamed": {func(t *testing.T, a *async, at string) {
			must(t, os.Rename(at+"/Neu/a.txt", at+"/Neu/b.txt"))
			must(t, os.Rename(at+"/Neu", at+"/Alt"))
			must(t, a.retryNow(a.uploads()[0]))
		}, []string{"Alt/", "Alt/b.txt=a", "Alt/Unter/", "Alt/Unter/b.txt=b"}, 0},
		"written into": {func(t *testing.T, a *async, at string) {
			wantErrno(t, "a file in a folder that is not made", os.WriteFile(at+"/Neu/c.txt", []byte("c"), 0o600), syscall.EIO)
			wantNames(t, at+"/Neu", "Unter", "a.txt")
			must(t, os.Remove(a.kept(a.uploads()[4])))
			must(t, a.retryNow(a.uploads()[0]))
			write(t, at+"/Neu/c.txt", "c")
		}, []string{"Neu/", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b", "Neu/c.txt=c"}, 0},
		"files moved elsewhere": {func(t *testing.T, _ *async, at string) {
			must(t, os.Rename(at+"/Neu/a.txt", at+"/Briefe/a.txt"))
			must(t, os.Rename(at+"/Neu/Unter/b.txt", at+"/Briefe/b.txt"))
			must(t, os.Remove(at+"/Neu/Unter"))
			must(t, os.Remove(at+"/Neu"))
		}, []string{"Briefe/a.txt=a", "Briefe/b.txt=b"}, 0},
		"the folder below moved elsewhere": {func(t *testing.T, _ *async, at string) {
			must(t, os.Rename(at+"/Neu/Unter", at+"/Briefe/Unter"))
		}, []string{"Briefe/Unter/", "Briefe/Unter/b.txt=b"}, 2},
		"all discarded": {func(t *testing.T, a *async, _ string) {
			wantErrno(t, "discard a folder with something in it", os.Remove(a.kept(a.uploads()[0])), syscall.ENOTEMPTY)
			ups := a.uploads()
			for _, u := range slices.Backward(ups) {
				must(t, os.Remove(a.kept(u)))
			}
			heals(t, "the discarded folder goes", func() bool { return !exists(a.path("Muster GmbH", "Neu")) })
		}, nil, 0},
	}
	for name, decision := range decisions {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, at := refusedFolder(t)
			ups := a.uploads()
			if !ups[0].Directory || ups[0].Path != "Muster GmbH/Neu" || ups[0].Error == "" {
				t.Errorf("the folder is listed as %+v", ups[0])
			}
			for _, u := range ups[1:] {
				if u.State != "failed" || !strings.Contains(u.Error, "Neu is not made: ") {
					t.Errorf("what is in it is listed as %+v", u)
				}
			}
			wantContent(t, at+"/Neu/a.txt", "a")
			a.ClearFaults()
			decision.do(t, a, at)
			heals(t, "all is done", func() bool { return len(a.uploads()) == decision.left })
			a.wantTree(t, decision.want...)
		})
	}
}

// A folder that the mount created just before the service went away is known to be empty.
func TestFolderMadeJustBeforeTheServiceIsAway(t *testing.T) {
	t.Parallel()
	a := newAsync(t, hostile.Config{})
	at := a.path("Muster GmbH")
	must(t, os.Mkdir(at+"/Neu", 0o700))
	a.line.cut()
	wantNames(t, at+"/Neu")
	write(t, at+"/Neu/a.txt", "a")
	must(t, os.Mkdir(at+"/Neu/Unter", 0o700))
	write(t, at+"/Neu/Unter/b.txt", "b")
	a.line.mend()
	a.sends()
	a.wantTree(t, "Neu/", "Neu/a.txt=a", "Neu/Unter/", "Neu/Unter/b.txt=b")
}
