package spool

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// TestTransitions has every operation in every state; "" is a *StateError.
func TestTransitions(t *testing.T) {
	ops := map[string]struct {
		do   func(*Upload) error
		ends map[State]State
	}{
		"commit": {(*Upload).Commit, map[State]State{Created: Committed}},
		"reopen": {(*Upload).Reopen, map[State]State{Created: Created, Committed: Created, Failed: Created}},
		"keep":   {(*Upload).Keep, map[State]State{Created: Created}},
		"retry":  {(*Upload).RetryAsItIs, map[State]State{Failed: Committed}},
		"fail": {
			func(u *Upload) error { return u.Fail("because", true) },
			map[State]State{Created: Failed, Committed: Failed, Sending: Failed, Failed: Failed},
		},
		"write": {
			func(u *Upload) error { _, err := u.WriteAt([]byte("x"), 0); return err },
			map[State]State{Created: Created},
		},
		"truncate": {func(u *Upload) error { return u.Truncate(1) }, map[State]State{Created: Created}},
		"sync": {
			(*Upload).Sync,
			map[State]State{Created: Created, Committed: Committed, Sending: Sending, Confirmed: Confirmed, Failed: Failed},
		},
	}
	for name, op := range ops {
		for _, from := range []State{Created, Committed, Sending, Confirmed, Failed} {
			t.Run(name+" "+string(from), func(t *testing.T) {
				s, _ := open(t, t.TempDir())
				u := inState(t, s, from)
				err := op.do(u)
				want, ok := op.ends[from]
				if !ok {
					var state *StateError
					if !errors.As(err, &state) || !errors.Is(err, syscall.EBUSY) || state.State != from {
						t.Fatalf("got %v, want a *StateError that is EBUSY", err)
					}
					want = from
				} else if err != nil {
					t.Fatal(err)
				}
				wantState(t, u, want)
				if want != Created {
					disk, _, err := readRecord(s.dir+"/"+u.ID()+"/"+recordFile, u.ID())
					if err != nil || disk.State != want {
						t.Fatalf("the disk says %s, %v", disk.State, err)
					}
				}
			})
		}
	}
}

// inState makes an upload of that state.
func inState(t *testing.T, s *Spool, state State) *Upload {
	t.Helper()
	u := create(t, s, lateBill(), "abc")
	if state == Created {
		return u
	}
	if state == Failed {
		must(t, u.Fail("because", false))
		return u
	}
	must(t, u.Commit())
	switch f := newFake(); state {
	case Sending:
		f.script = []outcome{{err: kindErr(archive.KindTimeout)}}
		if _, err := s.DeliverWith(t.Context(), u, f, nil, Policy{Queue: true}); err == nil {
			t.Fatal("delivered")
		}
	case Confirmed:
		if _, err := s.Deliver(t.Context(), u, f, nil); err != nil {
			t.Fatal(err)
		}
	case Created, Committed, Failed:
	}
	wantState(t, u, state)
	return u
}

func TestFailIsPrintableAndKeepsTheBytes(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, lateBill(), "half a fi")
	must(t, u.Fail("killed\x1b[2J\u202e", true))
	s = reopen(t, s)
	u = again(t, s, u)
	r := u.Record()
	if r.State != Failed || !r.Visible || r.Doubtful || r.Size != 9 || r.Reason != `killed\x1b[2J\u202e` {
		t.Fatalf("%+v", r)
	}
	wantData(t, u, "half a fi")
	must(t, u.RetryAsItIs())
	if r := u.Record(); r.SHA256 != sum("half a fi") || !r.Visible || r.Reason != "" {
		t.Fatalf("%+v", r)
	}
}

func TestFailOfASendingStaysInDoubt(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := inState(t, s, Sending)
	r := u.Record()
	r.Doubtful = false // as when it is cut off for the first time
	u.rec.Store(&r)
	must(t, u.Fail("given up", false))
	must(t, u.Retry())
	if r := u.Record(); !r.Doubtful || r.SentID == "" {
		t.Fatalf("%+v", r)
	}
}

func TestKeptFileIsUnfinishedOnceItIsWritten(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x.part"}, "abc")
	must(t, u.Keep())
	s = reopen(t, s)
	u = again(t, s, u)
	if r := u.Record(); r.State != Created || !r.Closed || r.Size != 3 {
		t.Fatalf("%+v", r)
	}
	if _, err := u.WriteAt([]byte("d"), 3); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	u = again(t, s, u)
	if r := u.Record(); r.State != Failed || !strings.Contains(r.Reason, "never closed") || r.Visible {
		t.Fatalf("%+v", r)
	}
	wantData(t, u, "abcd")
}

func TestUpdateChangesWhatItMay(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	before := u.Record()
	must(t, u.Update(func(r *Record) {
		*r = Record{Name: "new.pdf", Folder: 8, Attributes: archive.Attributes{Keywords: []string{"a"}}, Visible: true, Xattrs: map[string][]byte{"user.x": {0, 255}}}
	}))
	after := u.Record()
	if after.Name != "new.pdf" || after.Folder != 8 || !after.Visible || string(after.Xattrs["user.x"]) != "\x00\xff" {
		t.Fatalf("%+v", after)
	}
	if after.ID != before.ID || after.State != Committed || after.SHA256 != before.SHA256 || after.Size != 3 ||
		after.Version != recordVersion || !after.Created.Equal(before.Created) {
		t.Fatalf("%+v", after)
	}
	after.Keywords[0], after.Xattrs["user.x"][0] = "changed", 1
	if r := u.Record(); r.Keywords[0] != "a" || r.Xattrs["user.x"][0] != 0 {
		t.Fatal("a record that was handed out is the spool's own")
	}
	err := u.Update(func(r *Record) { r.Name = "\xff" })
	if !errors.Is(err, syscall.EILSEQ) || u.Record().Name != "new.pdf" {
		t.Fatalf("%v, %q", err, u.Record().Name)
	}
	s = reopen(t, s)
	if r := again(t, s, u).Record(); r.Name != "new.pdf" || string(r.Xattrs["user.x"]) != "\x00\xff" {
		t.Fatalf("%+v", r)
	}
}

func TestCommitThatFailsCanBeWrittenOn(t *testing.T) {
	boom := errors.New("the disk failed")
	var broken bool
	s, _ := open(t, t.TempDir(), func(o *Options) {
		o.Fault = func(p Point) error {
			if broken && (p == PointCommit || p == PointFail) {
				return boom
			}
			return nil
		}
	})
	u := create(t, s, lateBill(), "abc")
	broken = true
	if err := u.Commit(); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if err := u.Fail("x", false); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	broken = false
	if _, err := u.WriteAt([]byte("d"), 3); err != nil {
		t.Fatal(err)
	}
	must(t, u.Commit())
	if u.Record().SHA256 != sum("abcd") {
		t.Fatal("wrong checksum")
	}
}

// Nothing empty goes to the archive, whatever asks for it and whoever wrote the record.
func TestNothingEmptyIsCommitted(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, lateBill(), "")
	wantEmpty(t, "commit", u.Commit())
	wantState(t, u, Created)
	must(t, u.Fail("killed", false))
	wantEmpty(t, "retry", u.Retry())
	wantEmpty(t, "retry as it is", u.RetryAsItIs())
	wantState(t, u, Failed)
	r := u.Record()
	r.State, r.Queued, r.SHA256, r.Reason = Committed, true, sum(""), "" // as an older version would have it
	must(t, u.storeLocked(&r, theMachine))
	s = reopen(t, s)
	u, f := again(t, s, u), newFake()
	_, err := s.DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true})
	wantEmpty(t, "deliver", err)
	if r := u.Record(); r.State != Failed || !r.Incomplete() || f.sends() != 0 {
		t.Fatalf("%d sends, %+v", f.sends(), r)
	}
}

func wantEmpty(t *testing.T, what string, err error) {
	t.Helper()
	if !errors.Is(err, ErrEmpty) || !errors.Is(err, syscall.EPERM) {
		t.Errorf("%s of an empty file: %v, want %v", what, err, ErrEmpty)
	}
}
