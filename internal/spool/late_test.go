package spool

import (
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
	_, err := s.Deliver(t.Context(), u, f, nil)
	if archive.KindOf(err) != archive.KindTimeout || f.sends() != 1 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
	if r := u.Record(); r.State != Failed || !r.Doubtful || !strings.Contains(r.Reason, "may still") {
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
				_, err := s.DeliverWith(t.Context(), u, f, nil, policy)
				if archive.KindOf(err) != archive.KindTimeout || u.State() != Sending || f.sends() != 1 {
					t.Fatalf("%v, %s, %d sends", err, u.State(), f.sends())
				}
			}
			want := archive.ID(0)
			if arrives {
				want = f.add(u.Record().SentFolder, u.Record().SentName, u.Record().SentID, billBytes)
			}
			must(t, clock.sleep(t.Context(), time.Minute))
			id, err := s.DeliverWith(t.Context(), u, f, nil, policy)
			if err != nil || arrives && id != want {
				t.Fatalf("document %d, %v; want %d", id, err, want)
			}
			if n := len(f.holding(billBytes)); n != 1 {
				t.Fatalf("%d documents", n)
			}
		})
	}
}

func TestWhatWasCutOffIsNotRepeatedWhileItMayArrive(t *testing.T) {
	dir := t.TempDir()
	s, _ := open(t, dir, lateBy)
	u := inState(t, s, Sending)
	must(t, u.Update(func(r *Record) { r.Queued = true }))
	s = reopen(t, s, lateBy)
	u = again(t, s, u)
	f := newFake()
	policy := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
	if _, err := s.DeliverWith(t.Context(), u, f, nil, policy); err == nil || f.sends() != 0 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
	wantState(t, u, Sending)
	must(t, s.opts.Sleep(t.Context(), time.Minute))
	if _, err := s.DeliverWith(t.Context(), u, f, nil, policy); err != nil || f.sends() != 1 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
}

func TestFolderIsNotAskedForAgainWhileItMayBeMade(t *testing.T) {
	s, clock := open(t, t.TempDir(), lateBy)
	u := queuedFolder(t, s, false)
	m := &fakeMaker{script: []outcome{{commit: true, late: 10, err: kindErr(archive.KindTimeout)}}}
	policy := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
	if _, err := s.DeliverFolder(t.Context(), u, m, policy); err == nil || u.State() != Sending || m.made != 1 {
		t.Fatalf("%v, %s, made %d times", err, u.State(), m.made)
	}
	m.hidden = 0
	must(t, clock.sleep(t.Context(), time.Minute))
	if _, err := s.DeliverFolder(t.Context(), u, m, policy); err != nil || m.made != 1 {
		t.Fatalf("%v, made %d times", err, m.made)
	}
}
