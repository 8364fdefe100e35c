package cache_test

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/archivefs/archivefs/cache"
)

// store is where a service on this machine keeps contents.
type store struct {
	t   *testing.T
	dir string
}

// local makes the shelf one of a service on this machine.
func (s *shelf) local(t *testing.T) *store {
	t.Helper()
	st := &store{t, t.TempDir()}
	s.service = st.local
	s.restart()
	return st
}

func (st *store) file(sum string) string { return filepath.Join(st.dir, sum) }

func (st *store) local(sum string, later bool) string {
	path := st.file(sum)
	if _, err := os.Stat(path); err != nil && later {
		return ""
	}
	return path
}

// keep has the service keep data, and returns their sum.
func (st *store) keep(data string) (sum string) {
	st.t.Helper()
	b := sha256.Sum256([]byte(data))
	sum = hex.EncodeToString(b[:])
	if err := os.WriteFile(st.file(sum), []byte(data), 0o600); err != nil {
		st.t.Fatal(err)
	}
	return sum
}

// What a service keeps on this machine is read from there, and never removed.
func TestContentsOfAServiceOnThisMachine(t *testing.T) {
	s := newShelf(t, 10)
	st := s.local(t)
	sum := st.keep("longer than the limit")
	r := s.open(key(1), ever, whole("longer than the limit", `"`+sum+`"`))
	wantBytes(t, r, "longer than the limit")
	if r.File() == nil || r.File().Name() != st.file(sum) {
		t.Errorf("read from %v", r.File())
	}
	again := s.open(key(1), ever, unasked(t))
	if again.Serial() != r.Serial() {
		t.Error("it is another content at the next open")
	}
	s.wantUsage(0, 0)
	if local := s.Stats().Local; local != 1 {
		t.Errorf("%d contents are in files of the service, want 1", local)
	}
	s.put(key(2), "0123456789")
	s.put(key(3), "0123456789") // which the limit makes room for
	s.Remove(key(1))
	_, _ = r.Close(), again.Close()
	s.wantUsage(1, 10)
	if local := s.Stats().Local; local != 0 {
		t.Errorf("%d contents are in files of the service after the removal, want 0", local)
	}
	if b, err := os.ReadFile(st.file(sum)); err != nil || string(b) != "longer than the limit" {
		t.Errorf("the service's file has %q, %v", b, err)
	}
}

// What the service has not, or has no more, is asked for.
func TestContentsThatTheServiceHasNoFileOf(t *testing.T) {
	s := newShelf(t, 100)
	st := s.local(t)
	sum := st.keep("here")
	wantBytes(t, s.open(key(1), ever, whole("other", `"`+sum+`"`)), "other") // of another length
	wantBytes(t, s.open(key(2), ever, whole("tagged", `"tag"`)), "tagged")
	wantBytes(t, s.open(key(3), ever, whole("untagged", "")), "untagged")
	r := s.open(key(4), ever, whole("here", `"`+sum+`"`))
	_ = r.Close()
	if err := os.Remove(st.file(sum)); err != nil {
		t.Fatal(err)
	}
	wantBytes(t, s.open(key(4), ever, whole("new", "")), "new")
	if n := s.Stats().Damaged; n != 0 {
		t.Errorf("%d damaged", n)
	}
}

func TestAdoptingWhatTheServiceKeeps(t *testing.T) {
	s := newShelf(t, 100)
	old := filepath.Join(t.TempDir(), "old")
	if err := os.WriteFile(old, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	b := sha256.Sum256([]byte("old"))
	if err := s.Adopt(key(1), cache.Adoption{Path: old, Sum: hex.EncodeToString(b[:]), Print: forever.Print}); err != nil {
		t.Fatal(err)
	}
	s.wantUsage(1, 3)
	st := &store{t, t.TempDir()}
	st.keep("old")
	s.service = st.local
	s.restart() // what is kept twice goes
	s.wantUsage(0, 0)
	path := filepath.Join(t.TempDir(), "data")
	if err := os.WriteFile(path, []byte("put in"), 0o600); err != nil {
		t.Fatal(err)
	}
	sum := st.keep("put in")
	if err := s.Adopt(key(1), cache.Adoption{Path: path, Sum: sum}); err != nil {
		t.Fatal(err)
	}
	s.wantUsage(0, 0)
	r := s.open(key(1), time.Minute, unasked(t))
	wantBytes(t, r, "put in")
	_ = r.Close()
	s.advance(time.Hour) // it is validated
	wantBytes(t, s.open(key(1), time.Minute, notModified), "put in")
}
