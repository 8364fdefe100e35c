package spool

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// life is one file's way through the spool, as far as a test has got with it.
type life struct {
	t    *testing.T
	s    *Spool
	f    *fakeArchive
	u    *Upload
	data string // what is written now
}

// steps are the ways to go; each ends with the archive holding the data once.
var steps = map[string][]func(*life) error{
	"archived": {newFile, writeAll, rename, syncFile, commitFile, send, remove},
	"answer lost": {newFile, writeAll, commitFile, func(l *life) error {
		l.f.script = []outcome{{commit: true, err: kindErr(archive.KindInterrupted)}}
		return send(l)
	}, remove},
	"answered without an id": {newFile, writeAll, commitFile, func(l *life) error {
		l.f.script = []outcome{{commit: true, noID: true, late: 2}}
		return send(l)
	}, remove},
	"request lost": {newFile, writeAll, commitFile, func(l *life) error {
		l.f.script = []outcome{{err: kindErr(archive.KindTimeout)}}
		return send(l)
	}, remove},
	"refused and retried": {newFile, writeAll, commitFile, func(l *life) error {
		l.f.script = []outcome{{err: kindErr(archive.KindForbidden)}}
		if err := send(l); archive.KindOf(err) != archive.KindForbidden {
			return errors.Join(errors.New("not refused"), err)
		}
		return nil
	}, tryAgain, send, remove},
	"killed writer retried":  {newFile, writeAll, fail, tryAgain, send, remove},
	"local file renamed":     {newFile, writeAll, keepFile, rename, writeAll, keepFile, commitFile, send, remove},
	"opened again committed": {newFile, writeAll, commitFile, reopenFile, writeAll, commitFile, send, remove},
}

func newFile(l *life) (err error) { l.u, err = l.s.Create(lateBill()); return err }

func writeAll(l *life) error {
	p := "another piece of it, "
	_, err := l.u.WriteAt([]byte(p), int64(len(l.data)))
	if err == nil {
		l.data += p
	}
	return err
}

func rename(l *life) error     { return l.u.Update(func(r *Record) { r.Name = "Rechnung.pdf" }) }
func syncFile(l *life) error   { return l.u.Sync(false) }
func commitFile(l *life) error { return commit(l.u) }
func keepFile(l *life) error   { return keep(l.u) }
func reopenFile(l *life) error { return l.u.Reopen() }
func tryAgain(l *life) error   { return l.u.Retry(true) }
func remove(l *life) error     { return l.u.Remove() }
func fail(l *life) error       { return l.u.Fail("the writer was killed", false) }

func send(l *life) error {
	_, err := Deliver(context.Background(), l.u, l.f, nil)
	return err
}

// TestCrashBetweenTheSteps stops the world at every point of every way, takes what is on
// disk and in the archive at that moment, and lives on from there.
func TestCrashBetweenTheSteps(t *testing.T) {
	hit := map[Point]int{}
	for name, way := range steps {
		t.Run(name, func(t *testing.T) {
			l := &life{t: t, f: newFake()}
			var hook func(Point) error
			l.s, _ = open(t, t.TempDir(), func(o *Options) {
				o.JournalSize = 64 << 10
				o.Fault = func(p Point) error {
					if hook == nil {
						return nil
					}
					return hook(p)
				}
			})
			hook = func(p Point) error {
				hit[p]++
				l.liveOn(string(p), copyDir(t, l.s.dir), hit)
				return nil
			}
			for i, step := range way {
				if err := step(l); err != nil {
					t.Fatalf("step %d: %v", i, err)
				}
			}
			if len(l.s.List()) != 0 || len(l.f.holding(l.data)) != 1 {
				t.Fatalf("%d uploads left, %d copies", len(l.s.List()), len(l.f.holding(l.data)))
			}
		})
	}
	for _, p := range Points() {
		if hit[p] == 0 {
			t.Errorf("no crash at %q", p)
		}
	}
}

// TestDiskFailsBetweenTheSteps makes every point of every way an error once, gives up
// there, and lives on in the next run.
func TestDiskFailsBetweenTheSteps(t *testing.T) {
	boom := errors.New("the disk failed")
	for name, way := range steps {
		for _, at := range Points() {
			t.Run(name+"/"+string(at), func(t *testing.T) {
				failed := false
				l := &life{t: t, f: newFake()}
				l.s, _ = open(t, t.TempDir(), func(o *Options) {
					o.JournalSize = 64 << 10
					o.Fault = func(p Point) error {
						if p != at || failed || l.s == nil {
							return nil
						}
						failed = true
						return boom
					}
				})
				for _, step := range way {
					if err := step(l); err != nil {
						if !failed {
							t.Fatal(err)
						}
						break
					}
				}
				must(t, l.s.Close())
				l.liveOn("after the error", l.s.dir, map[Point]int{})
			})
		}
	}
}

// liveOn opens the spool in dir, with crashes during recovery of its own, and does what a
// mount and a person would: deliver what was begun, retry what failed. In the end the
// archive has the data once.
func (l *life) liveOn(at, dir string, hit map[Point]int) {
	l.t.Helper()
	archived := l.f.snapshot()
	s, _ := open(l.t, dir, func(o *Options) {
		o.Fault = func(p Point) error {
			if hit[p] < 200 && (p == PointRecover || p == PointRecovered || p == PointSwept) {
				hit[p]++
				l.finish(at+"/"+string(p), copyDir(l.t, dir), archived.snapshot())
			}
			return nil
		}
	})
	must(l.t, s.Close())
	l.finish(at, dir, archived)
}

func (l *life) finish(at, dir string, archived *fakeArchive) {
	l.t.Helper()
	s, _ := open(l.t, dir)
	for _, u := range s.List() {
		r := u.Record()
		if u.State() == Unusable {
			l.t.Fatalf("%s: a record cannot be read: %s", at, u.Record().Reason)
		}
		if r.State == Created || r.State.Due() {
			l.t.Fatalf("%s: an unfinished file is not failed", at)
		}
		if r.State == Confirmed {
			must(l.t, u.Remove())
			continue
		}
		if u.Size() == 0 {
			continue
		}
		switch r.State {
		case Failed, Lost:
			if r.Reason == "" {
				l.t.Fatalf("%s: failed without a reason", at)
			}
			must(l.t, u.Retry(true))
		case Local:
			must(l.t, commit(u))
		default:
		}
		if _, err := Deliver(l.t.Context(), u, archived, nil); err != nil {
			l.t.Fatalf("%s: %v", at, err)
		}
		must(l.t, u.Remove())
	}
	if n := len(archived.holding(l.data)); l.data != "" && n != 1 {
		l.t.Fatalf("%s: the archive has %d copies", at, n)
	}
	if len(archived.docs) > 1 {
		l.t.Fatalf("%s: the archive has %d documents", at, len(archived.docs))
	}
	left := len(s.List())
	must(l.t, s.Close())
	if left > 0 {
		return
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		l.t.Fatalf("%s: left behind %v, %v", at, entries, err)
	}
}

// copyDir is dir as a crash at this moment leaves it. It begins anew when a file of a removed upload
// has gone before it was copied.
func copyDir(t *testing.T, dir string) string {
	t.Helper()
	for {
		to := filepath.Join(t.TempDir(), "spool")
		err := os.CopyFS(to, os.DirFS(dir))
		if !errors.Is(err, fs.ErrNotExist) {
			must(t, err)
			return to
		}
	}
}
