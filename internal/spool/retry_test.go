package spool

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestRetryToAnotherPlaceAfterDoubt(t *testing.T) {
	f := newFake(outcome{err: kindErr(archive.KindInterrupted)})
	f.lists = []error{nil, kindErr(archive.KindNotFound)}
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	if _, err := Deliver(t.Context(), u, f, nil); err == nil {
		t.Fatal("no doubt")
	}
	must(t, u.Update(func(r *Record) { r.Folder, r.Name = 8, "Brief.pdf" }))
	there := f.add(8, "Brief.pdf", "", "was there")
	must(t, u.Retry(false))
	if _, err := Deliver(t.Context(), u, f, nil); err != nil {
		t.Fatal(err)
	}
	r := u.Record()
	if r.SentFolder != 8 || r.SentName != "Brief.pdf" || len(r.Baseline) != 1 || r.Baseline[0] != there || len(f.holding(billBytes)) != 1 {
		t.Fatalf("%+v", r)
	}
}

// A refusal is looked behind before what was refused is sent again: the service, or a proxy
// before it, may have said so after it took it.
func TestRetryOfWhatWasRefused(t *testing.T) {
	refused, away := kindErr(archive.KindConflict), kindErr(archive.KindUnreachable)
	tests := map[string]struct {
		script []outcome
		change func(*fakeArchive) // before the retry
		state  State
		sends  int
		reason string
	}{
		"refused":                       {script: []outcome{{err: refused}}, state: Confirmed, sends: 2},
		"refused after the commit":      {script: []outcome{{commit: true, err: refused}}, state: Confirmed, sends: 1},
		"refused, in a folder now gone": {script: []outcome{{err: refused}}, change: func(f *fakeArchive) { f.lists = []error{kindErr(archive.KindNotFound)} }, state: Confirmed, sends: 2},
		"the look fails": {
			script: []outcome{{commit: true, err: refused}}, change: func(f *fakeArchive) { f.lists = []error{away} },
			state: Failed, sends: 1, reason: "not known whether",
		},
		"refused after the commit, no external id shown": {
			script: []outcome{{commit: true, err: refused}}, change: func(f *fakeArchive) { f.hideIDs = true },
			state: Failed, sends: 1, reason: "may be archived already, as document",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u, f := committed(t, s, lateBill(), billBytes), newFake(tt.script...)
			if _, err := Deliver(t.Context(), u, f, nil); archive.KindOf(err) != archive.KindConflict {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(f)
			}
			must(t, u.Retry(false))
			_, err := Deliver(t.Context(), u, f, nil)
			r := u.Record()
			if r.State != tt.state || f.sends() != tt.sends || len(f.holding(billBytes)) != 1 || !strings.Contains(r.Reason, tt.reason) {
				t.Errorf("%s after %d sends with %d copies: %v", r.State, f.sends(), len(f.holding(billBytes)), err)
			}
		})
	}
}

// What is not known to be a whole file is sent as it is or not at all; what has failed for another
// reason is sent.
func TestRetryOfWhatIsNotWhole(t *testing.T) {
	tests := map[string]struct {
		fail       func(t *testing.T, s *Spool) *Upload
		incomplete bool
	}{
		"its writer was killed": {func(t *testing.T, s *Spool) *Upload {
			u := create(t, s, lateBill(), "half a b")
			must(t, u.Fail("killed", false))
			return u
		}, true},
		"the program was killed": {func(t *testing.T, s *Spool) *Upload {
			return create(t, s, lateBill(), "half a b")
		}, true},
		"written on after a commit": {func(t *testing.T, s *Spool) *Upload {
			u := committed(t, s, lateBill(), "bill")
			must(t, u.Reopen())
			must(t, u.Fail("killed", false))
			return u
		}, true},
		"refused by the service": {func(t *testing.T, s *Spool) *Upload {
			u := committed(t, s, lateBill(), billBytes)
			if _, err := Deliver(t.Context(), u, newFake(outcome{err: kindErr(archive.KindForbidden)}), nil); err == nil {
				t.Fatal("delivered")
			}
			return u
		}, false},
		"failed after a commit": {func(t *testing.T, s *Spool) *Upload {
			u := committed(t, s, lateBill(), billBytes)
			must(t, u.Fail("the folder was not made", false))
			return u
		}, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u := tt.fail(t, s)
			s = reopen(t, s)
			u = again(t, s, u)
			wantState(t, u, Lost)
			before, f := u.Record(), newFake()
			if before.Incomplete() != tt.incomplete {
				t.Errorf("incomplete is %v: %+v", before.Incomplete(), before)
			}
			err := u.Retry(false)
			if tt.incomplete {
				if after := u.Record(); !errors.Is(err, ErrIncomplete) || !errors.Is(err, syscall.EPERM) || after.State != Lost || after.Reason != before.Reason {
					t.Fatalf("%v; %+v", err, after)
				}
				err = u.Retry(true)
			}
			must(t, err)
			if _, err := Deliver(t.Context(), u, f, nil); err != nil || f.sends() != 1 {
				t.Fatalf("%d sends: %v", f.sends(), err)
			}
		})
	}
}
