package spool

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/archive"
)

// One damaged block of the journal, wherever it lies, costs at most the upload that it is of, which then fails or is
// gone with what it held. Those that may miss a record wait for somebody to retry them. No wrong byte is sent.
func TestAnyDamagedBlock(t *testing.T) {
	small := func(o *Options) { o.JournalSize, o.Boot = 64<<10, "one" }
	origin := t.TempDir()
	s, _ := open(t, origin, small)
	held := map[string]string{} // the contents of uploads by their ids
	for i, state := range []State{Queued, Local, Committed, Recalled, Failed, Resting} {
		u := inState(t, s, state)
		must(t, u.Update(func(r *Record) { r.Name = fmt.Sprintf("%d.pdf", i) }))
		held[u.ID()] = "abc"
	}
	for i := range 3 {
		content := fmt.Sprintf("content %d of some blocks %06000d", i, i)
		held[queuedWith(t, s, content).ID()] = content
	}
	must(t, s.free())
	files, err := filepath.Glob(filepath.Join(origin, "log.*"))
	must(t, err)
	blocks, harmed := 0, 0
	for _, file := range files {
		was, err := os.ReadFile(file)
		must(t, err)
		for off := 0; off < len(was) && was[off] != 0; off += 4096 { // the rest was never written
			for name, damage := range map[string]func([]byte){
				"flipped": func(b []byte) { b[100] ^= 0x40 },
				"zeros":   func(b []byte) { clear(b) },
			} {
				dir := t.TempDir()
				must(t, os.CopyFS(dir, os.DirFS(origin)))
				is := append([]byte(nil), was...)
				damage(is[off : off+4096])
				must(t, os.WriteFile(filepath.Join(dir, filepath.Base(file)), is, 0o600))
				blocks++
				harmed += afterDamage(t, fmt.Sprintf("%s, block %d %s", filepath.Base(file), off/4096, name), dir, held, small)
			}
		}
	}
	t.Logf("%d damaged blocks, %d uploads harmed", blocks, harmed)
	if blocks < 20 {
		t.Error("the journal is too small to show anything")
	}
}

// queuedWith makes an upload of a content that is in the queue.
func queuedWith(t *testing.T, s *Spool, content string) *Upload {
	t.Helper()
	u := create(t, s, Record{Folder: 7, Name: "long.pdf"}, content)
	must(t, enqueue(u))
	return u
}

// afterDamage opens a damaged spool, has it send everything, and returns how many uploads are harmed.
func afterDamage(t *testing.T, what, dir string, held map[string]string, change func(*Options)) (harmed int) {
	t.Helper()
	s, _ := open(t, dir, change)
	f := newFake()
	for id := range held {
		u, there := s.Get(id)
		if !there || u.State() == Unusable || u.State() == Lost {
			harmed++
			continue
		}
		if u.Record().Reason == errMissed.Error() {
			must(t, u.Retry(false))
		}
		if u.State() == Recalled {
			must(t, u.Recommit())
		}
		if u.State().InQueue() {
			if _, err := DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true}); err != nil {
				harmed++
			}
		}
	}
	whole := map[string]bool{}
	for _, content := range held {
		whole[content] = true
	}
	for _, d := range f.docs {
		if !whole[string(d.bytes)] {
			t.Errorf("%s: %q was sent", what, d.bytes[:min(len(d.bytes), 40)])
		}
	}
	if harmed > 1 {
		t.Errorf("%s: %d uploads are harmed", what, harmed)
	}
	must(t, s.free())
	return harmed
}

// What had been archived before the journal was damaged, and whose record of that is lost, is found when it is retried,
// by its content: under its name, whatever key it was sent with, or with none that the service shows.
func TestWhatMissesARecordIsLookedFor(t *testing.T) {
	for name, tt := range map[string]struct {
		archived string // the content under its name; empty for none
		hide     bool
		external string // its external id, empty for a made up one
		content  error  // of a look at it
		want     State
		docs     int
	}{
		"archived":                      {archived: "abc", want: Confirmed, docs: 1},
		"archived, no id shown":         {archived: "abc", hide: true, want: Confirmed, docs: 1},
		"not archived":                  {want: Confirmed, docs: 1},
		"another of its name":           {archived: "xyz", want: Confirmed, docs: 2},
		"somebody else's of its name":   {archived: "abc", external: "theirs", want: Confirmed, docs: 2},
		"archived, and cannot be read":  {archived: "abc", content: kindErr(archive.KindForbidden), want: Failed, docs: 1},
		"archived, the service is away": {archived: "abc", content: kindErr(archive.KindUnreachable), want: Delivering, docs: 1},
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, t.TempDir())
			u := inState(t, s, Queued)
			u.mu.Lock()
			err := u.insistLocked(onFailShown, synced, (*Record).miss)
			u.mu.Unlock()
			must(t, err)
			f := newFake()
			f.hideIDs, f.content = tt.hide, tt.content
			if tt.archived != "" {
				f.add(7, "Mahnung.pdf", cmp.Or(tt.external, idPrefix+"lost"), tt.archived)
			}
			s = reopen(t, s)
			u = again(t, s, u)
			wantState(t, u, Failed)
			must(t, u.Retry(false))
			_, err = DeliverWith(t.Context(), u, f, nil, Policy{Attempts: 1, Queue: true})
			if u.State() != tt.want || len(f.docs) != tt.docs {
				t.Errorf("it is %s, %d documents, %v; want %s, %d", u.State(), len(f.docs), err, tt.want, tt.docs)
			}
		})
	}
}

// What lost the record that made it durable, or a bit of it, is kept after a crash of the machine, too, and is not sent by
// what is left.
func TestWhatMissesItsDurableRecordIsKept(t *testing.T) {
	for name, damage := range map[string]func([]byte, int){
		"a bit of it": func(b []byte, at int) { b[at+len(`"folder":`)] ^= 1 }, // another number
		"all of it":   func(b []byte, at int) { clear(b[at/4096*4096:][:4096]) },
	} {
		t.Run(name, func(t *testing.T) {
			s, _ := open(t, t.TempDir(), on("one"))
			u := create(t, s, lateBill(), billBytes)
			must(t, u.Update(func(r *Record) { r.Mtime = r.Created })) // not durable
			must(t, enqueue(u))
			var file string
			var was []byte
			for _, path := range get(filepath.Glob(filepath.Join(s.dir, "log.*")))(t) {
				if b := get(os.ReadFile(path))(t); bytes.Contains(b, []byte(`"state":"queued"`)) {
					file, was = path, b
				}
			}
			end := len(bytes.TrimRight(was, "\x00"))
			damage(was, bytes.LastIndex(was, []byte(`"folder":`)))
			queuedWith(t, s, "behind it")
			queuedWith(t, s, "and behind that") // which says that it was durable up to there
			f := get(os.OpenFile(file, os.O_WRONLY, 0))(t)
			_, err := f.WriteAt(was[:end], 0)
			must(t, errors.Join(err, f.Close()))
			s = reopen(t, s, on("two"))
			u = again(t, s, u)
			wantData(t, u, billBytes)
			if u.State().InQueue() {
				t.Errorf("it is %s", u.State())
			}
		})
	}
}

func get[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		must(t, err)
		return v
	}
}
