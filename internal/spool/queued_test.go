package spool

import (
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// queued makes an upload that is in the queue.
func queued(t *testing.T, s *Spool, data string) *Upload {
	t.Helper()
	u := create(t, s, lateBill(), data)
	must(t, enqueue(u))
	return u
}

// What is taken back from the queue and not changed is queued, in every run, until somebody
// decides otherwise.
func TestRecall(t *testing.T) {
	tests := map[string]struct {
		do    func(*Upload) error
		state State // in the next run
		data  string
	}{
		"nothing":      {func(*Upload) error { return nil }, Recalled, "abc"},
		"renamed":      {func(u *Upload) error { return u.Update(func(r *Record) { r.Name = "x.pdf" }) }, Recalled, "abc"},
		"committed":    {commit, Queued, "abc"},
		"kept":         {keep, Local, "abc"},
		"failed":       {func(u *Upload) error { return u.Fail("because", false) }, Failed, "abc"},
		"changed":      {func(u *Upload) error { _, err := u.WriteAt([]byte("X"), 1); return err }, Lost, "aXc"},
		"truncated":    {func(u *Upload) error { return u.Truncate(1) }, Lost, "a"},
		"without room": {wantNoRoom((*Upload).Truncate), Recalled, "abc"},
		"no room at the end": {wantNoRoom(func(u *Upload, size int64) error {
			_, err := u.WriteAt([]byte("x"), size-1)
			return err
		}), Recalled, "abc"},
		"no room in a row": {wantNoRoom(func(u *Upload, size int64) error {
			_, err := u.WriteAt(make([]byte, size), 0)
			return err
		}), Recalled, "abc"},
		"committed again": {(*Upload).Recommit, Queued, "abc"},
		"changed, made":   {writeAndCommit, Committed, "aXc"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			limit := func(o *Options) { o.Budget = 1 << 10 }
			s, _ := open(t, t.TempDir(), limit)
			u := queued(t, s, "abc")
			must(t, u.Recall())
			if r := u.Record(); r.State != Recalled || r.Size != 3 {
				t.Fatalf("recalled: %+v", r)
			}
			must(t, tt.do(u))
			s = reopen(t, s, limit)
			u = again(t, s, u)
			if r := u.Record(); r.State != tt.state {
				t.Errorf("the next run has %+v", r)
			}
			wantData(t, u, tt.data)
		})
	}
}

func wantNoRoom(truncate func(*Upload, int64) error) func(*Upload) error {
	return func(u *Upload) error {
		if err := truncate(u, 1<<20); !errors.Is(err, syscall.ENOSPC) {
			return errors.New("there was room")
		}
		return nil
	}
}

func writeAndCommit(u *Upload) error {
	if _, err := u.WriteAt([]byte("X"), 1); err != nil {
		return err
	}
	return commit(u)
}

// What was recalled is committed again only as it was: not when somebody has begun to change
// it, nor when it was decided about meanwhile.
func TestRecommit(t *testing.T) {
	tests := map[string]struct {
		do   func(*Upload) error
		want State
	}{
		"nothing":      {func(*Upload) error { return nil }, Queued},
		"renamed":      {func(u *Upload) error { return u.Update(func(r *Record) { r.Name = "x.pdf" }) }, Queued},
		"without room": {wantNoRoom((*Upload).Truncate), Queued},
		"written":      {func(u *Upload) error { _, err := u.WriteAt([]byte("X"), 1); return err }, Writing},
		"truncated":    {func(u *Upload) error { return u.Truncate(1) }, Writing},
		"reopened":     {(*Upload).Reopen, Created},
		"kept":         {keep, Local},
		"committed":    {commit, Queued},
		"failed":       {func(u *Upload) error { return u.Fail("because", false) }, Failed},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, t.TempDir(), func(o *Options) { o.Budget = 1 << 10 })
			u := queued(t, s, "abc")
			must(t, u.Recall())
			must(t, tt.do(u))
			before := u.State()
			err := u.Recommit()
			var wrong *StateError
			if refused := errors.As(err, &wrong); refused != (before == tt.want) || !refused && err != nil {
				t.Errorf("from %s: %v", before, err)
			}
			wantState(t, u, tt.want)
			if r := u.Record(); r.State == Queued && r.SHA256 != sum("abc") {
				t.Errorf("%+v", r)
			}
		})
	}
}

// Whatever comes first: bytes are committed as they were, or a change is whole before they are.
func TestRecommitWhileItIsChanged(t *testing.T) {
	s, _ := open(t, t.TempDir())
	for range 100 {
		u := queued(t, s, "abc")
		must(t, u.Recall())
		written := make(chan error)
		go func() {
			_, err := u.WriteAt([]byte("X"), 1)
			written <- err
		}()
		again, err := u.Recommit(), <-written
		if (again == nil) == (err == nil) {
			t.Fatalf("committed again: %v; written: %v", again, err)
		}
		if again == nil {
			wantState(t, u, Queued)
			wantData(t, u, "abc")
		} else {
			wantState(t, u, Writing)
			wantData(t, u, "aXc")
		}
	}
}

// After an end in doubt an upload may be changed as soon as looks did not show it, but for
// a time-out: the service may still be at it. It is looked for all the same.
func TestWhatWaitsMayBeChanged(t *testing.T) {
	for kind, want := range map[archive.Kind]State{
		archive.KindUnreachable: Queued, archive.KindBusy: Queued, archive.KindServer: Queued,
		archive.KindInterrupted: Queued, archive.KindTimeout: Delivering,
	} {
		t.Run(kind.String(), func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u := queued(t, s, "abc")
			f := newFake(outcome{err: kindErr(kind)})
			policy := Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
			if _, err := DeliverWith(t.Context(), u, f, nil, policy); archive.KindOf(err) != kind {
				t.Fatal(err)
			}
			wantState(t, u, want)
			if want == Delivering {
				return
			}
			late := f.add(7, "Mahnung.pdf", u.Record().SentID, "abc")
			err := u.Update(func(r *Record) { r.Folder, r.Name = 8, "Anders.pdf" })
			if err != nil {
				t.Fatal(err)
			}
			if kind == archive.KindUnreachable { // nothing was sent
				return
			}
			id, err := DeliverWith(t.Context(), u, f, nil, policy)
			if err != nil || id != late || f.sends() != 1 {
				t.Fatalf("document %d, %v, %d sends; want %d, which came late", id, err, f.sends(), late)
			}
		})
	}
}

// What a busy service was not asked to take cannot have arrived; a sync upload is kept as failed.
func TestWhatWasNotSentIsNotInDoubt(t *testing.T) {
	for policy, want := range map[Policy]State{
		{RetryFor: time.Second, Attempts: 1, Queue: true}: Committed, {RetryFor: time.Second, Attempts: 4}: Lost,
	} {
		s, _ := open(t, t.TempDir())
		u := committed(t, s, lateBill(), billBytes)
		f := newFake(outcome{err: &archive.Error{Kind: archive.KindBusy, Unsent: true}})
		if _, err := DeliverWith(t.Context(), u, f, nil, policy); archive.KindOf(err) != archive.KindBusy {
			t.Fatal(err)
		}
		wantState(t, u, want)
		if u.Record().Doubtful || f.sends() != 1 {
			t.Errorf("%s: %d sends, in doubt %v", want, f.sends(), u.Record().Doubtful)
		}
	}
}

// A full disk is no reason to fail what was accepted.
func TestQueueWaitsForRoomOnTheDisk(t *testing.T) {
	full := false
	s, _ := open(t, t.TempDir(), func(o *Options) {
		o.Fault = func(p Point) error {
			if full && p == PointSend {
				return syscall.ENOSPC
			}
			return nil
		}
	})
	u := queued(t, s, "abc")
	f, policy := newFake(), Policy{RetryFor: time.Second, Attempts: 1, Queue: true}
	full = true
	if _, err := DeliverWith(t.Context(), u, f, nil, policy); !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	if r := u.Record(); r.State != Queued {
		t.Fatalf("%+v", r)
	}
	full = false
	if _, err := DeliverWith(t.Context(), u, f, nil, policy); err != nil {
		t.Fatal(err)
	}
}

func TestRetryOfWhatWaits(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := queued(t, s, "abc")
	f := newFake(outcome{err: kindErr(archive.KindUnreachable)})
	if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Queue: true}); err == nil || u.Record().Reason == "" {
		t.Fatalf("%v, %+v", err, u.Record())
	}
	must(t, u.Retry(false))
	must(t, u.Retry(false))
	if r := u.Record(); r.State != Queued || r.Reason != "" {
		t.Fatalf("%+v", r)
	}
}
