package spool

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/journal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// clock is a time that passes only while somebody sleeps.
type clock struct {
	mu    sync.Mutex
	t     time.Time
	slept []time.Duration
}

func newClock() *clock { return &clock{t: time.Date(2024, 5, 6, 7, 8, 9, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) sleep(ctx context.Context, d time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
	c.slept = append(c.slept, d)
	return nil
}

func (c *clock) total() (d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, s := range c.slept {
		d += s
	}
	return d
}

// open opens a spool in dir on a clock of its own, and closes it when the test ends.
func open(t testing.TB, dir string, change ...func(*Options)) (*Spool, *clock) {
	t.Helper()
	c := newClock()
	opts := Options{Dir: dir, Now: c.now, Sleep: c.sleep, RetryFor: 3 * time.Second}
	for _, f := range change {
		f(&opts)
	}
	s, err := Open(opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() }) // a test may have closed it
	return s, c
}

// reopen stands for the next run of the program, after one that was killed.
func reopen(t testing.TB, s *Spool, change ...func(*Options)) *Spool {
	t.Helper()
	if err := s.free(); err != nil {
		t.Fatal(err)
	}
	next, _ := open(t, s.dir, change...)
	return next
}

func again(t testing.TB, s *Spool, u *Upload) *Upload {
	t.Helper()
	next, ok := s.Get(u.ID())
	if !ok {
		t.Fatalf("upload %s is gone", u.ID())
	}
	return next
}

// create makes an upload that holds data.
func create(t testing.TB, s *Spool, r Record, data string) *Upload {
	t.Helper()
	u, err := s.Create(r)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := u.WriteAt([]byte(data), 0); err != nil {
		t.Fatal(err)
	}
	return u
}

// What an upload is told in most tests.
func same(*Record)                {}
func commit(u *Upload) error      { return u.Commit(false, same) }
func enqueue(u *Upload) error     { return u.Commit(true, same) }
func keep(u *Upload) error        { return u.Keep("", same) }
func syncIt(u *Upload) error      { return u.Sync(false) }
func promise(u *Upload) error     { return u.Sync(true) }
func retryIt(u *Upload) error     { return u.Retry(false) }
func retryAsItIs(u *Upload) error { return u.Retry(true) }

// committed makes an upload that can be sent.
func committed(t testing.TB, s *Spool, r Record, data string) *Upload {
	t.Helper()
	u := create(t, s, r, data)
	must(t, commit(u))
	return u
}

// store writes a record as it is, whatever the table of transitions says.
func store(t testing.TB, u *Upload, r Record) {
	t.Helper()
	u.mu.Lock()
	defer u.mu.Unlock()
	must(t, u.storeLocked(&r, synced))
}

func isDurable(u *Upload) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.durable
}

// isOpen reports whether the data has a descriptor.
func isOpen(u *Upload) bool {
	u.content.files.Lock()
	defer u.content.files.Unlock()
	return u.content.refs > 0
}

// onRecord returns the last record of an upload as it stands in the journal.
func onRecord(t testing.TB, s *Spool, id string) Record {
	t.Helper()
	r, _ := lastOnDisk(t, s, id)
	return r
}

// lastOnDisk returns the last record of an upload as it stands in the journal, and whether it is said to be durable.
func lastOnDisk(t testing.TB, s *Spool, id string) (r Record, durable bool) {
	t.Helper()
	left := newLeft()
	done, err := journal.Read(s.dir, left.replay)
	must(t, err)
	done()
	u := left.uploads[id]
	if u == nil {
		t.Fatalf("the journal does not have upload %s", id)
	}
	r, err = u.decode(id)
	must(t, err)
	return r, u.record.Durable
}

// overwrite changes bytes of the journal behind the spool's back.
func overwrite(t testing.TB, s *Spool, was, is string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(s.dir, "log.*"))
	must(t, err)
	for _, path := range files {
		b, err := os.ReadFile(path)
		must(t, err)
		if at := bytes.LastIndex(b, []byte(was)); at >= 0 {
			f, err := os.OpenFile(path, os.O_WRONLY, 0)
			must(t, err)
			_, err = f.WriteAt([]byte(is), int64(at))
			must(t, errors.Join(err, f.Close()))
			return
		}
	}
	t.Fatalf("the journal has no %q", was)
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantState(t testing.TB, u *Upload, want State) {
	t.Helper()
	if r := u.Record(); r.State != want {
		t.Fatalf("upload is %s (%s), want %s", r.State, r.Reason, want)
	}
}

func wantData(t testing.TB, u *Upload, want string) {
	t.Helper()
	got, err := io.ReadAll(io.NewSectionReader(u, 0, u.Size()))
	if err != nil || string(got) != want {
		t.Fatalf("data is %q, %v; want %q", got, err, want)
	}
}

func sum(data string) string {
	h := sha256.Sum256([]byte(data))
	return hex.EncodeToString(h[:])
}

// lateBill is the upload of most tests.
func lateBill() Record {
	return Record{Folder: 7, Path: "Muster GmbH/Rechnungen", Name: "Mahnung.pdf", Attributes: archive.Attributes{Keywords: []string{"offen"}}}
}

func kindErr(kind archive.Kind) error { return &archive.Error{Op: "file-upload", Kind: kind} }

// scribble changes a file behind the spool's back.
func scribble(t testing.TB, path, data string) {
	t.Helper()
	must(t, os.WriteFile(path, []byte(data), 0o600))
}

// readFile is the content of a file, empty without one.
func readFile(path string) string {
	b, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return string(b)
}
