package spool

import (
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/archivefs/archivefs/archive"
)

// states are all states but Unusable, in the order of docs/ARCHITECTURE.md.
var states = []State{
	Created, Writing, Promised, Local, Recalled, Committed, Sending, Resting, Queued, Delivering, Confirmed, Failed, Lost,
}

// columns are the events of the table in docs/ARCHITECTURE.md.
var columns = []struct {
	name string
	ev   event
	ops  []func(*Upload) error // what leads to it
}{
	{"write", onTouch, []func(*Upload) error{
		func(u *Upload) error { return u.Touch(0, 0) },
		func(u *Upload) error { _, err := u.WriteAt([]byte("x"), 0); return err },
		func(u *Upload) error { return u.Truncate(1) },
	}},
	{"answer", onAnswer, nil},
	{"commit", onCommit, []func(*Upload) error{commit}},
	{"queue", onQueue, []func(*Upload) error{func(u *Upload) error { return enqueue(u) }}},
	{"keep", onKeep, []func(*Upload) error{keep, func(u *Upload) error { return u.Keep("why", func(*Record) {}) }}},
	{"reopen", onReopen, []func(*Upload) error{(*Upload).Reopen}},
	{"recall", onRecall, []func(*Upload) error{(*Upload).Recall}},
	{"fail", onFail, []func(*Upload) error{func(u *Upload) error { return u.Fail("because", false) }}},
	{"retry", onRetry, []func(*Upload) error{retryIt, retryAsItIs}},
	{"send", onSend, nil},
	{"confirm", onConfirm, nil},
	{"unlisted", onUnlisted, nil},
	{"give up", onGiveUp, nil},
	{"wait", onWaitUnsent, nil},
	{"wait in doubt", onWaitInDoubt, nil},
	{"cut off", onInterrupt, nil},
}

// tableOf returns the rows of the table in docs/ARCHITECTURE.md whose head begins with a name, by their first cells.
func tableOf(t *testing.T, name string) (head []string, rows map[string][]string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/ARCHITECTURE.md")
	must(t, err)
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		for i := range cells {
			cells[i] = strings.Trim(cells[i], " *`")
		}
		switch {
		case rows == nil && cells[0] == name && len(cells) > 1:
			head, rows = cells, map[string][]string{}
		case rows != nil && len(cells) != len(head):
			return head, rows
		case rows != nil && !strings.HasPrefix(cells[0], "--"):
			rows[cells[0]] = cells
		}
	}
	return head, rows
}

// The page has what follows from each state, and each transition.
func TestStatesAreDocumented(t *testing.T) {
	yes := map[bool]string{true: "yes"}
	_, known := tableOf(t, "state")
	head, moves := tableOf(t, "from")
	if len(known) != len(factsOf) || len(moves) != len(factsOf) || len(states) != len(factsOf)-1 || len(head) != len(columns)+1 {
		t.Fatalf("%d states, %d on the page; %d rows of %d events", len(states), len(known), len(moves), len(head)-1)
	}
	for _, s := range append(states, Unusable) {
		f := factsOf[s]
		want := []string{string(s), yes[f.written], yes[f.due], yes[f.complete], yes[f.queued], yes[f.sent], string(f.refused), string(f.after)}
		if got := known[string(s)]; !slices.Equal(got[:len(want)], want) {
			t.Errorf("the page has %q, want | %s |", got, strings.Join(want, " | "))
		}
		want = []string{string(s)}
		for i, c := range columns {
			want = append(want, string(c.ev.to[s]))
			if head[i+1] != c.name {
				t.Fatalf("column %q is %q", head[i+1], c.name)
			}
		}
		if got := moves[string(s)]; !slices.Equal(got, want) {
			t.Errorf("the page has %q, want | %s |", got, strings.Join(want, " | "))
		}
	}
}

// TestTransitions has every event in every state, by itself and by the operations that lead to it.
func TestTransitions(t *testing.T) {
	_, moves := tableOf(t, "from")
	for i, c := range columns {
		by := func(u *Upload) error {
			u.mu.Lock()
			defer u.mu.Unlock()
			return u.transitLocked(c.ev, synced, func(r *Record) {
				if r.SHA256 == "" { // a record that is committed needs one
					r.SHA256, r.Size = sum("abc"), 3
				}
				r.SentSHA256, r.SentID = r.SHA256, "x"
				if c.ev.name == onWaitUnsent.name { // it has rested
					r.Rest = 0
				}
			})
		}
		for _, from := range states {
			want := State(moves[string(from)][i+1])
			for _, op := range append(c.ops, by) {
				t.Run(c.name+" "+string(from), func(t *testing.T) { walk(t, from, want, op) })
			}
		}
	}
	// What leads to no event of its own.
	for name, op := range map[string]func(*Upload) error{
		"sync":   syncIt,
		"update": func(u *Upload) error { return u.Update(func(r *Record) { r.Mtime = r.Created }) },
		"remove": (*Upload).Remove,
	} {
		for _, s := range states {
			t.Run(name+" "+string(s), func(t *testing.T) { walk(t, s, s, op) })
		}
	}
}

// walk does op in one state and compares what comes of it, in memory and on disk. No state is wanted for what is refused.
func walk(t *testing.T, from, want State, op func(*Upload) error) {
	t.Helper()
	s, _ := open(t, t.TempDir())
	u := inState(t, s, from)
	err := op(u)
	if from == Created && errors.Is(err, ErrEmpty) {
		return
	}
	if want == "" {
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
	if disk := onRecord(t, s, u.ID()); disk.State != want && factsOf[disk.State].after != factsOf[want].after {
		t.Fatalf("the disk says %s", disk.State)
	}
	u.content.mu.Lock()
	defer u.content.mu.Unlock()
	if u.content.sealed != !want.Written() {
		t.Errorf("the bytes of what is %s are sealed: %v", want, u.content.sealed)
	}
}

// What a close was answered with success for stays in its folder, whatever comes, until it is archived or somebody
// decides.
func TestAnswersAreKept(t *testing.T) {
	decided := map[string]bool{"write": true, "keep": true, "reopen": true, "cut off": true}
	for _, c := range columns {
		for from, to := range c.ev.to {
			kept := factsOf[to].refused == Failed || to == Confirmed
			if factsOf[from].refused == Failed && !decided[c.name] && !kept {
				t.Errorf("%s, on %s: %s forgets that a close was answered with success", from, c.name, to)
			}
		}
	}
	for s, f := range factsOf {
		if refused := factsOf[f.refused]; f.refused != "" && (!refused.failed || refused.due) {
			t.Errorf("%s, refused, is %s: the next close tries it again", s, f.refused)
		}
		if f.after != s && !factsOf[f.after].failed {
			t.Errorf("%s is %s after a restart", s, f.after)
		}
	}
}

// What else an event asks for, beside a state.
func TestTransitionsThatAskForMore(t *testing.T) {
	s, _ := open(t, t.TempDir())
	folder, err := s.CreateFolder(Record{Name: "x"}, false)
	must(t, err)
	for name, op := range map[string]func() error{
		"recommit of what was not recalled":    inState(t, s, Writing).Recommit,
		"recall of what is not queued":         inState(t, s, Committed).Recall,
		"retry of what waits for its close":    func() error { return retryIt(inState(t, s, Committed)) },
		"retry in doubt of what is not queued": func() error { return retryIt(inState(t, s, Sending)) },
		"reopen of a folder":                   folder.Reopen,
		"recall of a folder":                   folder.Recall,
	} {
		var state *StateError
		if err := op(); !errors.As(err, &state) {
			t.Errorf("%s: %v, want a *StateError", name, err)
		}
	}
	half := inState(t, s, Writing)
	must(t, half.Fail("because", false))
	if err := half.Retry(false); !errors.Is(err, ErrIncomplete) {
		t.Errorf("retry of what was never complete: %v", err)
	}
}

// While it is delivered an upload takes changes that the archive is not asked for, and nothing else.
func TestNothingElseDuringADelivery(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	f := newFake()
	_, err := Deliver(t.Context(), u, f, func(context.Context) ([]*archive.Document, error) {
		for name, op := range map[string]func(*Upload) error{
			"commit": commit, "recommit": (*Upload).Recommit, "keep": keep, "reopen": (*Upload).Reopen,
			"recall": (*Upload).Recall, "retry": retryIt, "remove": (*Upload).Remove,
			"fail":   func(u *Upload) error { return u.Fail("because", false) },
			"rename": func(u *Upload) error { return u.Update(func(r *Record) { r.Name = "y" }) },
		} {
			var state *StateError
			if err := op(u); !errors.As(err, &state) {
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

// inState makes an upload of that state, of a whole file of three bytes unless it was never closed.
func inState(t *testing.T, s *Spool, state State) *Upload {
	t.Helper()
	if state == Created {
		u, err := s.Create(lateBill())
		must(t, err)
		return u
	}
	u := create(t, s, lateBill(), "abc")
	f := newFake()
	switch state {
	case Promised:
		must(t, u.Sync(true))
	case Local:
		must(t, keep(u))
	case Committed, Lost:
		must(t, commit(u))
	case Sending:
		must(t, commit(u))
		f.script = []outcome{{err: kindErr(archive.KindTimeout)}}
		if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Queue: true}); err == nil {
			t.Fatal("delivered")
		}
	case Resting:
		must(t, u.Commit(true, func(r *Record) { r.Rest = time.Second }))
	case Queued, Recalled, Failed:
		must(t, enqueue(u))
	case Delivering:
		must(t, enqueue(u))
		f.script = []outcome{{err: kindErr(archive.KindTimeout)}}
		if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Queue: true}); err == nil {
			t.Fatal("delivered")
		}
	case Confirmed:
		must(t, commit(u))
		if _, err := Deliver(t.Context(), u, f, nil); err != nil {
			t.Fatal(err)
		}
	}
	switch state {
	case Failed, Lost:
		must(t, u.Fail("because", false))
	case Recalled:
		must(t, u.Recall())
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
	if r.State != Failed || r.Doubtful || r.Size != 9 || r.Reason != `killed\x1b[2J\u202e` {
		t.Fatalf("%+v", r)
	}
	wantData(t, u, "half a fi")
	must(t, u.Retry(true))
	if r := u.Record(); r.SHA256 != sum("half a fi") || r.State != Queued || r.Reason != "" {
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
	must(t, u.Retry(false))
	if r := u.Record(); !r.Doubtful || r.SentID == "" {
		t.Fatalf("%+v", r)
	}
}

func TestKeptFileIsUnfinishedOnceItIsWritten(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, Record{Name: "x.part"}, "abc")
	must(t, keep(u))
	s = reopen(t, s)
	u = again(t, s, u)
	if r := u.Record(); r.State != Local || r.Size != 3 {
		t.Fatalf("%+v", r)
	}
	if _, err := u.WriteAt([]byte("d"), 3); err != nil {
		t.Fatal(err)
	}
	s = reopen(t, s)
	u = again(t, s, u)
	if r := u.Record(); r.State != Lost || !strings.Contains(r.Reason, "never closed") {
		t.Fatalf("%+v", r)
	}
	wantData(t, u, "abcd")
}

func TestUpdateChangesWhatItMay(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := committed(t, s, lateBill(), "abc")
	before := u.Record()
	must(t, u.Update(func(r *Record) {
		*r = Record{Name: "new.pdf", Folder: 8, Attributes: archive.Attributes{Keywords: []string{"a"}}, Temporary: true, Xattrs: map[string][]byte{"user.x": {0, 255}}}
	}))
	after := u.Record()
	if after.Name != "new.pdf" || after.Folder != 8 || !after.Temporary || string(after.Xattrs["user.x"]) != "\x00\xff" {
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
	if err := commit(u); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	if err := u.Fail("x", false); !errors.Is(err, boom) {
		t.Fatal(err)
	}
	broken = false
	if _, err := u.WriteAt([]byte("d"), 3); err != nil {
		t.Fatal(err)
	}
	must(t, commit(u))
	if u.Record().SHA256 != sum("abcd") {
		t.Fatal("wrong checksum")
	}
}

// Nothing empty goes to the archive, whatever asks for it and whoever wrote the record.
func TestNothingEmptyIsCommitted(t *testing.T) {
	s, _ := open(t, t.TempDir())
	u := create(t, s, lateBill(), "")
	wantEmpty(t, "commit", commit(u))
	wantState(t, u, Created)
	must(t, u.Fail("killed", false))
	wantEmpty(t, "retry", u.Retry(false))
	wantEmpty(t, "retry as it is", u.Retry(true))
	wantState(t, u, Lost)
	r := u.Record()
	r.State, r.SHA256, r.Reason = Queued, sum(""), "" // as an older version would have it
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
