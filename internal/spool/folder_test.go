package spool

import (
	"context"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// fakeMaker makes a folder by a script; hidden is in how many looks it does not show.
type fakeMaker struct {
	script []outcome
	made   int
	there  archive.ID
	hidden int
	finds  []error // errors of the next looks, nil for an answer
}

func (m *fakeMaker) Find(context.Context) (archive.ID, error) {
	if len(m.finds) > 0 {
		err := m.finds[0]
		m.finds = m.finds[1:]
		if err != nil {
			return 0, err
		}
	}
	if m.there == 0 || m.hidden > 0 {
		m.hidden--
		return 0, nil
	}
	return m.there, nil
}

func (m *fakeMaker) Make(context.Context) (archive.ID, error) {
	o := outcome{commit: true}
	if len(m.script) > 0 {
		o, m.script = m.script[0], m.script[1:]
	}
	if o.commit {
		m.made++
		m.there, m.hidden = archive.ID(100+m.made), o.late
	}
	if o.err != nil || o.noID {
		return 0, o.err
	}
	return m.there, nil
}

func queuedFolder(t testing.TB, s *Spool, doubtful bool) *Upload {
	t.Helper()
	u, err := s.CreateFolder(Record{Folder: 7, Path: "Muster GmbH", Name: "2025"}, doubtful)
	must(t, err)
	return u
}

// TestFolderIsMadeOnce: whatever ends in between, a folder is made once, or left as it is
// for a person to decide.
func TestFolderIsMadeOnce(t *testing.T) {
	lost := kindErr(archive.KindInterrupted)
	away := kindErr(archive.KindUnreachable)
	tests := []struct {
		name     string
		maker    fakeMaker
		doubtful bool
		state    State
		made     int
	}{
		{name: "at once", state: Confirmed, made: 1},
		{name: "there already", maker: fakeMaker{there: 9}, state: Confirmed},
		{name: "made, answer lost", maker: fakeMaker{script: []outcome{{commit: true, err: lost}}}, state: Confirmed, made: 1},
		{name: "made late, answer lost", maker: fakeMaker{script: []outcome{{commit: true, late: 1, err: lost}}}, state: Confirmed, made: 1},
		{name: "not made, answer lost", maker: fakeMaker{script: []outcome{{err: lost}}}, state: Confirmed, made: 1},
		{name: "asked for in doubt, made", doubtful: true, maker: fakeMaker{there: 9, hidden: 1}, state: Confirmed},
		{name: "asked for in doubt, not made", doubtful: true, state: Confirmed, made: 1},
		{name: "no id in the answer", maker: fakeMaker{script: []outcome{{commit: true, noID: true, late: 2}}}, state: Confirmed, made: 1},
		{name: "made and never listed", maker: fakeMaker{script: []outcome{{commit: true, noID: true, late: 1000}}}, state: Failed, made: 1},
		{name: "refused", maker: fakeMaker{script: []outcome{{err: kindErr(archive.KindForbidden)}}}, state: Failed},
		{name: "made and refused", maker: fakeMaker{script: []outcome{{commit: true, err: kindErr(archive.KindConflict)}}}, state: Confirmed, made: 1},
		{name: "away", maker: fakeMaker{finds: []error{away}}, state: Queued},
		{name: "away after doubt", doubtful: true, maker: fakeMaker{finds: []error{away, away, away, away, away, away, away, away}}, state: Delivering},
	}
	for _, tc := range tests {
		t.Run(tc.name, func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u := queuedFolder(t, s, tc.doubtful)
			id, err := DeliverFolder(t.Context(), u, &tc.maker, Policy{RetryFor: 4 * time.Second, Attempts: 3, Queue: true})
			if r := u.Record(); r.State != tc.state || tc.maker.made != tc.made || (err == nil) != (tc.state == Confirmed) {
				t.Fatalf("%s, made %d times, %v; want %s, %d", r.State, tc.maker.made, err, tc.state, tc.made)
			}
			if tc.state == Confirmed && (id != tc.maker.there || u.Record().Document != id) {
				t.Fatalf("folder %d, want %d", id, tc.maker.there)
			}
		})
	}
}

func TestFolderSurvivesARestart(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u, doubtful := queuedFolder(t, s, false), queuedFolder(t, s, true)
	file := create(t, s, Record{Within: u.ID(), Name: "a.pdf"}, "abc")
	must(t, commit(file))
	s = reopen(t, s)
	for up, want := range map[*Upload]State{u: Queued, doubtful: Delivering} {
		if r := again(t, s, up).Record(); r.State != want || !r.Directory || r.Name != "2025" || r.Folder != 7 {
			t.Fatalf("%+v", r)
		}
	}
	if r := again(t, s, file).Record(); r.Within != u.ID() {
		t.Fatalf("%+v", r)
	}
}

func TestFailedFolderCanBeRetriedAndRemoved(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := queuedFolder(t, s, false)
	refuses := &fakeMaker{script: []outcome{{err: kindErr(archive.KindConflict)}}}
	if _, err := DeliverFolder(t.Context(), u, refuses, Policy{Queue: true}); err == nil {
		t.Fatal("a refused folder was made")
	}
	if err := u.Reopen(); err == nil {
		t.Fatal("a folder was opened for writing")
	}
	s = reopen(t, s)
	u = again(t, s, u)
	wantState(t, u, Failed)
	must(t, u.Retry(false))
	if _, err := DeliverFolder(t.Context(), u, refuses, Policy{Queue: true}); err != nil || refuses.made != 1 {
		t.Fatalf("%v, made %d times", err, refuses.made)
	}
	must(t, u.Remove())
	if used, files := s.Usage(); used != 0 || files != 0 {
		t.Fatalf("%d bytes in %d files", used, files)
	}
}
