package spool

import (
	"slices"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// busyFor is the answer of a service that asks to wait.
func busyFor(wait time.Duration) error {
	return &archive.Error{Op: "file-upload", Kind: archive.KindBusy, Status: 503, RetryAfter: wait}
}

// A service that did not take an upload is waited for as it asks, 30 s at most, and not at all
// where that cannot help.
func TestHowLongAServiceIsWaitedFor(t *testing.T) {
	full := &archive.Error{Op: "file-upload", Kind: archive.KindServer, Status: 507, RetryAfter: time.Minute}
	unsent := &archive.Error{Op: "file-upload", Kind: archive.KindBusy, Unsent: true}
	for _, tt := range []struct {
		name   string
		sends  []error
		looks  []error
		sent   int
		listed int // the look before the first one is not counted
		most   time.Duration
		state  State
	}{
		{"it takes the second", []error{busyFor(5 * time.Second)}, nil, 2, 2, 5 * time.Second, Confirmed},
		{"it takes none", slices.Repeat([]error{busyFor(5 * time.Second)}, 9), nil, 4, 8, 20 * time.Second, Lost},
		{"it takes none for long", slices.Repeat([]error{busyFor(20 * time.Second)}, 9), nil, 2, 4, 20*time.Second + firstWait, Lost},
		{"it is away", []error{busyFor(5 * time.Second)}, slices.Repeat([]error{busyFor(5 * time.Second)}, 9), 1, 7, 30 * time.Second, Lost},
		{"it is away for long", []error{busyFor(time.Minute)}, slices.Repeat([]error{busyFor(time.Minute)}, 9), 1, 1, 0, Lost},
		{"it comes back while it is looked for", []error{busyFor(5 * time.Second)}, []error{busyFor(5 * time.Second)}, 2, 3, 5*time.Second + firstWait, Confirmed},
		{"it is full", []error{full, full}, nil, 1, 2, firstWait, Lost},
		{"it was not asked", []error{unsent}, nil, 1, 0, 0, Lost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, clock := open(t, t.TempDir())
			f := newFake()
			for _, err := range tt.sends {
				f.script = append(f.script, outcome{err: err})
			}
			f.lists = append([]error{nil}, tt.looks...)
			u := committed(t, s, lateBill(), billBytes)
			_, _ = Deliver(t.Context(), u, f, nil)
			wantState(t, u, tt.state)
			if f.sends() != tt.sent || f.listed-1 != tt.listed || clock.total() > tt.most {
				t.Errorf("sent %d times, looked %d times, waited %v; want %d, %d, %s at most", f.sends(), f.listed-1, clock.slept, tt.sent, tt.listed, tt.most)
			}
			if tt.state == Lost && u.Record().Doubtful == (tt.name == "it was not asked") {
				t.Errorf("in doubt: %v", u.Record().Doubtful)
			}
		})
	}
}

// The queue waits by itself, so that an attempt of it does not, and says how long.
func TestTheQueueWaitsByItself(t *testing.T) {
	for name, away := range map[string][]error{"busy": nil, "away": {nil, busyFor(5 * time.Second)}} {
		t.Run(name, func(t *testing.T) {
			s, clock := open(t, t.TempDir())
			f := newFake(outcome{err: busyFor(5 * time.Second)})
			f.lists = away
			u := queued(t, s, billBytes)
			_, err := DeliverWith(t.Context(), u, f, nil, Policy{RetryFor: time.Minute, Attempts: 1, Queue: true})
			if archive.RetryAfter(err) != 5*time.Second || clock.total() > firstWait || f.sends() != 1 || !u.State().InQueue() || !u.rec.Load().inDoubt() {
				t.Errorf("waited %v, sent %d times, %+v; %v", clock.slept, f.sends(), u.Record(), err)
			}
		})
	}
}

// What the service declines after it took it is found by either look, and not sent again.
func TestDeclinedAfterItWasTaken(t *testing.T) {
	for late := range 2 {
		s, _ := open(t, t.TempDir())
		f := newFake(outcome{commit: true, late: late, err: busyFor(5 * time.Second)})
		u := committed(t, s, lateBill(), billBytes)
		if _, err := Deliver(t.Context(), u, f, nil); err != nil || f.sends() != 1 {
			t.Errorf("listed by look %d: %v, sent %d times", late+1, err, f.sends())
		}
	}
}
