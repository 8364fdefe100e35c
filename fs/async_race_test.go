package fs_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/fs"
	"github.com/archivefs/archivefs/internal/testing/hostile"
)

// moments are states of an accepted file in which another program opens it. Each prepares the
// service, and returns how to wait for that state and how to let the upload continue.
var moments = map[string]func(*testing.T, *async) (reached func(path string), goOn func()){
	"closed":        func(*testing.T, *async) (func(string), func()) { return func(string) {}, func() {} },
	"sending":       atGate(hostile.StallBefore),
	"archived":      atGate(hostile.StallAfter),
	"waiting":       answered(hostile.Always, 429, func(u fs.UploadInfo) bool { return u.Waits }),
	"being refused": answered(1, 400, func(fs.UploadInfo) bool { return true }),
	"refused":       answered(1, 400, func(u fs.UploadInfo) bool { return u.State == "failed" }),
}

func atGate(stall func(*hostile.Gate) hostile.Action) func(*testing.T, *async) (func(string), func()) {
	return func(_ *testing.T, a *async) (func(string), func()) {
		gate := hostile.NewGate()
		a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: 1, Do: stall(gate)})
		return func(string) { <-gate.Arrived() }, gate.Open
	}
}

func answered(times, status int, so func(fs.UploadInfo) bool) func(*testing.T, *async) (func(string), func()) {
	return func(t *testing.T, a *async) (func(string), func()) {
		a.Fault(hostile.Fault{Method: "POST", Path: "/file-upload", Times: times, Do: hostile.Answer(status, "no")})
		return func(path string) {
			heals(t, "it was tried", func() bool { return so(a.upload(a.inTree(path))) })
		}, a.ClearFaults
	}
}

// inTree returns the path of a file as `uploads` shows it.
func (m *mounted) inTree(path string) string { return strings.TrimPrefix(path, m.dir+"/") }

// pieces are three distinguishable texts. Two are longer than a page.
func pieces(letter string) []string {
	return []string{strings.Repeat(letter+"0", 2500), strings.Repeat(letter+"1", 100), strings.Repeat(letter+"2", 2500)}
}

// puts returns steps that write the texts one after the other, from an offset on.
func puts(off int64, texts []string) (steps []step) {
	for _, s := range texts {
		steps = append(steps, step{off, s})
		off += int64(len(s))
	}
	return steps
}

// byAnother is a change by another program, and the content that results.
type byAnother struct {
	job  job
	want string
}

// changes are the changes to a file with the content first, by the texts of second.
func changes(path, first string, second []string) map[string]byAnother {
	whole := strings.Join(second, "")
	return map[string]byAnother{
		"appends":             {job{Path: path, Flags: os.O_WRONLY | os.O_APPEND, Steps: puts(0, second)}, first + whole},
		"writes the begin":    {job{Path: path, Flags: os.O_WRONLY, Steps: puts(0, second[:2])}, second[0] + second[1] + first[len(second[0]+second[1]):]},
		"overwrites":          {job{Path: path, Flags: os.O_WRONLY | os.O_TRUNC, Steps: puts(0, second)}, whole},
		"empties and writes":  {job{Path: path, Flags: os.O_RDWR, Steps: append([]step{{}}, puts(0, second)...)}, whole},
		"shortens and writes": {job{Path: path, Flags: os.O_RDWR, Steps: append([]step{{Off: 10}}, puts(10, second)...)}, first[:10] + whole},
		"truncates":           {job{Path: path, Flags: byPath, Steps: []step{{Off: 7}}}, first[:7]},
		"opens":               {job{Path: path, Flags: os.O_RDWR}, first},
	}
}

// Another program changes a file during its upload. The change takes effect completely, or its
// first step is refused; then the file is archived as it was accepted. At whatever moment the
// program and a retry come, the file is archived once, or stays as failed.
func TestAnotherProgramChangesAQueuedFile(t *testing.T) {
	for name, begin := range moments {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAsync(t, hostile.Config{})
			one, other := startProgram(t), startProgram(t)
			first := strings.Join(pieces("a"), "")
			for round := range 2 {
				for what := range changes("", first, pieces("b")) {
					for dir, folder := range map[string]int64{a.letters: a.foreign.letters, a.inbox: a.foreign.inbox} {
						path := filepath.Join(dir, fmt.Sprintf("%s %d.txt", what, round))
						c := changes(path, first, pieces("b"))[what]
						c.job.Yields = 1 << rand.IntN(12)
						reached, goOn := begin(t, a)
						if d := one.does(job{Path: path, Flags: os.O_WRONLY | os.O_CREATE | os.O_EXCL, Steps: puts(0, pieces("a"))}); !d.ok() {
							t.Fatalf("%s: %+v", path, d)
						}
						reached(path)
						d := a.changedAtOnce(other, c.job, goOn)
						if !d.ok() {
							c.want = first
							if d.Done > 0 || d.Close != 0 {
								t.Errorf("%s: refused in the middle: %+v", path, d)
							}
						}
						if got := a.rested(t, folder, path); got != c.want {
							t.Errorf("%s: %+v; it holds %d bytes %.20q, want %d bytes %.20q", path, d, len(got), got, len(c.want), c.want)
						}
						a.ClearFaults()
					}
				}
			}
		})
	}
}

// changedAtOnce runs a job while the file is retried and its upload continues.
func (a *async) changedAtOnce(p *program, j job, goOn func()) (d told) {
	var wg sync.WaitGroup
	wg.Go(func() { d = p.does(j) })
	wg.Go(func() {
		for range 3 {
			yield(1 << 10)
			_ = setAttr(j.Path, "retry", "true") // refused during the change, and once archived
		}
	})
	wg.Go(func() { yield(1 << 10); goOn() })
	wg.Wait()
	return d
}

// rested waits until a file is archived or has failed, and returns its content. It fails the test
// if the file exists twice.
func (a *async) rested(t *testing.T, folder int64, path string) string {
	t.Helper()
	var got []string
	heals(t, "it is archived, or fails: "+path, func() bool {
		got = nil
		for _, u := range a.uploads() { // before the documents, or a replaced one could have its old content
			switch {
			case u.Path != a.inTree(path):
			case u.State == "pending":
				_ = a.retryNow(u) // it may be archived by now
				return false
			default:
				got = append(got, string(get(os.ReadFile(a.kept(u)))(t)))
			}
		}
		for _, doc := range a.Documents(folder) {
			if doc.Name == filepath.Base(path) {
				got = append(got, string(doc.Content))
			}
		}
		return len(got) > 0
	})
	if len(got) > 1 {
		t.Errorf("%s is there %d times", path, len(got))
	}
	return got[0]
}

// Programs write to one file at the same time. The file has everything that a program wrote, or its
// first write was refused.
func TestProgramsAppendToOneFileAtOnce(t *testing.T) {
	for name, asks := range map[string]bool{"async": true, "sync": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAsyncWith(t, hostile.Config{}, func(o *fs.Options) { o.Async = asks })
			programs := map[string]*program{"a": startProgram(t), "b": startProgram(t), "c": startProgram(t)}
			for round := range 40 {
				dir, folder := a.letters, a.foreign.letters
				if round%4 == 3 {
					dir, folder = a.inbox, a.foreign.inbox
				}
				path := filepath.Join(dir, fmt.Sprintf("%d.txt", round))
				write(t, path, "")
				outcomes := make(chan func(got string), len(programs))
				for letter, p := range programs {
					go func() {
						d := p.does(job{Path: path, Flags: os.O_WRONLY | os.O_APPEND, Steps: puts(0, pieces(letter)), Yields: 1 << rand.IntN(12)})
						outcomes <- func(got string) { d.wantIn(t, path, got, letter) }
					}()
				}
				var checks []func(string)
				for range programs {
					checks = append(checks, <-outcomes)
				}
				got := a.rested(t, folder, path)
				for _, check := range checks {
					check(got)
				}
			}
		})
	}
}

// wantIn fails the test unless a file has all bytes of a program that succeeded, or none of one
// that was refused.
func (d told) wantIn(t *testing.T, path, got, letter string) {
	t.Helper()
	all := !slices.ContainsFunc(pieces(letter), func(s string) bool { return strings.Count(got, s) != 1 })
	none := !strings.Contains(got, letter)
	if d.ok() != all || !d.ok() && (d.Done > 0 || d.Close != 0 || !none) {
		t.Errorf("%s: %s was told %+v; all of it is there: %t, nothing: %t", path, letter, d, all, none)
	}
}

// A write that fails for lack of room does not affect an accepted file.
func TestNoRoomToChangeAQueuedFile(t *testing.T) {
	text := strings.Repeat("x", 1000)
	for name, c := range map[string]job{
		"append":                {Flags: os.O_WRONLY | os.O_APPEND, Steps: []step{{0, text}}},
		"write":                 {Flags: os.O_WRONLY, Steps: []step{{0, text}}},
		"write far behind":      {Flags: os.O_RDWR, Steps: []step{{3 << 20, "x"}}},
		"lengthen":              {Flags: os.O_RDWR, Steps: []step{{Off: 3 << 20}}},
		"lengthen, by its name": {Flags: byPath, Steps: []step{{Off: 3 << 20}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := newAsyncWith(t, hostile.Config{}, func(o *fs.Options) { o.Spool = smallSpool(t, o) })
			a.Fault(hostile.Fault{Method: "POST", Times: hostile.Always, Do: hostile.Answer(429, "slow down")})
			c.Path = filepath.Join(a.letters, "a.txt")
			write(t, c.Path, "Inhalt")
			write(t, filepath.Join(a.letters, "most of the room.txt.part"), strings.Repeat("x", 2<<20-100))
			if d := startProgram(t).does(c); d.Step != syscall.ENOSPC && d.Open != syscall.ENOSPC || d.Close != 0 {
				t.Errorf("%+v", d)
			}
			if got := attr(t, c.Path, "state"); got != "pending" {
				t.Errorf("state is %q", got)
			}
			a.ClearFaults()
			a.sends()
			a.wantHolds(t, a.foreign.letters, "a.txt=Inhalt")
		})
	}
}

// If a program fails while writing, the writes of other programs to the file are lost, too, and
// they get an error at close at the latest. A program that has written nothing loses nothing.
func TestAnotherProgramFails(t *testing.T) {
	half, large := step{0, "half"}, step{0, strings.Repeat("x", 3<<20)}
	tests := map[string]struct {
		steps  []step
		killed bool
		fails  bool // the next write or the close fails
	}{
		"killed":                 {[]step{half}, true, true},
		"killed before it wrote": {nil, true, false},
		"without room":           {[]step{half, large}, false, true},
	}
	for name, tt := range tests {
		for _, accepted := range []string{"", "accepted "} {
			t.Run(name+"/"+accepted, func(t *testing.T) {
				t.Parallel()
				a := newAsyncWith(t, hostile.Config{}, func(o *fs.Options) { o.Spool = smallSpool(t, o) })
				path := filepath.Join(a.letters, "a.txt")
				w := get(os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600))(t)
				get(w.WriteString("first "))(t)
				j := job{Path: path, Flags: os.O_WRONLY | os.O_APPEND}
				if accepted != "" {
					j.Steps = []step{{0, accepted}}
					if d := startProgram(t).does(j); !d.ok() {
						t.Errorf("%+v", d)
					}
				}
				j.Steps = tt.steps
				if tt.killed {
					startProgram(t).dies(j)
				} else if d := startProgram(t).does(j); d.ok() {
					t.Error("there was room")
				}
				_, err := w.WriteString("second")
				if err := errors.Join(err, w.Close()); (err != nil) != tt.fails {
					t.Errorf("the others are told %v", err)
				}
				want := []string{}
				if !tt.fails {
					want = append(want, "a.txt=first "+accepted+"second")
					heals(t, "the end of the writing is known", func() bool { // a program that just begins has the file for a moment
						return len(a.uploads())+len(a.Documents(a.foreign.letters)) > 0
					})
				}
				a.sends()
				a.wantHolds(t, a.foreign.letters, want...)
				if ups := a.uploads(); len(ups) != 1-len(want) {
					t.Errorf("uploads: %+v", ups)
				}
			})
		}
	}
}
