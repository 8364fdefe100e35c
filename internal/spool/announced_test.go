package spool

import (
	"slices"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// background is the policy of a queue.
var background = Policy{RetryFor: time.Second, Attempts: 1, Queue: true}

// Before the first byte is sent nothing is synced that was not synced with the commit, which has the
// idempotency key already.
func TestAnnouncedUploadIsSentWithoutAnotherSync(t *testing.T) {
	s := openLogged(t)
	u := create(t, s, lateBill(), billBytes)
	queue(t, u)
	f := newFake()
	before := inLog(t, s)
	key := u.Record().SentID
	f.script = []outcome{{commit: true, then: func() {
		if now := inLog(t, s); len(now) != len(before) {
			t.Errorf("%d entries are in the redo log, %d were there before", len(now), len(before))
		}
	}}}
	if _, err := DeliverWith(t.Context(), u, f, nil, background); err != nil {
		t.Fatal(err)
	}
	if ids := f.sentIDs(); !generated(key) || !slices.Equal(ids, []string{key}) {
		t.Errorf("sent under %q, announced %q", ids, key)
	}
}

// Whatever a crash of the machine leaves of an upload that was sent without an answer, it is archived
// once, or kept where the service cannot tell.
func TestAnnouncedUploadAfterACrash(t *testing.T) {
	for name, tt := range map[string]struct {
		arrived, hides bool
		state          State
		sends          int
	}{
		"arrived":                 {arrived: true, state: Confirmed, sends: 1},
		"lost":                    {state: Confirmed, sends: 2},
		"arrived, shows no ids":   {arrived: true, hides: true, state: Failed, sends: 1},
		"lost, service hides ids": {hides: true, state: Confirmed, sends: 2},
	} {
		for how, damage := range damages {
			t.Run(name+", "+how, func(t *testing.T) {
				s := openLogged(t)
				u := create(t, s, lateBill(), billBytes)
				queue(t, u)
				f := newFake()
				f.hideIDs = tt.hides
				var next *Spool
				f.script = []outcome{{commit: tt.arrived, err: kindErr(archive.KindInterrupted), then: func() {
					next = crash(t, s, damage(t, u))
				}}}
				f.lists = []error{nil, kindErr(archive.KindUnreachable), kindErr(archive.KindUnreachable)}
				if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true}); err == nil {
					t.Fatal("confirmed without an answer")
				}
				f.lists = nil
				u = again(t, next, u)
				if r := u.Record(); r.State != Sending || !r.Queued || r.Announced != "" {
					t.Fatalf("after the crash it is %+v", r)
				}
				_, _ = DeliverWith(t.Context(), u, f, nil, background)
				wantState(t, u, tt.state)
				if f.sends() != tt.sends || len(f.holding(billBytes)) != 1 {
					t.Errorf("%d sends, %d copies", f.sends(), len(f.holding(billBytes)))
				}
			})
		}
	}
}

// What the key alone does not tell from other documents is not announced, nor is more than a
// restart would look for in time.
func TestWhatIsAnnounced(t *testing.T) {
	s := openLogged(t)
	announced := func(change func(*Record)) bool {
		u := create(t, s, lateBill(), billBytes)
		must(t, u.CommitAs(func(r *Record) {
			r.Queued = true
			change(r)
		}))
		return u.Record().Announced != ""
	}
	for name, change := range map[string]func(*Record){
		"not queued":                 func(r *Record) { r.Queued = false },
		"an e-mail":                  func(r *Record) { r.Name = "Mail.EML" },
		"an e-mail in parts":         func(r *Record) { r.EmailImportOrder = archive.EmailOnly },
		"an external id of its own":  func(r *Record) { r.ExternalID = "mine" },
		"a replacement":              func(r *Record) { r.Replace = 9 },
		"in a folder that is queued": func(r *Record) { r.Folder, r.Within = 0, someID },
	} {
		if announced(change) {
			t.Errorf("%s is announced", name)
		}
	}
	n := 0
	for range mostAnnounced + 3 {
		if announced(func(*Record) {}) {
			n++
		}
	}
	if n != mostAnnounced {
		t.Errorf("%d are announced, want %d", n, mostAnnounced)
	}
	for _, u := range s.List()[:len(s.List())/2] {
		must(t, u.Remove())
	}
	if !announced(func(*Record) {}) {
		t.Error("nothing is announced after others went")
	}
}

// An upload that waits at the end of a run was not sent, and the next one need not look for it.
func TestAtTheEndNothingIsAnnounced(t *testing.T) {
	s := openLogged(t)
	u := create(t, s, lateBill(), billBytes)
	queue(t, u)
	must(t, s.Close())
	s, _ = open(t, s.dir, on("two"))
	wantState(t, again(t, s, u), Committed)
}

// What is taken back and changed is another upload, with a key of its own.
func TestAnnouncedUploadIsTakenBack(t *testing.T) {
	s := openLogged(t)
	u := create(t, s, lateBill(), billBytes)
	queue(t, u)
	first := u.Record()
	must(t, u.Recall())
	if u.Record().Announced != "" {
		t.Error("it is announced although it was taken back")
	}
	more(t, u, "more")
	queue(t, u)
	if r := u.Record(); r.Announced == "" || r.SentID == first.SentID {
		t.Errorf("it is announced in %q under %q, before under %q", r.Announced, r.SentID, first.SentID)
	}
}
