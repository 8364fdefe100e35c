package fs_test

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/spool"
	"github.com/archivefs/archivefs/internal/testing/hostile"
	"github.com/archivefs/archivefs/internal/testing/spooltest"
)

// stops are moments of an upload at which the mount's process stops.
var stops = map[string]struct {
	// begin makes the upload reach that moment, and stay there while the gate is closed; nil: the
	// service is away.
	begin   func(a *async, gate *hostile.Gate)
	arrived bool // the service has it
}{
	"not sent": {},
	"not arrived": {begin: func(a *async, gate *hostile.Gate) {
		a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.StallBefore(gate)})
	}},
	"arrived": {begin: func(a *async, gate *hostile.Gate) {
		a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.StallAfter(gate)})
	}, arrived: true},
	"arrived, in doubt": {begin: func(a *async, gate *hostile.Gate) {
		a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.DropAfter()})
		a.Fault(hostile.Fault{Method: "GET", Path: "/document/list", Do: hostile.StallBefore(gate)})
	}, arrived: true},
}

// An accepted file is archived once, however the mount's process ended.
func TestAsyncAfterACrash(t *testing.T) {
	t.Parallel()
	for stopName, stop := range stops {
		for svcName, cfg := range services {
			t.Run(stopName+"/"+svcName, func(t *testing.T) {
				t.Parallel()
				a := newAsync(t, cfg)
				gate := hostile.NewGate()
				if stop.begin != nil {
					stop.begin(a, gate)
				} else {
					a.line.cut()
				}
				write(t, filepath.Join(a.letters, "a.txt"), "Inhalt")
				if stop.begin != nil {
					<-gate.Arrived()
				}
				crashed := a.spoolNow()
				gate.Open()
				a.unmount()
				if stop.begin == nil {
					a.line.mend()
				}
				if !stop.arrived {
					for _, d := range a.Documents(a.foreign.letters) {
						a.Remove(d.ID)
					}
				}
				a.remountAfter(crashed)
				a.sends()
				kept := a.has("Muster GmbH/Briefe/a.txt")
				if n := a.named(a.foreign.letters, "a.txt", "Inhalt"); n > 1 || n == 0 && !kept {
					t.Errorf("archived %d times, uploads %+v", n, a.uploads())
				}
				if svcName == "public" || svcName == "nothing but eight" {
					a.wantHolds(t, a.foreign.letters, "a.txt=Inhalt")
					wantNames(t, a.letters, "a.txt")
				}
			})
		}
	}
}

// Unmounting sends what it can; the next mount, in whatever mode, sends the rest.
func TestAsyncUnmountWithPendingUploads(t *testing.T) {
	t.Parallel()
	const files = 50
	for _, away := range []bool{false, true} {
		t.Run(fmt.Sprintf("away %v", away), func(t *testing.T) {
			t.Parallel()
			a := newAsync(t, hostile.Config{})
			if away {
				a.line.cut()
			}
			var want []string
			for i := range files {
				name := fmt.Sprintf("%02d.txt", i)
				write(t, filepath.Join(a.letters, name), name)
				want = append(want, name+"="+name)
			}
			a.unmount()
			if away {
				a.wantHolds(t, a.foreign.letters)
				a.remount()
				if n := len(a.pending()); n != files {
					t.Errorf("%d uploads are listed", n)
				}
				a.tweak = func(*fs.Options) {}
				a.line.mend()
				a.remount()
				a.sends()
				names(t, a.letters)
			}
			a.wantHolds(t, a.foreign.letters, want...)
			a.remount()
			if ups := a.uploads(); len(ups) != 0 {
				t.Errorf("uploads: %+v", ups)
			}
		})
	}
}

// spooled changes the spool between two mounts.
func (m *mounted) spooled(change func(*spool.Spool)) {
	m.t.Helper()
	m.unmount()
	s := get(spool.Open(spool.Options{Dir: filepath.Join(m.state, "spool")}))(m.t)
	change(s)
	must(m.t, s.Close())
	m.remount()
}

// accepted puts a file into the spool as a close does.
func accepted(t testing.TB, s *spool.Spool, r spool.Record) *spool.Upload {
	t.Helper()
	up := get(s.Create(r))(t)
	get(up.WriteAt([]byte("Inhalt"), 0))(t)
	must(t, up.Commit(true, func(*spool.Record) {}))
	return up
}

// If the process stops between taking a file back from the queue and the first change, nothing has
// changed.
func TestAsyncCrashBeforeTheFirstChange(t *testing.T) {
	t.Parallel()
	a := newAsync(t, hostile.Config{})
	a.spooled(func(s *spool.Spool) {
		up := accepted(t, s, spool.Record{Folder: archive.ID(a.foreign.letters), Path: "Muster GmbH/Briefe", Name: "a.txt"})
		must(t, up.Recall())
	})
	heals(t, "it is archived", func() bool { return len(a.uploads()) == 0 })
	a.wantHolds(t, a.foreign.letters, "a.txt=Inhalt")
	wantNames(t, a.letters, "a.txt")
	a.unmount()
	wantNames(t, filepath.Join(a.state, "spool"))
	a.remount()
}

// A crash of the machine may keep the record of an archived file and lose its bytes, which the archive
// has. They are read from there.
func TestArchivedFileThatACrashHasDamaged(t *testing.T) {
	t.Parallel()
	for name, damaged := range map[string]string{"lost": "", "torn": "\x00\x00\x00\x00\x00\x00"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAsync(t, hostile.Config{})
			path := filepath.Join(a.letters, "a.txt")
			write(t, path, "Inhalt")
			heals(t, "it is archived", func() bool { return len(a.uploads()) == 0 })
			id := a.Documents(a.foreign.letters)[0].ID
			a.unmount()
			s := get(spool.Open(spool.Options{Dir: filepath.Join(a.state, "spool")}))(t)
			up := accepted(t, s, spool.Record{Folder: archive.ID(a.foreign.letters), Path: "Muster GmbH/Briefe", Name: "a.txt"})
			must(t, s.Close())
			r := up.Record()
			r.State, r.Document = spool.Confirmed, archive.ID(id)
			dir := filepath.Join(a.state, "spool")
			spooltest.Rewrite(t, dir, up.ID(), func([]byte) []byte { return get(json.Marshal(r))(t) })
			spooltest.Spoil(t, dir, up.ID(), []byte(damaged))
			a.remount()
			heals(t, "the upload is over", func() bool { return len(a.uploads()) == 0 })
			wantContent(t, path, "Inhalt")
		})
	}
}

// The first lookup shows files that were accepted and not yet archived when the process was killed,
// even if the listing is older than their documents, which may exist by the time of the answer.
func TestAcceptedFilesAreShownByTheFirstLookup(t *testing.T) {
	for svcName, cfg := range map[string]hostile.Config{"ids": {}, "no ids": {Upload: hostile.UploadShape{Answer: hostile.UploadEmpty}}} {
		t.Run(svcName, func(t *testing.T) {
			a := newAsync(t, cfg)
			a.line.cut()
			write(t, filepath.Join(a.letters, "a.txt"), "Inhalt")
			crashed := a.spoolNow()
			a.unmount()
			a.line.mend()
			sends, lists := hostile.NewGate(), hostile.NewGate()
			defer sends.Open()
			defer lists.Open()
			a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Do: hostile.StallBefore(sends)})
			a.remountAfter(crashed)
			<-sends.Arrived()
			a.Fault(hostile.Fault{Method: "GET", Path: "/document/list", Do: hostile.StallAfter(lists)})
			seen := make(chan []string, 1)
			go func() {
				out, _ := exec.CommandContext(t.Context(), "ls", a.letters).Output()
				seen <- strings.Fields(string(out))
			}()
			<-lists.Arrived()
			sends.Open()
			heals(t, "it is archived", func() bool { return len(a.fs.Status().Uploads.List) == 0 })
			lists.Open()
			if got := <-seen; !slices.Equal(got, []string{"a.txt"}) {
				t.Errorf("the first look shows %q", got)
			}
			wantContent(t, filepath.Join(a.letters, "a.txt"), "Inhalt")
			a.wantHolds(t, a.foreign.letters, "a.txt=Inhalt")
		})
	}
}
