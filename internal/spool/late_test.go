package spool

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// A service that did not answer in time, or that was left by a program that ended, may take
// what was sent later than it is looked for: until that is over nothing is sent again.

func lateBy(o *Options) { o.LateBy = time.Minute }

func TestTimeOutIsNotRepeatedWhileItMayArrive(t *testing.T) {
	s, _ := open(t, t.TempDir(), lateBy)
	f := newFake(outcome{err: kindErr(archive.KindTimeout)})
	u := committed(t, s, lateBill(), billBytes)
	_, err := Deliver(t.Context(), u, f, nil)
	if archive.KindOf(err) != archive.KindTimeout || f.sends() != 1 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
	if r := u.Record(); r.State != Lost || !r.Doubtful || !strings.Contains(r.Reason, "may still") {
		t.Fatalf("%+v", r)
	}
}

func TestQueueWaitsForWhatMayArriveLate(t *testing.T) {
	for name, arrives := range map[string]bool{"arrives": true, "is lost": false} {
		t.Run(name, func(t *testing.T) {
			s, clock := open(t, t.TempDir(), lateBy)
			f := newFake(outcome{err: kindErr(archive.KindTimeout)})
			u := queued(t, s, billBytes)
			policy := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
			for range 2 {
				_, err := DeliverWith(t.Context(), u, f, nil, policy)
				if archive.KindOf(err) != archive.KindTimeout || u.State() != Delivering || f.sends() != 1 {
					t.Fatalf("%v, %s, %d sends", err, u.State(), f.sends())
				}
			}
			want := archive.ID(0)
			if arrives {
				want = f.add(u.Record().SentFolder, u.Record().SentName, u.Record().SentID, billBytes)
			}
			must(t, clock.sleep(t.Context(), time.Minute))
			id, err := DeliverWith(t.Context(), u, f, nil, policy)
			if err != nil || arrives && id != want {
				t.Fatalf("document %d, %v; want %d", id, err, want)
			}
			if n := len(f.holding(billBytes)); n != 1 {
				t.Fatalf("%d documents", n)
			}
		})
	}
}

// What is sent once more is looked for as long as what was sent before, so that a service which
// answers again soon after is not taken for one that is away.
func TestWhatIsSentOnceMoreIsLookedForAsLong(t *testing.T) {
	s, clock := open(t, t.TempDir(), lateBy)
	f := newFake(outcome{err: kindErr(archive.KindTimeout)})
	u := queued(t, s, billBytes)
	policy := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
	_, err := DeliverWith(t.Context(), u, f, nil, policy)
	if !Unanswered(err) {
		t.Fatal(err)
	}
	must(t, clock.sleep(t.Context(), time.Minute))
	f.script = []outcome{{err: kindErr(archive.KindTimeout), then: func() {
		must(t, clock.sleep(t.Context(), time.Minute)) // it takes longer than RetryFor
		f.lists = []error{kindErr(archive.KindUnreachable)}
	}}}
	if _, err = DeliverWith(t.Context(), u, f, nil, policy); !Unanswered(err) || f.sends() != 2 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
}

func TestWhatWasCutOffIsNotRepeatedWhileItMayArrive(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, lateBy)
	u := inState(t, s, Delivering)
	s = reopen(t, s, lateBy)
	u = again(t, s, u)
	f := newFake()
	policy := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
	if _, err := DeliverWith(t.Context(), u, f, nil, policy); err == nil || f.sends() != 0 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
	wantState(t, u, Delivering)
	must(t, s.opts.Sleep(t.Context(), time.Minute))
	if _, err := DeliverWith(t.Context(), u, f, nil, policy); err != nil || f.sends() != 1 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
}

func TestFolderIsNotAskedForAgainWhileItMayBeMade(t *testing.T) {
	s, clock := open(t, t.TempDir(), lateBy)
	u := queuedFolder(t, s, false)
	m := &fakeMaker{script: []outcome{{commit: true, late: 10, err: kindErr(archive.KindTimeout)}}}
	policy := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
	if _, err := DeliverFolder(t.Context(), u, m, policy); err == nil || u.State() != Delivering || m.made != 1 {
		t.Fatalf("%v, %s, made %d times", err, u.State(), m.made)
	}
	m.hidden = 0
	must(t, clock.sleep(t.Context(), time.Minute))
	if _, err := DeliverFolder(t.Context(), u, m, policy); err != nil || m.made != 1 {
		t.Fatalf("%v, made %d times", err, m.made)
	}
}

// A replacement that may still arrive would undo the next one: that waits.
func TestReplacementWaitsForAnEarlierOneThatMayArriveLate(t *testing.T) {
	scan := func(doc archive.ID) Record { return Record{Folder: 9, Inbox: true, Name: "scan.pdf", Replace: doc} }
	for name, end := range map[string]func(*testing.T, *Spool, *fakeArchive, *Upload) (*Spool, *Upload){
		"not answered in time": func(t *testing.T, s *Spool, f *fakeArchive, first *Upload) (*Spool, *Upload) {
			f.script = []outcome{{err: kindErr(archive.KindTimeout)}}
			if _, err := Deliver(t.Context(), first, f, nil); err == nil {
				t.Fatal("a request without an answer succeeded")
			}
			return s, committed(t, s, scan(first.Record().Replace), "the second")
		},
		"not answered in time, and the same file": func(t *testing.T, s *Spool, f *fakeArchive, first *Upload) (*Spool, *Upload) {
			f.script = []outcome{{err: kindErr(archive.KindTimeout)}}
			if _, err := Deliver(t.Context(), first, f, nil); err == nil {
				t.Fatal("a request without an answer succeeded")
			}
			must(t, first.Reopen())
			must(t, first.Truncate(0))
			if _, err := first.WriteAt([]byte("the second"), 0); err != nil {
				t.Fatal(err)
			}
			must(t, commit(first))
			return s, first
		},
		"cut off": func(t *testing.T, s *Spool, _ *fakeArchive, first *Upload) (*Spool, *Upload) {
			d := delivery{u: first}
			must(t, d.prepare(t.Context()))
			s = reopen(t, s, lateBy)
			return s, committed(t, s, scan(first.Record().Replace), "the second")
		},
		"cut off with the machine": func(t *testing.T, s *Spool, _ *fakeArchive, first *Upload) (*Spool, *Upload) {
			s = reopen(t, s, lateBy, func(o *Options) { o.Boot = "another" })
			return s, committed(t, s, scan(first.Record().Replace), "the second")
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFake()
			doc := f.add(9, "scan.pdf", "", "at the beginning")
			s, _ := open(t, t.TempDir(), lateBy)
			first := committed(t, s, scan(doc), "the first")
			s, second := end(t, s, f, first)
			f.script = nil
			sleep, arrived := s.opts.Sleep, false
			arrive := func() {
				if !arrived {
					f.findLocked(doc).bytes, arrived = []byte("the first"), true
				}
			}
			s.opts.Sleep = func(ctx context.Context, d time.Duration) error {
				arrive()
				return sleep(ctx, d)
			}
			if _, err := Deliver(t.Context(), second, f, nil); err != nil {
				t.Fatal(err)
			}
			arrive()
			if got := string(f.findLocked(doc).bytes); got != "the second" {
				t.Errorf("the document holds %q", got)
			}
			if other := committed(t, s, scan(doc+1), "of another document"); s.lateReplacement(other.Record().Replace) > 0 {
				t.Error("another document waits, too")
			}
		})
	}
}
