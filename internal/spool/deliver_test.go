package spool

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

const billBytes = "%PDF-1.7 a bill"

func TestDeliverOutcomes(t *testing.T) {
	lost, timeout, broken := kindErr(archive.KindInterrupted), kindErr(archive.KindTimeout), kindErr(archive.KindServer)
	away := kindErr(archive.KindUnreachable)
	tests := []struct {
		name   string
		change func(*fakeArchive)
		script []outcome
		state  State
		sends  int
		copies int
		doubt  bool
		kind   archive.Kind
		reason string
	}{
		{name: "accepted", script: []outcome{{commit: true}}, state: Confirmed, sends: 1, copies: 1},
		{name: "accepted without an id", script: []outcome{{commit: true, noID: true}}, state: Confirmed, sends: 1, copies: 1},
		{name: "lost after the commit", script: []outcome{{commit: true, err: lost}}, state: Confirmed, sends: 1, copies: 1},
		{name: "lost before the commit", script: []outcome{{err: lost}}, state: Confirmed, sends: 2, copies: 1},
		{name: "timed out, commit seen by the second look", script: []outcome{{commit: true, late: 1, err: timeout}}, state: Confirmed, sends: 1, copies: 1},
		{name: "timed out, commit seen late", script: []outcome{{commit: true, late: 3, err: timeout}}, state: Confirmed, sends: 1, copies: 1},
		{name: "server error after the commit", script: []outcome{{commit: true, err: broken}}, state: Confirmed, sends: 1, copies: 1},
		{name: "unexpected answer after the commit", script: []outcome{{commit: true, err: kindErr(archive.KindProtocol)}}, state: Confirmed, sends: 1, copies: 1},
		{name: "busy then accepted", script: []outcome{{err: &archive.Error{Kind: archive.KindBusy, RetryAfter: 20 * time.Second}}}, state: Confirmed, sends: 2, copies: 1},
		{
			name: "busy for too long", script: []outcome{{err: &archive.Error{Kind: archive.KindBusy, RetryAfter: time.Hour}}},
			state: Lost, sends: 1, doubt: true, kind: archive.KindBusy, reason: "did not arrive",
		},
		{
			name: "fails for ever", script: []outcome{{err: broken}, {err: broken}, {err: broken}, {err: broken}, {err: broken}},
			state: Lost, sends: 2, doubt: true, kind: archive.KindServer, reason: "did not arrive",
		},
		{
			name: "refused after a doubtful end", script: []outcome{{err: lost}, {err: kindErr(archive.KindForbidden)}},
			state: Lost, sends: 2, doubt: true, kind: archive.KindForbidden,
		},
		{
			name: "the look fails too", script: []outcome{{commit: true, err: lost}},
			change: func(f *fakeArchive) { f.lists = []error{nil, away, away, away, away, away, away, away} },
			state:  Lost, sends: 1, copies: 1, doubt: true, kind: archive.KindInterrupted, reason: "and the archive could not be asked",
		},
		{
			name: "the folder is gone", script: []outcome{{err: lost}},
			change: func(f *fakeArchive) { f.lists = []error{nil, kindErr(archive.KindNotFound)} },
			state:  Lost, sends: 1, doubt: true, kind: archive.KindInterrupted, reason: "may be archived already",
		},
		{
			name: "the look recovers", script: []outcome{{commit: true, err: lost}},
			change: func(f *fakeArchive) { f.lists = []error{nil, away, away} },
			state:  Confirmed, sends: 1, copies: 1,
		},
		{
			name: "document data recovers", script: []outcome{{commit: true, err: lost}},
			change: func(f *fakeArchive) { f.data = []error{away} },
			state:  Confirmed, sends: 1, copies: 1,
		},
		{
			name: "no external id shown, equal content", script: []outcome{{commit: true, err: lost}},
			change: func(f *fakeArchive) { f.hideIDs = true },
			state:  Lost, sends: 1, copies: 1, doubt: true, kind: archive.KindInterrupted, reason: "may be archived already, as document 102",
		},
		{
			name: "only the eight operations, no external id", script: []outcome{{commit: true, err: lost}},
			change: func(f *fakeArchive) { f.hideIDs, f.content = true, kindErr(archive.KindUnsupported) },
			state:  Lost, sends: 1, copies: 1, doubt: true, kind: archive.KindInterrupted, reason: "may be archived already",
		},
		{
			name: "document data missing", script: []outcome{{commit: true, err: lost}},
			change: func(f *fakeArchive) { f.noData = true },
			state:  Lost, sends: 1, copies: 1, doubt: true, kind: archive.KindInterrupted, reason: "may be archived already",
		},
		{
			name: "the listing cannot be had before", change: func(f *fakeArchive) { f.lists = []error{away} },
			state: Lost, kind: archive.KindUnreachable, reason: "before sending",
		},
		{
			name: "the service shows another extension", script: []outcome{{commit: true, err: lost}},
			change: func(f *fakeArchive) { f.rename = func(s string) string { return strings.TrimSuffix(s, ".pdf") } },
			state:  Confirmed, sends: 1, copies: 1,
		},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			f := newFake(tc.script...)
			f.add(7, "Mahnung.pdf", "", "an older one of the same name")
			if tc.change != nil {
				tc.change(f)
			}
			s, _ := open(t, t.TempDir())
			u := committed(t, s, lateBill(), billBytes)
			id, err := Deliver(t.Context(), u, f, nil)
			r := u.Record()
			if r.State != tc.state || f.sends() != tc.sends || len(f.holding(billBytes)) != tc.copies || r.Doubtful != tc.doubt {
				t.Fatalf("state %s doubtful %v after %d sends with %d copies; want %s %v %d %d (%v)",
					r.State, r.Doubtful, f.sends(), len(f.holding(billBytes)), tc.state, tc.doubt, tc.sends, tc.copies, err)
			}
			if tc.state == Confirmed {
				if err != nil || id == 0 || id != r.Document || id != f.holding(billBytes)[0] {
					t.Fatalf("answered %d, %v; record %d", id, err, r.Document)
				}
				return
			}
			if archive.KindOf(err) != tc.kind || !strings.Contains(r.Reason, tc.reason) || r.Reason == "" {
				t.Fatalf("answered %v (%s), reason %q; want %s, %q", err, archive.KindOf(err), r.Reason, tc.kind, tc.reason)
			}
		})
	}
}

func TestDeliverRefusals(t *testing.T) {
	for kind := range archive.KindEnd {
		if archive.Doubtful(kindErr(kind)) {
			continue
		}
		t.Run(kind.String(), func(t *testing.T) {
			f := newFake(outcome{err: kindErr(kind)})
			s, c := open(t, t.TempDir())
			u := committed(t, s, lateBill(), billBytes)
			_, err := Deliver(t.Context(), u, f, nil)
			wantState(t, u, Lost)
			if archive.KindOf(err) != kind || u.Record().Doubtful || f.sends() != 1 || c.total() != 0 {
				t.Fatalf("%v, doubtful %v, %d sends, slept %v", err, u.Record().Doubtful, f.sends(), c.total())
			}
			must(t, u.Retry(false))
			if _, err := Deliver(t.Context(), u, f, nil); err != nil || len(f.holding(billBytes)) != 1 {
				t.Fatalf("retry: %v, %d copies", err, len(f.holding(billBytes)))
			}
		})
	}
}

func TestRepeatsCarryTheSameExternalID(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	f := newFake(outcome{err: lost})
	s, c := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	if _, err := Deliver(t.Context(), u, f, nil); err != nil {
		t.Fatal(err)
	}
	ids := f.sentIDs()
	if len(ids) != 2 || ids[0] != ids[1] || !generated(ids[0]) || u.Record().Attempts != 2 {
		t.Fatalf("external ids %q in %d attempts", ids, u.Record().Attempts)
	}
	if c.total() != s.opts.RetryFor/2 {
		t.Fatalf("repeated after %v, want half of the time there is", c.total())
	}
}

// TestCommitAfterTheLooks: a document that shows only after the repeat was begun is still
// ours, because external id and baseline stay those of the first attempt.
func TestCommitAfterTheLooks(t *testing.T) {
	lost := kindErr(archive.KindTimeout)
	f := newFake()
	s, _ := open(t, t.TempDir())
	looks := 0
	f.script = []outcome{{commit: true, late: 5, err: lost}, {err: lost, then: func() { looks = f.listed - 1 }}}
	u := committed(t, s, lateBill(), billBytes)
	id, err := Deliver(t.Context(), u, f, nil)
	if err != nil || f.sends() != 2 || len(f.holding(billBytes)) != 1 || id != f.holding(billBytes)[0] {
		t.Fatalf("document %d, %v, %d sends, %d copies", id, err, f.sends(), len(f.holding(billBytes)))
	}
	if looks != 5 {
		t.Fatalf("looked %d times before the repeat, so this tests nothing", looks)
	}
}

func TestRecordIsFixedBeforeTheFirstByte(t *testing.T) {
	f := newFake()
	old := f.add(7, "Mahnung.pdf", "", "old")
	f.add(7, "Brief.pdf", "", "not of that name")
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	var onDisk Record
	f.script = []outcome{{commit: true, then: func() {
		onDisk = onRecord(t, s, u.ID())
	}}}
	if _, err := Deliver(t.Context(), u, f, nil); err != nil {
		t.Fatal(err)
	}
	if onDisk.State != Sending || onDisk.SentID != f.sentIDs()[0] || len(onDisk.Baseline) != 1 || onDisk.Baseline[0] != old ||
		onDisk.SentSHA256 != sum(billBytes) {
		t.Fatalf("while sending the disk held %+v", onDisk)
	}
}

func TestSendingAfterARestart(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	for _, arrived := range []bool{true, false} {
		s, _ := open(t, t.TempDir())
		f := newFake(outcome{commit: arrived, err: lost})
		f.lists = []error{nil, kindErr(archive.KindUnreachable), kindErr(archive.KindUnreachable)}
		u := committed(t, s, lateBill(), billBytes)
		if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true}); err == nil {
			t.Fatal("confirmed without an answer")
		}
		wantState(t, u, Sending)
		f.lists = nil
		s = reopen(t, s)
		u = again(t, s, u)
		wantState(t, u, Sending)
		id, err := Deliver(t.Context(), u, f, func(context.Context) ([]*archive.Document, error) {
			t.Error("asked for a baseline that may hold the document itself")
			return nil, nil
		})
		if err != nil || len(f.holding(billBytes)) != 1 || id != f.holding(billBytes)[0] {
			t.Fatalf("arrived %v: %d, %v, %d copies", arrived, id, err, len(f.holding(billBytes)))
		}
	}
}

func TestResolveSendsNothing(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	for _, arrived := range []bool{true, false} {
		s, _ := open(t, t.TempDir())
		f := newFake(outcome{commit: arrived, err: lost})
		f.lists = []error{nil, lost, lost}
		u := committed(t, s, lateBill(), billBytes)
		if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true}); err == nil {
			t.Fatal("confirmed without an answer")
		}
		f.lists = nil
		s = reopen(t, s)
		u = again(t, s, u)
		id, err := Resolve(t.Context(), u, f, true)
		if f.sends() != 1 {
			t.Fatal("it was sent again")
		}
		if arrived && (err != nil || id != f.holding(billBytes)[0] || u.Record().State != Confirmed) {
			t.Fatalf("%d, %v, %s", id, err, u.Record().State)
		}
		if !arrived && (err == nil || u.Record().State != Lost || !u.Record().Doubtful) {
			t.Fatalf("%v, %+v", err, u.Record())
		}
	}
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	if _, err := Resolve(t.Context(), u, newFake(), true); err == nil || u.Record().State != Lost || u.Record().Doubtful {
		t.Fatalf("never sent: %v, %+v", err, u.Record())
	}
}

// What failed in doubt is looked for once, and is confirmed or stays what it was.
func TestResolveOfWhatFailedInDoubt(t *testing.T) {
	for _, arrived := range []bool{true, false} {
		s, _ := open(t, t.TempDir())
		f := newFake(outcome{commit: arrived, err: kindErr(archive.KindInterrupted)})
		f.lists = []error{nil, kindErr(archive.KindNotFound)}
		u := committed(t, s, lateBill(), billBytes)
		if _, err := Deliver(t.Context(), u, f, nil); err == nil || !u.Record().Doubtful {
			t.Fatal("no doubt")
		}
		before, listed := u.Record(), f.listed
		id, err := Resolve(t.Context(), u, f, true)
		if f.sends() != 1 || f.listed != listed+1 {
			t.Errorf("%d sends, %d listings", f.sends(), f.listed-listed)
		}
		switch r := u.Record(); {
		case arrived && (err != nil || id != f.holding(billBytes)[0] || r.State != Confirmed):
			t.Errorf("document %d, %v, %s", id, err, r.State)
		case !arrived && (err == nil || r.State != Lost || !r.Doubtful || r.Reason != before.Reason):
			t.Errorf("%v, %+v", err, r)
		}
	}
}

// While the service is away an upload waits for it, unless somebody else waits for the upload: for a moment in which it
// could be sent beside another one there is no room.
func TestResolveWhileTheServiceIsAway(t *testing.T) {
	for wait, want := range map[bool]State{true: Sending, false: Lost} {
		s, _ := open(t, t.TempDir())
		f := newFake(outcome{err: kindErr(archive.KindInterrupted)})
		u := committed(t, s, lateBill(), billBytes)
		_, _ = DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true})
		s = reopen(t, s)
		u = again(t, s, u)
		f.lists = slices.Repeat([]error{kindErr(archive.KindServer)}, 100)
		if _, err := Resolve(t.Context(), u, f, wait); err == nil || u.State() != want || !u.rec.Load().inDoubt() || f.sends() != 1 {
			t.Errorf("wait %v: %v, %s, sent %d times", wait, err, u.State(), f.sends())
		}
	}
}

func TestDoubtSurvivesAsLongAsTheBytes(t *testing.T) {
	f := newFake(outcome{commit: true, err: kindErr(archive.KindInterrupted)})
	f.lists = []error{nil, kindErr(archive.KindNotFound)}
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	if _, err := Deliver(t.Context(), u, f, nil); err == nil || !u.Record().Doubtful {
		t.Fatal("no doubt")
	}
	s = reopen(t, s)
	u = again(t, s, u)
	must(t, u.Reopen())
	must(t, u.Update(func(r *Record) { r.Name = "another name.pdf" }))
	must(t, commit(u))
	if _, err := Deliver(t.Context(), u, f, nil); err != nil || f.sends() != 1 || len(f.holding(billBytes)) != 1 {
		t.Fatalf("same bytes: %v, %d sends", err, f.sends())
	}
}

func TestOtherBytesAreAnotherDocument(t *testing.T) {
	f := newFake(outcome{commit: true, err: kindErr(archive.KindInterrupted)})
	f.lists = []error{nil, kindErr(archive.KindNotFound)}
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	if _, err := Deliver(t.Context(), u, f, nil); err == nil {
		t.Fatal("no doubt")
	}
	must(t, u.Reopen())
	if _, err := u.WriteAt([]byte("!"), u.Size()); err != nil {
		t.Fatal(err)
	}
	must(t, commit(u))
	if u.Record().Doubtful {
		t.Fatal("bytes that were never sent are in doubt")
	}
	if _, err := Deliver(t.Context(), u, f, nil); err != nil || len(f.holding(billBytes+"!")) != 1 {
		t.Fatalf("%v, %d copies", err, len(f.holding(billBytes+"!")))
	}
	if ids := f.sentIDs(); ids[0] == ids[1] {
		t.Fatal("two documents got the same external id")
	}
}

func TestQueueKeepsWhatTheServiceCannotTakeNow(t *testing.T) {
	s, _ := open(t, t.TempDir())
	f := newFake(outcome{err: kindErr(archive.KindUnreachable)}, outcome{err: kindErr(archive.KindForbidden)})
	u := committed(t, s, lateBill(), billBytes)
	queue := Policy{RetryFor: time.Second, Attempts: 2, Queue: true}
	if _, err := DeliverWith(t.Context(), u, f, nil, queue); archive.KindOf(err) != archive.KindUnreachable {
		t.Fatal(err)
	}
	if r := u.Record(); r.State != Committed || r.Doubtful || r.Reason == "" {
		t.Fatalf("%+v", r)
	}
	if _, err := DeliverWith(t.Context(), u, f, nil, queue); archive.KindOf(err) != archive.KindForbidden {
		t.Fatal(err)
	}
	wantState(t, u, Lost)
}

func TestQueuedIsKeptWhileItWaitsAndEndsWithFailure(t *testing.T) {
	s, _ := open(t, t.TempDir())
	f := newFake(outcome{err: kindErr(archive.KindUnauthorized)}, outcome{err: kindErr(archive.KindForbidden)})
	u := queued(t, s, billBytes)
	queue := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
	if _, err := DeliverWith(t.Context(), u, f, nil, queue); err == nil {
		t.Fatal("archived without credentials")
	}
	s = reopen(t, s)
	u = again(t, s, u)
	if r := u.Record(); r.State != Queued {
		t.Fatalf("not in the queue any more: %+v", r)
	}
	if _, err := DeliverWith(t.Context(), u, f, nil, queue); err == nil {
		t.Fatalf("%v, %+v", err, u.Record())
	}
	wantState(t, u, Failed)
	must(t, u.Retry(false))
	wantState(t, u, Queued)
}

func TestWhatCannotBeDecidedLeavesTheQueue(t *testing.T) {
	s, _ := open(t, t.TempDir())
	f := newFake(outcome{commit: true, err: kindErr(archive.KindServer)})
	f.hideIDs, f.content = true, kindErr(archive.KindUnsupported)
	u := committed(t, s, lateBill(), billBytes)
	queue := Policy{RetryFor: time.Second, Attempts: 2, Queue: true}
	_, err := DeliverWith(t.Context(), u, f, nil, queue)
	if err == nil || f.sends() != 1 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
	if r := u.Record(); r.State != Lost || !r.Doubtful || !strings.Contains(r.Reason, "may be archived") {
		t.Fatalf("%+v", r)
	}
}

func TestContextEnds(t *testing.T) {
	t.Run("before", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		s, _ := open(t, t.TempDir())
		f := newFake()
		u := committed(t, s, lateBill(), billBytes)
		_, err := Deliver(ctx, u, f, nil)
		if !errors.Is(err, context.Canceled) || f.sends() != 0 {
			t.Fatalf("%v, %d sends", err, f.sends())
		}
	})
	t.Run("while sending", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, _ := open(t, t.TempDir())
		f := newFake(outcome{commit: true, err: kindErr(archive.KindTimeout), then: cancel})
		u := committed(t, s, lateBill(), billBytes)
		if _, err := Deliver(ctx, u, f, nil); err != nil || u.Record().State != Confirmed {
			t.Fatalf("what arrived was not found: %v", err)
		}
	})
	t.Run("not repeated", func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s, _ := open(t, t.TempDir())
		f := newFake(outcome{err: kindErr(archive.KindTimeout), then: cancel})
		u := committed(t, s, lateBill(), billBytes)
		_, err := Deliver(ctx, u, f, nil)
		if err == nil || f.sends() != 1 || u.Record().State != Lost || !u.Record().Doubtful {
			t.Fatalf("%v, %d sends, %+v", err, f.sends(), u.Record())
		}
	})
}

func TestDeliverOnceForManyCallers(t *testing.T) {
	s, _ := open(t, t.TempDir())
	f := newFake()
	u := committed(t, s, lateBill(), billBytes)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if id, err := Deliver(context.Background(), u, f, nil); err != nil || id != 101 {
				t.Errorf("%d, %v", id, err)
			}
		})
	}
	wg.Wait()
	if f.sends() != 1 {
		t.Fatalf("sent %d times", f.sends())
	}
}

func TestNothingChangesWhileItIsSent(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	refused := map[string]func() error{}
	f := newFake(outcome{commit: true, then: func() {
		refused["reopen"] = u.Reopen
		refused["fail"] = func() error { return u.Fail("x", false) }
		refused["remove"] = u.Remove
		refused["rename"] = func() error { return u.Update(func(r *Record) { r.Name = "x" }) }
		refused["write"] = func() error { _, err := u.WriteAt([]byte("x"), 0); return err }
		for name, op := range refused {
			var state *StateError
			if err := op(); !errors.As(err, &state) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := u.Update(func(r *Record) { r.Mtime = time.Unix(1, 0) }); err != nil {
			t.Errorf("a time set while it is sent: %v", err)
		}
	}})
	if _, err := Deliver(t.Context(), u, f, nil); err != nil || len(refused) == 0 {
		t.Fatalf("%v, %d operations tried", err, len(refused))
	}
	if r := u.Record(); !r.Mtime.Equal(time.Unix(1, 0)) || r.Name != "Mahnung.pdf" {
		t.Fatalf("%+v", r)
	}
}

func TestDamagedDataIsNotSent(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	overwrite(t, s, billBytes, strings.ToUpper(billBytes))
	s = reopen(t, s)
	u = again(t, s, u)
	f := newFake()
	if _, err := Deliver(t.Context(), u, f, nil); err == nil || f.sends() != 0 {
		t.Fatalf("%v, %d sends", err, f.sends())
	}
	if r := u.Record(); r.State != Lost || !strings.Contains(r.Reason, "damaged") {
		t.Fatalf("%+v", r)
	}
}

// While it is sent an upload tells how much of it is on its way, and nothing after.
func TestSentWhileItIsSent(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "zehn Bytes")
	var under int64
	fake := newFake(outcome{err: kindErr(archive.KindInvalid), then: func() { under = u.Sent() }})
	if _, err := Deliver(t.Context(), u, fake, nil); archive.KindOf(err) != archive.KindInvalid {
		t.Fatal(err)
	}
	if under != int64(len("zehn Bytes")) || u.Sent() != 0 {
		t.Errorf("%d bytes while it was sent, %d after; want 10 and 0", under, u.Sent())
	}
}
