package spool

import (
	"context"
	"errors"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
)

// on names the run of the machine.
func on(boot string) func(*Options) { return func(o *Options) { o.Boot = boot } }

// A file whose close archives it is not synced: nobody was told anything before.
func TestAForegroundUploadIsVolatile(t *testing.T) {
	s, _ := open(t, t.TempDir(), on("one"))
	f := newFake()
	u := create(t, s, lateBill(), billBytes)
	volatile := func(when string, want bool) {
		t.Helper()
		if _, durable := lastOnDisk(t, s, u.ID()); durable == want || isDurable(u) == want {
			t.Errorf("%s: durable on disk %v, here %v; want volatile %v", when, durable, isDurable(u), want)
		}
	}
	volatile("created", true)
	must(t, commit(u))
	volatile("committed", true)
	f.script = []outcome{{commit: true, then: func() { volatile("sending", true) }}}
	if _, err := Deliver(t.Context(), u, f, nil); err != nil {
		t.Fatal(err)
	}
	volatile("confirmed", true)
	must(t, u.Remove())
}

// An archived upload that cannot be removed is known to be archived after a crash of the machine: its
// document may have another name by then.
func TestAVolatileUploadThatCannotBeRemovedBecomesDurable(t *testing.T) {
	s, _ := open(t, t.TempDir(), on("one"), func(o *Options) {
		o.Fault = func(p Point) error {
			if p == PointRemove {
				return syscall.EIO
			}
			return nil
		}
	})
	u := create(t, s, lateBill(), billBytes)
	must(t, commit(u))
	if _, err := Deliver(t.Context(), u, newFake(), nil); err != nil {
		t.Fatal(err)
	}
	if err := u.Remove(); !errors.Is(err, syscall.EIO) {
		t.Errorf("removed: %v", err)
	}
	if r := u.Record(); r.State != Confirmed || !isDurable(u) {
		t.Errorf("%s, durable is %v", r.State, isDurable(u))
	}
}

// What is told, or may not be known any more, is durable from then on.
func TestAVolatileUploadBecomesDurable(t *testing.T) {
	tests := map[string]func(*Upload) error{
		"synced":   syncIt,
		"kept":     keep,
		"failed":   func(u *Upload) error { return u.Fail("because", false) },
		"answered": promise,
		"queued":   func(u *Upload) error { return enqueue(u) },
		"refused":  sendTo(outcome{err: kindErr(archive.KindForbidden)}),
		"in doubt": sendTo(outcome{commit: true, err: kindErr(archive.KindInterrupted)}),
		"no id":    sendTo(outcome{commit: true, noID: true}),
	}
	for name, do := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, t.TempDir(), on("one"))
			u := create(t, s, lateBill(), billBytes)
			must(t, do(u))
			if !isDurable(u) {
				t.Fatal("it is volatile")
			}
			must(t, u.Update(func(r *Record) { r.Path += "/x" }))
			if _, durable := lastOnDisk(t, s, u.ID()); !durable {
				t.Error("a record that is durable was followed by one that is not")
			}
			s = reopen(t, s, on("two"))
			if r := again(t, s, u); r.State() == Unusable {
				t.Error(r.Record().Reason)
			}
		})
	}
}

// sendTo commits an upload and delivers it to a service that answers so.
func sendTo(answer outcome) func(*Upload) error {
	return func(u *Upload) error {
		if err := commit(u); err != nil {
			return err
		}
		_, _ = Deliver(context.Background(), u, newFake(answer), nil) // the record tells
		return nil
	}
}

// The end of the program leaves the records as they are; that of the machine may leave older ones, of what the
// archive has, so that nothing is made of them.
func TestVolatileAfterARestart(t *testing.T) {
	for _, state := range []State{Created, Committed, Sending} {
		for _, boot := range []string{"one", "two"} {
			t.Run(string(state)+" in run "+boot, func(t *testing.T) {
				s, _ := open(t, t.TempDir(), on("one"))
				u := create(t, s, lateBill(), billBytes)
				if state != Created {
					must(t, commit(u))
				}
				f := newFake(outcome{commit: true, then: func() { s = reopen(t, s, on(boot)) }})
				if state == Sending {
					_, _ = Deliver(t.Context(), u, f, nil) // by a program that is killed
				} else {
					s = reopen(t, s, on(boot))
				}
				if boot == "two" {
					s = reopen(t, s, on(boot))
					if list := s.List(); len(list) > 0 {
						t.Errorf("it is there: %+v", list[0].Record())
					}
					left := newLeft()
					done, err := journal.Read(s.dir, left.replay)
					must(t, err)
					done()
					if len(left.uploads) > 0 {
						t.Error("the next start finds it again")
					}
					return
				}
				u = again(t, s, u)
				if want := map[State]State{Created: Lost, Committed: Committed, Sending: Sending}[state]; u.State() != want || !isDurable(u) {
					t.Errorf("it is %s, durable is %v; want %s, durable", u.State(), isDurable(u), want)
				}
			})
		}
	}
}

// A spool that is closed leaves nothing that is lost when the machine is switched off.
func TestCloseSyncsWhatIsVolatile(t *testing.T) {
	s, _ := open(t, t.TempDir(), on("one"))
	u := create(t, s, lateBill(), billBytes)
	must(t, s.Close())
	s, _ = open(t, s.dir, on("two"))
	if u = again(t, s, u); u.State() == Unusable || u.Retry(true) != nil {
		t.Errorf("it cannot be retried: %+v", u.Record())
	}
}

func TestWithoutARunOfTheMachineEverythingIsSynced(t *testing.T) {
	s, _ := open(t, t.TempDir())
	s.opts.Boot = ""
	if u := committed(t, s, lateBill(), billBytes); !isDurable(u) {
		t.Error("a crash of the machine could not be told from one of the program")
	}
}
