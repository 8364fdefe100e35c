package spool

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// What the table allows, for each event and each state; "-" is refused.
var allowed = map[string][]string{
	//                created     committed    sending      confirmed    failed
	"update":        {"created", "committed", "sending", "confirmed", "failed"},
	"commit":        {"committed", "-", "-", "-", "-"},
	"commit again":  {"committed", "-", "-", "-", "-"},
	"keep":          {"created", "-", "-", "-", "-"},
	"reopen":        {"created", "created", "-", "-", "created"},
	"recall":        {"-", "created", "-", "-", "-"},
	"fail":          {"failed", "failed", "failed", "-", "failed"},
	"retry":         {"-", "committed", "sending", "-", "committed"},
	"send":          {"-", "sending", "sending", "-", "-"},
	"confirm":       {"-", "confirmed", "confirmed", "confirmed", "confirmed"},
	"give up":       {"-", "failed", "failed", "-", "-"},
	"wait, unsent":  {"-", "committed", "committed", "-", "-"},
	"wait in doubt": {"-", "sending", "sending", "-", "-"},
	"interrupt":     {"failed", "failed", "failed", "-", "-"},
	"deliver":       {"-", "confirmed", "confirmed", "confirmed", "-"},
	"resolve":       {"-", "failed", "confirmed", "confirmed", "-"},
	"write":         {"created", "-", "-", "-", "-"},
	"truncate":      {"created", "-", "-", "-", "-"},
	"sync":          {"created", "committed", "sending", "confirmed", "failed"},
	"remove":        {"created", "committed", "sending", "confirmed", "failed"},
}

var states = []State{Created, Committed, Sending, Confirmed, Failed}

// TestTransitions has every event in every state, by itself and by the operations that lead to
// it. A queued upload, closed when it is created, meets what else an event asks for.
func TestTransitions(t *testing.T) {
	type do = func(*Upload) error
	by := func(ev event) do {
		return func(u *Upload) error {
			u.mu.Lock()
			defer u.mu.Unlock()
			return u.transitLocked(ev, synced, func(r *Record) {
				if r.SHA256 == "" { // a record that is committed needs one
					r.SHA256, r.Size = sum("abc"), 3
				}
				r.SentSHA256, r.SentID = r.SHA256, "x"
			})
		}
	}
	ops := map[string][]do{
		"update":        {by(onUpdate), func(u *Upload) error { return u.Update(func(r *Record) { r.Mtime = r.Created }) }},
		"commit":        {by(onCommit), (*Upload).Commit},
		"commit again":  {by(onRecommit), (*Upload).Recommit},
		"keep":          {by(onKeep), (*Upload).Keep, func(u *Upload) error { return u.KeepRefused("why") }},
		"reopen":        {by(onReopen), (*Upload).Reopen},
		"recall":        {by(onRecall), (*Upload).Recall},
		"fail":          {by(onFail), func(u *Upload) error { return u.Fail("because", Failure{Visible: true}) }, func(u *Upload) error { return u.Fail("because", Failure{Visible: true, Incomplete: true}) }},
		"retry":         {by(onRetry), (*Upload).Retry, (*Upload).RetryAsItIs},
		"send":          {by(onSend)},
		"confirm":       {by(onConfirm)},
		"give up":       {by(onGiveUp)},
		"wait, unsent":  {by(onWaitUnsent)},
		"wait in doubt": {by(onWaitInDoubt)},
		"interrupt":     {by(onInterrupt)},
		"deliver": {func(u *Upload) error {
			_, err := Deliver(t.Context(), u, newFake(), nil)
			return err
		}},
		"resolve": {func(u *Upload) error {
			f := newFake()
			if u.State() == Sending {
				f.add(7, u.Record().SentName, u.Record().SentID, "abc")
			}
			if _, err := Resolve(t.Context(), u, f); u.State() != Failed || u.Record().Reason == "because" {
				return err
			}
			return nil // failed, as it was not sent
		}},
		"write":    {func(u *Upload) error { _, err := u.WriteAt([]byte("x"), 0); return err }},
		"truncate": {func(u *Upload) error { return u.Truncate(1) }},
		"sync":     {(*Upload).Sync},
		"remove":   {(*Upload).Remove},
	}
	if len(ops) != len(allowed) {
		t.Errorf("%d events are tried, %d are listed", len(ops), len(allowed))
	}
	for name, row := range allowed {
		for i, from := range states {
			for _, op := range ops[name] {
				t.Run(name+" "+string(from), func(t *testing.T) { walk(t, from, State(row[i]), op) })
			}
		}
	}
}

// walk does op in one state and compares what comes of it, in memory and on disk.
func walk(t *testing.T, from, want State, op func(*Upload) error) {
	t.Helper()
	s, _ := open(t, t.TempDir())
	u := inState(t, s, from)
	queued := u.Record()
	queued.Queued, queued.Closed = true, from == Created
	if from == Failed {
		queued.SHA256 = sum("abc")
	}
	store(t, u, queued)
	err := op(u)
	if want == "-" {
		var state *StateError
		if !errors.As(err, &state) || !errors.Is(err, syscall.EBUSY) || state.State != from {
			t.Fatalf("got %v, want a *StateError that is EBUSY", err)
		}
		want = from
	} else if err != nil {
		t.Fatal(err)
	}
	wantState(t, u, want)
	if _, ok := s.Get(u.ID()); !ok {
		return
	}
	if disk := onRecord(t, s, u.ID()); disk.State != want {
		t.Fatalf("the disk says %s", disk.State)
	}
	u.content.mu.Lock()
	defer u.content.mu.Unlock()
	if u.content.sealed != (want != Created) {
		t.Errorf("the bytes of what is %s are sealed: %v", want, u.content.sealed)
	}
}

// What else an event asks for, beside a state.
func TestTransitionsThatAskForMore(t *testing.T) {
	s, _ := open(t, t.TempDir())
	folder, err := s.CreateFolder(Record{Name: "x"}, false)
	must(t, err)
	for name, op := range map[string]func() error{
		"recommit of what was not recalled":    inState(t, s, Created).Recommit,
		"recall of what is not queued":         inState(t, s, Committed).Recall,
		"retry of what waits for its close":    inState(t, s, Committed).Retry,
		"retry in doubt of what is not queued": inState(t, s, Sending).Retry,
		"reopen of a folder":                   folder.Reopen,
		"recall of a folder":                   folder.Recall,
	} {
		var state *StateError
		if err := op(); !errors.As(err, &state) {
			t.Errorf("%s: %v, want a *StateError", name, err)
		}
	}
	if err := inState(t, s, Failed).Retry(); !errors.Is(err, ErrIncomplete) {
		t.Errorf("retry of what was never complete: %v", err)
	}
}

// While it is delivered an upload takes changes that the archive is not asked for, and nothing else.
func TestNothingElseDuringADelivery(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	f := newFake()
	_, err := Deliver(t.Context(), u, f, func(context.Context) ([]*archive.Document, error) {
		for name, op := range map[string]func() error{
			"commit": u.Commit, "recommit": u.Recommit, "keep": u.Keep, "reopen": u.Reopen, "recall": u.Recall, "retry": u.Retry,
			"remove": u.Remove, "fail": func() error { return u.Fail("because", Failure{}) },
			"rename": func() error { return u.Update(func(r *Record) { r.Name = "y" }) },
		} {
			var state *StateError
			if err := op(); !errors.As(err, &state) {
				t.Errorf("%s: %v, want a *StateError", name, err)
			}
		}
		if err := u.Update(func(r *Record) { r.Path = "elsewhere" }); err != nil {
			t.Error(err)
		}
		return nil, nil
	})
	must(t, err)
	wantState(t, u, Confirmed)
}

// edit of Update runs without a lock, and again when the record has changed meanwhile.
func TestUpdateMayAskTheUpload(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	runs := 0
	must(t, u.Update(func(r *Record) {
		if runs++; runs == 1 {
			must(t, u.Update(func(r *Record) { r.Keywords = []string{"between"} }))
		}
		r.Name = "new.pdf"
	}))
	if r := u.Record(); runs != 2 || r.Name != "new.pdf" || len(r.Keywords) != 1 || r.Keywords[0] != "between" {
		t.Fatalf("%d runs, %+v", runs, r)
	}
}

// Reasons and errors are for people: they name no package.
func TestErrorsNameNoPackage(t *testing.T) {
	s, _ := open(t, t.TempDir(), func(o *Options) { o.Budget = 10 })
	u := create(t, s, lateBill(), "abc")
	_, negative := u.WriteAt([]byte("x"), -1)
	_, huge := u.WriteAt([]byte("xy"), 1<<63-1)
	_, full := u.WriteAt(make([]byte, 20), 0)
	lost := committed(t, s, lateBill(), "abc")
	removeData(t, s, lost)
	_, read := lost.ReadAt(make([]byte, 1), 0)
	_, deliver := Deliver(t.Context(), lost, newFake(), nil)
	gone := create(t, s, lateBill(), "")
	must(t, gone.Remove())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	waits := committed(t, s, lateBill(), "abc")
	waits.turn <- struct{}{}
	_, late := Deliver(ctx, waits, newFake(), nil)
	for what, err := range map[string]error{
		"write before the start": negative, "write beyond the end": huge, "write without room": full, "truncate": u.Truncate(-1),
		"grow without room": u.Truncate(20), "close twice": u.Close(), "read lost data": read, "deliver lost data": deliver,
		"open what was removed": gone.Open(), "recall": u.Recall(), "encode": u.Update(func(r *Record) { r.Name = "\xff" }),
		"wait for a turn": late, "reason": errors.New(lost.Record().Reason),
	} {
		if err == nil || strings.Contains(err.Error(), "spool:") {
			t.Errorf("%s: %v", what, err)
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
		must(t, u.Fail("because", Failure{}))
		return u
	}
	must(t, u.Commit())
	switch f := newFake(); state {
	case Sending:
		f.script = []outcome{{err: kindErr(archive.KindTimeout)}}
		if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Queue: true}); err == nil {
			t.Fatal("delivered")
		}
	case Confirmed:
		if _, err := Deliver(t.Context(), u, f, nil); err != nil {
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
	must(t, u.Fail("killed\x1b[2J\u202e", Failure{Visible: true}))
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
	must(t, u.Fail("given up", Failure{}))
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
	if err := u.Fail("x", Failure{}); !errors.Is(err, boom) {
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
	must(t, u.Fail("killed", Failure{}))
	wantEmpty(t, "retry", u.Retry())
	wantEmpty(t, "retry as it is", u.RetryAsItIs())
	wantState(t, u, Failed)
	r := u.Record()
	r.State, r.Queued, r.SHA256, r.Reason = Committed, true, sum(""), "" // as an older version would have it
	store(t, u, r)
	s = reopen(t, s)
	u, f := again(t, s, u), newFake()
	_, err := DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true})
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
