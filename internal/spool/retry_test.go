package spool

import (
	"strings"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

func TestRetryToAnotherPlaceAfterDoubt(t *testing.T) {
	f := newFake(outcome{err: kindErr(archive.KindInterrupted)})
	f.lists = []error{nil, kindErr(archive.KindNotFound)}
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), billBytes)
	if _, err := s.Deliver(t.Context(), u, f, nil); err == nil {
		t.Fatal("no doubt")
	}
	must(t, u.Update(func(r *Record) { r.Folder, r.Name = 8, "Brief.pdf" }))
	there := f.add(8, "Brief.pdf", "", "was there")
	must(t, u.Retry())
	if _, err := s.Deliver(t.Context(), u, f, nil); err != nil {
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
			if _, err := s.Deliver(t.Context(), u, f, nil); archive.KindOf(err) != archive.KindConflict {
				t.Fatal(err)
			}
			if tt.change != nil {
				tt.change(f)
			}
			must(t, u.Retry())
			_, err := s.Deliver(t.Context(), u, f, nil)
			r := u.Record()
			if r.State != tt.state || f.sends() != tt.sends || len(f.holding(billBytes)) != 1 || !strings.Contains(r.Reason, tt.reason) {
				t.Errorf("%s after %d sends with %d copies: %v", r.State, f.sends(), len(f.holding(billBytes)), err)
			}
		})
	}
}
