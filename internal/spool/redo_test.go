package spool

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/redolog"
)

// testLog is the size of the files of a redo log, in bytes: bodies of up to 4 KiB are logged.
const testLog = 64 << 10

// openLogged opens a spool whose next changes are logged.
func openLogged(t *testing.T) *Spool {
	t.Helper()
	s, _ := open(t, loggedDir(t), on("one"), func(o *Options) { o.RedoSize = testLog })
	return s
}

// loggedDir makes the directory of a spool whose redo log has both of its files, and nothing in them:
// what the next run changes is logged.
func loggedDir(t *testing.T) string {
	t.Helper()
	s, _ := open(t, t.TempDir(), on("one"), func(o *Options) { o.RedoSize = testLog })
	made := func() bool {
		files, err := os.ReadDir(s.dir + redoSuffix)
		must(t, err)
		return len(files) == 2 && !strings.HasPrefix(files[0].Name(), ".")
	}
	for i := 0; !made(); i++ {
		if i > 10_000 {
			t.Fatal("the log has no files")
		}
		u := create(t, s, lateBill(), "before")
		must(t, u.Sync())
		must(t, u.Remove())
	}
	must(t, s.Close())
	return s.dir
}

// inLog are the entries of the log.
func inLog(t *testing.T, s *Spool) []redolog.Entry {
	t.Helper()
	entries, done, err := redolog.Read(s.dir + redoSuffix)
	must(t, err)
	defer done()
	return entries
}

// crash is the next run of the program after a crash of the machine, which has left in place what
// damage makes of it.
func crash(t *testing.T, s *Spool, damage func(dir string)) *Spool {
	t.Helper()
	dir := copyDir(t, s.dir)
	damage(dir)
	left, err := LeftIn(dir)
	must(t, err)
	next, _ := open(t, dir, on("two"), func(o *Options) { o.RedoSize = testLog })
	if now := next.Left(); left != now {
		t.Errorf("without opening it %+v was left, then %+v", left, now)
	}
	return next
}

// The ways in which a crash can leave what was not synced in place.
var damages = map[string]func(t *testing.T, u *Upload) func(dir string){
	"nothing is lost": func(*testing.T, *Upload) func(string) { return func(string) {} },
	"all is lost": func(t *testing.T, u *Upload) func(string) {
		return func(dir string) { must(t, os.RemoveAll(filepath.Join(dir, u.ID()))) }
	},
	"the bytes are lost": func(t *testing.T, u *Upload) func(string) {
		return func(dir string) { must(t, os.RemoveAll(dataIn(filepath.Join(dir, u.ID())))) }
	},
	"all is torn": func(t *testing.T, u *Upload) func(string) {
		return func(dir string) {
			scribble(t, dataIn(filepath.Join(dir, u.ID())), "something else that is longer")
			scribble(t, filepath.Join(dir, u.ID(), recordFile), `{"version":1,"id":"`)
		}
	},
}

func TestTheRedoLogKeepsWhatWasPromised(t *testing.T) {
	ways := map[string]struct {
		do   func(*testing.T, *Upload)
		want State
		data string
	}{
		"queued":   {func(t *testing.T, u *Upload) { queue(t, u) }, Sending, billBytes}, // it may have been sent
		"recalled": {func(t *testing.T, u *Upload) { queue(t, u); must(t, u.Recall()) }, Created, billBytes},
		"sending": {func(t *testing.T, u *Upload) {
			queue(t, u)
			u.mu.Lock()
			defer u.mu.Unlock()
			must(t, u.transitLocked(onSend, synced, func(r *Record) { r.SentID, r.SentSHA256, r.SentName = "x", r.SHA256, r.Name }))
		}, Sending, billBytes},
		"synced":            {func(t *testing.T, u *Upload) { must(t, u.Sync()) }, Failed, billBytes},
		"kept":              {func(t *testing.T, u *Upload) { must(t, u.Keep()) }, Created, billBytes},
		"failed":            {func(t *testing.T, u *Upload) { must(t, u.Fail("because", Failure{Visible: true})) }, Failed, billBytes},
		"synced twice":      {func(t *testing.T, u *Upload) { must(t, u.Sync()); more(t, u, "more"); queue(t, u) }, Sending, billBytes + "more"},
		"kept after a sync": {func(t *testing.T, u *Upload) { must(t, u.Sync()); more(t, u, "more"); must(t, u.Keep()) }, Created, billBytes + "more"},
		"failed after a sync": {func(t *testing.T, u *Upload) {
			must(t, u.Sync())
			more(t, u, "more")
			must(t, u.Fail("because", Failure{Visible: true}))
		}, Failed, billBytes + "more"},
		"changed since": {func(t *testing.T, u *Upload) {
			must(t, u.Sync())
			more(t, u, "more")
		}, Failed, billBytes},
	}
	for name, way := range ways {
		for how, damage := range damages {
			t.Run(name+", "+how, func(t *testing.T) {
				s := openLogged(t)
				u := create(t, s, lateBill(), billBytes)
				way.do(t, u)
				s = crash(t, s, damage(t, u))
				u = again(t, s, u)
				if u.Broken() {
					t.Fatal(u.broken)
				}
				wantState(t, u, way.want)
				wantData(t, u, way.data)
			})
		}
	}
}

func queue(t *testing.T, u *Upload) {
	t.Helper()
	must(t, u.CommitAs(func(r *Record) { r.Queued = true }))
}

func more(t *testing.T, u *Upload, text string) {
	t.Helper()
	_, err := u.WriteAt([]byte(text), u.Size())
	must(t, err)
}

// A small file was logged; what it is after it has grown is not undone.
func TestTheRedoLogDoesNotUndoWhatIsDurableInPlace(t *testing.T) {
	s := openLogged(t)
	u := create(t, s, lateBill(), billBytes)
	must(t, u.Sync())
	long := strings.Repeat("x", int(s.redo.Most()))
	more(t, u, long)
	must(t, u.Sync())
	s = crash(t, s, func(string) {})
	wantData(t, again(t, s, u), billBytes+long)
}

// What was removed does not come back, whatever a crash makes of its directory.
func TestTheRedoLogForgetsWhatWasRemoved(t *testing.T) {
	for _, reused := range []bool{false, true} {
		s := openLogged(t)
		u := create(t, s, lateBill(), billBytes)
		queue(t, u)
		before := copyDir(t, s.dir)
		must(t, u.Remove())
		var other *Upload
		if reused {
			other = create(t, s, lateBill(), "other")
			queue(t, other)
		}
		s = crash(t, s, func(dir string) {
			must(t, os.CopyFS(filepath.Join(dir, u.ID()), os.DirFS(filepath.Join(before, u.ID()))))
		})
		if _, ok := s.Get(u.ID()); ok {
			t.Error("it has come back")
		}
		if reused {
			wantData(t, again(t, s, other), "other")
		}
	}
}

// After an end of the program alone what is in place counts, because it may be newer.
func TestTheRedoLogIsNotReplayedInTheSameRunOfTheMachine(t *testing.T) {
	s := openLogged(t)
	u := create(t, s, lateBill(), billBytes)
	must(t, u.Sync())
	more(t, u, "more")
	s = reopen(t, s, on("one"), func(o *Options) { o.RedoSize = testLog })
	wantData(t, again(t, s, u), billBytes+"more")
}

// When the log is full what it says becomes durable in place, and at the end of the program all does.
func TestTheRedoLogIsEmptied(t *testing.T) {
	s := openLogged(t)
	var all []*Upload
	for range 60 { // 3 MB
		u := create(t, s, lateBill(), strings.Repeat("y", 50_000))
		queue(t, u)
		all = append(all, u)
	}
	must(t, s.Close())
	if left := inLog(t, s); len(left) != 0 {
		t.Errorf("%d entries are left", len(left))
	}
	s, _ = open(t, s.dir, on("two"))
	for _, u := range all {
		wantState(t, again(t, s, u), Committed)
	}
}

func TestRewriteChangesNothing(t *testing.T) {
	path, text := filepath.Join(t.TempDir(), "file"), strings.Repeat("0123456789", 30_000)
	scribble(t, path, text)
	must(t, checkpointFile(path, true))
	if b, err := os.ReadFile(path); err != nil || string(b) != text {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}

// What the background has archived goes at once, and durably a little later. A crash in between
// brings it back as one that was being sent, and it is found in the archive.
func TestWhatTheBackgroundHasArchivedGoesInGroups(t *testing.T) {
	s := openLogged(t)
	f := newFake()
	var all []*Upload
	for range 5 {
		u := create(t, s, lateBill(), billBytes)
		queue(t, u)
		if _, err := Deliver(t.Context(), u, f, nil); err != nil {
			t.Fatal(err)
		}
		must(t, u.Remove())
		all = append(all, u)
	}
	if left := s.List(); len(left) != 0 {
		t.Errorf("%d uploads are left", len(left))
	}
	next := crash(t, s, func(string) {})
	for _, u := range all {
		u, ok := next.Get(u.ID())
		if !ok {
			continue
		}
		wantState(t, u, Sending)
		if _, err := Deliver(t.Context(), u, f, nil); err != nil {
			t.Error(err)
		}
	}
	if n := len(f.holding(billBytes)); n != len(all) {
		t.Errorf("the archive has %d documents, want %d", n, len(all))
	}
	must(t, s.Close())
	if left := hidden(t, s); len(left) != 0 {
		t.Errorf("left behind: %q", left)
	}
	if next := crash(t, s, func(string) {}); len(next.List()) != 0 {
		t.Error("some come back")
	}
}

// A removal that had begun is not undone: half of the upload would come back.
func TestTheRedoLogDoesNotUndoARemovalThatHadBegun(t *testing.T) {
	s := openLogged(t)
	u := create(t, s, lateBill(), billBytes)
	queue(t, u)
	s = crash(t, s, func(dir string) {
		must(t, os.Rename(filepath.Join(dir, u.ID()), filepath.Join(dir, trashPrefix+u.ID())))
	})
	if _, ok := s.Get(u.ID()); ok {
		t.Error("it has come back")
	}
}

// A person renames a document, or moves it out of an inbox. If a crash brought its upload back, that would
// not be found, and be sent once more.
func TestRemovalsAreDurableBeforeADocumentMoves(t *testing.T) {
	s := openLogged(t)
	u := create(t, s, lateBill(), "scan")
	queue(t, u)
	if _, err := Deliver(t.Context(), u, newFake(), nil); err != nil {
		t.Fatal(err)
	}
	must(t, u.Remove())
	must(t, s.SyncRemovals())
	wantGone(t, s, u)
}

// wantGone says that the redo log has the removal of an upload.
func wantGone(t *testing.T, s *Spool, u *Upload) {
	t.Helper()
	if !slices.ContainsFunc(inLog(t, s), func(e redolog.Entry) bool { return e.Key == u.ID() && e.Meta[0] == isGone }) {
		t.Error("a crash brings it back")
	}
}

// A replacement that came back would undo the next one of the same document.
func TestRemovalsAreDurableBeforeADocumentIsReplacedAgain(t *testing.T) {
	s := openLogged(t)
	f := newFake()
	doc := f.add(9, "scan.pdf", "", "first")
	replace := func(text string) *Upload {
		u := create(t, s, Record{Folder: 9, Inbox: true, Name: "scan.pdf", Replace: doc}, text)
		queue(t, u)
		if _, err := Deliver(t.Context(), u, f, nil); err != nil {
			t.Fatal(err)
		}
		return u
	}
	first := replace("second")
	must(t, first.Remove())
	f.script = []outcome{{commit: true, then: func() { wantGone(t, s, first) }}}
	replace("third")
	if len(f.script) != 0 {
		t.Error("it was not sent")
	}
}

// A removal that was answered with an error may be in the redo log all the same. The upload that is still
// there has its bytes.
func TestARemovalThatFailedIsInTheLog(t *testing.T) {
	id := strings.Repeat("a", idLength)
	body := io.NewSectionReader(strings.NewReader("scan"), 0, 4)
	last := lastOf([]redolog.Entry{
		{Key: id, Meta: meta(asLogged, []byte("1")), Body: body}, {Key: id, Meta: meta(isGone, nil)}, {Key: id, Meta: meta(asLogged, []byte("2"))},
	})[id]
	if last.kind != asLogged || string(last.record) != "2" || last.body != body {
		t.Errorf("the last state is %+v", last)
	}
}

// A crash after a removal that failed finds an upload that is archived, not one that was being sent.
func TestARemovalThatFailsKeepsTheConfirmation(t *testing.T) {
	s, _ := open(t, t.TempDir(), on("one"))
	u := committed(t, s, lateBill(), "scan")
	if _, err := Deliver(t.Context(), u, newFake(), nil); err != nil {
		t.Fatal(err)
	}
	must(t, os.MkdirAll(filepath.Join(s.dir, trashPrefix+u.ID(), "in the way"), 0o700))
	if err := u.Remove(); err == nil {
		t.Fatal("it is removed")
	}
	wantState(t, again(t, reopen(t, s, on("two")), u), Confirmed)
}
