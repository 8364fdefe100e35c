package fs_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// scanner is a mount in whose inboxes files rest for an hour, which no test waits for.
type scanner struct {
	*foreign
	*mounted
	inbox string
	later atomic.Int64 // by how much the clock of the mount is fast
}

func newScanner(t *testing.T, cfg hostile.Config, tweak func(*fs.Options)) *scanner {
	t.Helper()
	s := &scanner{foreign: newForeign(t, cfg)}
	now := func() time.Time { return time.Now().Add(time.Duration(s.later.Load())) }
	s.mounted = &mounted{baseURL: s.url, cred: s.foreign.cred, clock: now, tweak: func(o *fs.Options) {
		o.Grace, o.Number, o.Now = time.Hour, true, now
		if tweak != nil {
			tweak(o)
		}
	}}
	s.begin(t)
	s.inbox = s.path("inboxes", "Administrator")
	names(t, s.inbox)
	return s
}

// settled lets an hour pass, and waits until the inbox of the service holds these documents.
func (s *scanner) settled(want ...string) {
	s.t.Helper()
	slices.Sort(want)
	heals(s.t, "the inbox has what has settled", func() bool {
		s.later.Add(int64(2 * time.Hour)) // again and again: a close may queue a file some time after it has returned
		s.hurries()
		return slices.Equal(s.holds(s.foreign.inbox), want)
	})
}

// crash ends the mount without a request, and begins it again with what a crash leaves.
func (s *scanner) crash() {
	s.t.Helper()
	crashed := s.spoolNow()
	s.Fault(hostile.Fault{Method: "POST", Times: hostile.Always, Do: hostile.Answer(503, "")})
	s.unmount()
	s.ClearFaults()
	s.remountAfter(crashed)
}

// fails lets an hour pass, waits until the upload of a file in the inbox has failed, and returns it.
func (s *scanner) fails(name string) (u fs.UploadInfo) {
	s.t.Helper()
	heals(s.t, "it fails", func() bool {
		s.later.Add(int64(2 * time.Hour))
		s.hurries()
		i := slices.IndexFunc(s.uploads(), func(u fs.UploadInfo) bool { return u.State == "failed" && filepath.Base(u.Path) == name })
		if i >= 0 {
			u = s.uploads()[i]
		}
		return i >= 0
	})
	return u
}

// hurries makes the mount look at its clock: what is due is sent.
func (s *scanner) hurries() { must(s.t, s.fs.Reconnect(s.t.Context())) }

// page appends a page to a file and closes it.
func page(t *testing.T, path, content string) {
	t.Helper()
	f := get(os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600))(t)
	get(f.WriteString(content))(t)
	must(t, f.Close())
}

func TestPagesThatAreAppendedBecomeOneDocument(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan0001.pdf")
	page(t, path, "%PDF-1.7\n")
	page(t, path, "page 1\n")
	page(t, path, "%%EOF\n")
	heals(t, "it says why it waits", func() bool {
		got := s.pending()
		return len(got) == 1 && got[0].Size == 22 && got[0].Rests && strings.Contains(got[0].Error, "--grace")
	})
	s.wantHolds(t, s.foreign.inbox)
	s.settled("scan0001.pdf=%PDF-1.7\npage 1\n%%EOF\n")
	if n := s.Count("POST", "/file-upload"); n != 1 {
		t.Errorf("%d uploads", n)
	}
	wantContent(t, path, "%PDF-1.7\npage 1\n%%EOF\n")
}

// A scanner that has the file open between two pages is waited for, however long that takes.
func TestAFileThatIsOpenRests(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.txt")
	page(t, path, "page 1\n")
	open := get(os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0))(t)
	s.later.Add(int64(2 * time.Hour))
	s.hurries()
	get(open.WriteString("page 2\n"))(t)
	must(t, open.Close())
	s.settled("scan.txt=page 1\npage 2\n")
}

// A scan that broke off is an upload that is shown, and not a document.
func TestAScanWithoutItsEndFailsWhenItHasSettled(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.pdf")
	page(t, path, "%PDF-1.7\npage 1\n")
	u := s.fails("scan.pdf")
	s.wantHolds(t, s.foreign.inbox)
	if !u.Incomplete || u.Error != "the end of the file is missing, as after a cancelled copy" {
		t.Fatalf("%+v", u)
	}
	wantContent(t, path, "%PDF-1.7\npage 1\n")
	wantErrno(t, "retry", s.retryNow(u), syscall.EPERM)
	page(t, path, "%%EOF\n") // the scanner goes on after all
	s.settled("scan.pdf=%PDF-1.7\npage 1\n%%EOF\n")

	page(t, filepath.Join(s.inbox, "other.pdf"), "%PDF-1.7\npage 1\n")
	must(t, s.asItIs(s.fails("other.pdf")))
	s.settled("scan.pdf=%PDF-1.7\npage 1\n%%EOF\n", "other.pdf=%PDF-1.7\npage 1\n")
}

func TestWhatRestsSurvivesACrash(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.txt")
	page(t, path, "page 1\n")
	s.crash()
	s.wantHolds(t, s.foreign.inbox)
	names(t, s.inbox)
	page(t, path, "page 2\n")
	s.settled("scan.txt=page 1\npage 2\n")
}

// writings are ways in which devices and programs write a file under a name that is taken.
var writings = map[string]func(path, content string) error{
	"over it": func(path, content string) error { return os.WriteFile(path, []byte(content), 0o600) },
	"truncated when it is open, as SMB servers do": func(path, content string) error {
		f, err := os.OpenFile(path, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		err = f.Truncate(0)
		if err == nil {
			_, err = f.WriteString(content)
		}
		return errors.Join(err, f.Close())
	},
	"renamed": func(path, content string) error {
		if err := os.WriteFile(path+".part", []byte(content), 0o600); err != nil {
			return err
		}
		return os.Rename(path+".part", path)
	},
}

// A name that comes back every day gets a new document, whatever became of the last one.
func TestANameThatComesBackGetsANewDocument(t *testing.T) {
	t.Parallel()
	for how, write := range writings {
		for what, cfg := range map[string]hostile.Config{
			"replaces": {}, "cannot replace": {Without: []string{"POST /document/{id}/replace"}},
		} {
			t.Run(how+", "+what, func(t *testing.T) {
				t.Parallel()
				s := newScanner(t, cfg, nil)
				path, aside := filepath.Join(s.inbox, "scan.txt"), filepath.Join(s.inbox, "scan (2).txt")
				must(t, os.WriteFile(path, []byte("monday"), 0o600))
				s.settled("scan.txt=monday")
				must(t, write(path, "tuesday"))
				wantContent(t, path, "tuesday")
				wantContent(t, aside, "monday")
				s.settled("scan.txt=monday", "scan.txt=tuesday")
				wantContent(t, path, "tuesday")
				wantContent(t, aside, "monday")
				must(t, write(path, "wednesday")) // before the next one has settled
				must(t, write(path, "thursday"))
				wantNames(t, s.inbox, "scan.txt", "scan (2).txt", "scan (3).txt", "scan (4).txt")
				s.settled("scan.txt=monday", "scan.txt=tuesday", "scan.txt=wednesday", "scan.txt=thursday")
				if n := s.Count("POST", "/document/{id}/replace"); n != 0 {
					t.Errorf("%d replacements", n)
				}
			})
		}
	}
}

// A device that appends to what it has just written extends that; a scan that failed stays beside the
// next one.
func TestWhatANewFileLeavesBeside(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.pdf")
	page(t, path, "%PDF-1.7\nhalf")
	s.fails("scan.pdf")
	must(t, os.WriteFile(path, []byte("%PDF-1.7\nwhole %%EOF"), 0o600))
	s.settled("scan.pdf=%PDF-1.7\nwhole %%EOF")
	wantContent(t, filepath.Join(s.inbox, "scan (2).pdf"), "%PDF-1.7\nhalf")
	if ups := s.uploads(); len(ups) != 1 || ups[0].State != "failed" {
		t.Errorf("%+v", ups)
	}
	page(t, path, "\n")
	s.settled("scan.pdf=%PDF-1.7\nwhole %%EOF\n")
}

// A program that reads the old document goes on with the new file, as it does after a replacement; the
// old document is read under its numbered name.
func TestReadersOfANameThatComesBack(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.txt")
	must(t, os.WriteFile(path, []byte("monday"), 0o600))
	r := get(os.Open(path))(t)
	must(t, os.WriteFile(path, []byte("tuesday"), 0o600))
	s.settled("scan.txt=monday", "scan.txt=tuesday")
	must(t, r.Close())
	wantContent(t, filepath.Join(s.inbox, "scan (2).txt"), "monday")
	wantContent(t, path, "tuesday")
	s.remount()
	if got := names(t, s.inbox); len(got) != 2 {
		t.Errorf("%q", got)
	}
	wantContent(t, path, "tuesday") // the name is of the last one
}

// After a crash the last scan has the plain name, whether it is archived or waits.
func TestTheLastScanKeepsItsName(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.txt")
	must(t, os.WriteFile(path, []byte("monday"), 0o600))
	s.settled("scan.txt=monday")
	must(t, os.WriteFile(path, []byte("tuesday"), 0o600))
	must(t, os.WriteFile(path, []byte("wednesday"), 0o600))
	s.crash()
	names(t, s.inbox)
	wantContent(t, path, "wednesday")
	s.settled("scan.txt=monday", "scan.txt=tuesday", "scan.txt=wednesday")
	wantContent(t, path, "wednesday")
	s.remount()
	names(t, s.inbox)
	wantContent(t, path, "wednesday")
}

// A device whose connection broke does not know what arrived, and writes all of it again.
func TestAScanThatIsWrittenAgainIsOneDocument(t *testing.T) {
	t.Parallel()
	for how, write := range writings {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			s := newScanner(t, hostile.Config{}, nil)
			path := filepath.Join(s.inbox, "scan.txt")
			must(t, os.WriteFile(path, []byte("page 1\n"), 0o600))
			must(t, write(path, "page 1\n"))
			must(t, write(path, "page 1\n"))
			s.settled("scan.txt=page 1\n")
			heals(t, "nothing waits", func() bool { s.hurries(); return len(s.pending()) == 0 })
			wantNames(t, s.inbox, "scan.txt")
			s.wantHolds(t, s.foreign.inbox, "scan.txt=page 1\n")
			s.later.Add(int64(2 * time.Hour))
			must(t, write(path, "page 1\n")) // the scan of another day has the same page
			s.settled("scan.txt=page 1\n", "scan.txt=page 1\n")
		})
	}
}

// The device may come back while the first one is being sent, and wait for the end of that.
func TestAScanThatIsWrittenAgainWhileItIsSent(t *testing.T) {
	t.Parallel()
	for name, want := range map[string][]string{"page 1\n": {"scan.txt=page 1\n"}, "page 2\n": {"scan.txt=page 1\n", "scan.txt=page 2\n"}} {
		s := newScanner(t, hostile.Config{}, nil)
		path, gate := filepath.Join(s.inbox, "scan.txt"), hostile.NewGate()
		s.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: hostile.StallAfter(gate)})
		must(t, os.WriteFile(path, []byte("page 1\n"), 0o600))
		s.later.Add(int64(2 * time.Hour))
		s.hurries()
		<-gate.Arrived()
		go gate.Open()
		must(t, os.WriteFile(path, []byte(name), 0o600))
		s.settled(want...)
		heals(t, "nothing waits", func() bool { s.later.Add(int64(2 * time.Hour)); s.hurries(); return len(s.pending()) == 0 })
		s.wantHolds(t, s.foreign.inbox, want...)
	}
}

// Who moves a document out of the inbox, and puts it there once more for another folder, gets both.
func TestACopyOfWhatWasMovedAwayIsAnotherDocument(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, func(o *fs.Options) { o.Grace = time.Second })
	path := filepath.Join(s.inbox, "form.txt")
	for _, name := range []string{"a.txt", "b.txt"} {
		must(t, os.WriteFile(path, []byte("form"), 0o600))
		heals(t, "it is stored in the inbox", func() bool {
			s.later.Add(int64(time.Second))
			s.hurries()
			return slices.Equal(s.holds(s.foreign.inbox), []string{"form.txt=form"})
		})
		must(t, os.Rename(path, s.path("Muster GmbH", "Briefe", name)))
	}
	s.wantHolds(t, s.letters, "a.txt=form", "b.txt=form")
}

// The mount may crash before what was written has settled, and the device comes back to the next one.
func TestAScanThatIsWrittenAgainAfterACrash(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.pdf")
	must(t, os.WriteFile(path, []byte("%PDF-1.7\nwhole %%EOF"), 0o600))
	page(t, filepath.Join(s.inbox, "other.pdf"), "%PDF-1.7\nhalf")
	must(t, os.Rename(filepath.Join(s.inbox, "other.pdf"), path)) // its next attempt, which broke off
	s.crash()
	names(t, s.inbox)
	must(t, os.WriteFile(path, []byte("%PDF-1.7\nwhole %%EOF"), 0o600))
	s.settled("scan.pdf=%PDF-1.7\nwhole %%EOF")
	heals(t, "nothing waits", func() bool { s.hurries(); return len(s.pending()) == 0 })
	s.wantHolds(t, s.foreign.inbox, "scan.pdf=%PDF-1.7\nwhole %%EOF")
}

// A device that writes under a temporary name begins again with that, and renames it at the end. It may
// not have been told that it had renamed the first one, and the mount may crash at any time.
func TestAScanThatIsWrittenAgainAndRenamed(t *testing.T) {
	t.Parallel()
	for _, renamed := range []bool{false, true} {
		for _, crash := range []bool{false, true} {
			t.Run(fmt.Sprintf("renamed %v, crash %v", renamed, crash), func(t *testing.T) {
				t.Parallel()
				s := newScanner(t, hostile.Config{}, nil)
				temporary, path := filepath.Join(s.inbox, "tmp0001"), filepath.Join(s.inbox, "scan.txt")
				must(t, os.WriteFile(temporary, []byte("page 1\n"), 0o600))
				if renamed {
					must(t, os.Rename(temporary, path))
				}
				must(t, os.WriteFile(temporary, []byte("page 1\n"), 0o600))
				must(t, os.Rename(temporary, path))
				if crash {
					s.crash()
					names(t, s.inbox)
				}
				s.settled("scan.txt=page 1\n")
				heals(t, "nothing waits", func() bool { s.hurries(); return len(s.pending()) == 0 })
				if crash {
					s.remount() // it has a number as long as the other one was shown, too
				}
				wantNames(t, s.inbox, "scan.txt")
			})
		}
	}
}

// A device writes page by page again, which takes longer than what it wrote first takes to settle.
func TestAScanThatIsWrittenAgainPageByPage(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.txt")
	wait := func() {
		s.later.Add(int64(40 * time.Minute))
		s.hurries()
	}
	must(t, os.WriteFile(path, []byte("page 1\npage 2\npage 3\n"), 0o600))
	wait()
	must(t, os.WriteFile(path, []byte("page 1\n"), 0o600))
	wait()
	page(t, path, "page 2\n")
	wait()
	if n := len(s.pending()); n != 2 {
		t.Errorf("%d wait, and should 2", n)
	}
	page(t, path, "page 3\n")
	s.settled("scan.txt=page 1\npage 2\npage 3\n")
	heals(t, "nothing waits", func() bool { s.hurries(); return len(s.pending()) == 0 })
	if n := s.Count("POST", "/file-upload"); n != 1 {
		t.Errorf("%d uploads", n)
	}
}

// Half a scan that was written again, and is whole then, is no failed upload.
func TestHalfAScanThatIsWrittenAgain(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.pdf")
	must(t, os.WriteFile(path, []byte("%PDF-1.7\npage 1\n"), 0o600))
	must(t, os.WriteFile(path, []byte("%PDF-1.7\npage 1\npage 2\n%%EOF"), 0o600))
	s.settled("scan.pdf=%PDF-1.7\npage 1\npage 2\n%%EOF")
	heals(t, "nothing is left", func() bool { s.hurries(); return len(s.uploads()) == 0 })
	wantNames(t, s.inbox, "scan.pdf")

	must(t, os.WriteFile(path, []byte("%PDF-1.7\nmonday"), 0o600)) // another one
	must(t, os.WriteFile(path, []byte("%PDF-1.7\ntuesday\n%%EOF"), 0o600))
	s.settled("scan.pdf=%PDF-1.7\npage 1\npage 2\n%%EOF", "scan.pdf=%PDF-1.7\ntuesday\n%%EOF")
	heals(t, "the half is kept", func() bool {
		s.hurries()
		ups := s.uploads()
		return len(ups) == 1 && ups[0].State == "failed"
	})
}

// What was written may be the beginning of what is written again, which takes longer than it takes to
// settle.
func TestAScanWaitsForWhatIsWrittenUnderItsName(t *testing.T) {
	t.Parallel()
	s := newScanner(t, hostile.Config{}, nil)
	path := filepath.Join(s.inbox, "scan.txt")
	must(t, os.WriteFile(path, []byte("page 1\npage 2\n"), 0o600))
	again := get(os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0))(t)
	get(again.WriteString("page 1\n"))(t)
	s.settled()
	get(again.WriteString("page 2\n"))(t)
	must(t, again.Close())
	s.settled("scan.txt=page 1\npage 2\n")
	heals(t, "nothing waits", func() bool { s.hurries(); return len(s.pending()) == 0 })
	wantNames(t, s.inbox, "scan.txt")

	again = get(os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0))(t)
	get(again.WriteString("page 1\n"))(t)
	must(t, again.Close())
	last := get(os.OpenFile(path, os.O_WRONLY|os.O_TRUNC, 0))(t)
	get(last.WriteString("another\n"))(t)
	must(t, last.Close())
	s.settled("scan.txt=page 1\npage 2\n", "scan.txt=page 1\n", "scan.txt=another\n")
}
