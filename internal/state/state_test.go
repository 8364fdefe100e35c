package state_test

import (
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.etcd.io/bbolt"

	"github.com/archivefs/archivefs/archive"
	"github.com/archivefs/archivefs/internal/state"
)

func open(t *testing.T, path string) *state.Store {
	t.Helper()
	s, err := state.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// reopen closes s and opens its file again, as another mount does.
func reopen(t *testing.T, s *state.Store, path string) *state.Store {
	t.Helper()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return open(t, path)
}

func statePath(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "state.db")
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// ids are the numbers that documents and folders may have, and -1, under which the
// inboxes directory is kept.
var ids = []archive.ID{-1, 1, 255, 256, 1 << 40, math.MaxInt64}

func TestTimes(t *testing.T) {
	path := statePath(t)
	s := open(t, path)
	times := map[archive.ID]time.Time{}
	for i, id := range ids {
		if got, ok := s.Time(id); ok {
			t.Errorf("document %d has the time %v before one was set", id, got)
		}
		times[id] = time.Date(1970+10*i, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("", 3600))
		s.SetTime(id, times[id])
	}
	s.SetTime(7, time.Unix(0, 0))
	times[7] = time.Unix(0, 0)
	times[8] = time.Date(2500, 1, 1, 0, 0, 0, 1, time.UTC) // past what nanoseconds in 64 bits reach
	s.SetTime(8, times[8])
	s = reopen(t, s, path)
	for id, want := range times {
		if got, ok := s.Time(id); !ok || !got.Equal(want) {
			t.Errorf("document %d: got %v, %v; want %v", id, got, ok, want)
		}
	}
	s.SetTime(1, times[256])
	if got, _ := s.Time(1); !got.Equal(times[256]) {
		t.Errorf("a second time is not kept: got %v", got)
	}
	s.SetTime(1, time.Time{})
	if got, ok := s.Time(1); ok {
		t.Errorf("the zero time does not forget: got %v", got)
	}
	if _, ok := s.Time(255); !ok {
		t.Error("forgetting one time took another along")
	}
}

func TestKeywords(t *testing.T) {
	path := statePath(t)
	s := open(t, path)
	if got, ok := s.Keywords(1); ok {
		t.Errorf("got %q before any were set", got)
	}
	want := map[archive.ID][]string{
		1: {"Rechnung", "a, b", `back\slash`, "Straße", ""},
		2: {},
		3: {"only"},
	}
	for id, k := range want {
		must(t, s.SetKeywords(id, k))
	}
	s = reopen(t, s, path)
	for id, k := range want {
		if got, ok := s.Keywords(id); !ok || !reflect.DeepEqual(got, k) {
			t.Errorf("document %d: got %q, %v; want %q", id, got, ok, k)
		}
	}
	must(t, s.SetKeywords(1, nil))
	if got, ok := s.Keywords(1); ok {
		t.Errorf("nil does not forget: got %q", got)
	}
	if got, ok := s.Keywords(3); !ok || len(got) != 1 {
		t.Errorf("forgetting one document's keywords took another's along: got %q, %v", got, ok)
	}
	must(t, s.SetKeywords(4, nil)) // nothing to forget
}

func TestWithKeyword(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "state.db"))
	for id, keywords := range map[archive.ID][]string{3: {"Open", "new"}, 1: {"open"}, 2: {"opened"}, 4: {}} {
		if err := s.SetKeywords(id, keywords); err != nil {
			t.Fatal(err)
		}
	}
	if got := s.WithKeyword("open"); !slices.Equal(got, []archive.ID{1, 3}) {
		t.Errorf("got %v", got)
	}
	if got := s.WithKeyword("nothing"); got != nil {
		t.Errorf("got %v", got)
	}
}

func TestDefaults(t *testing.T) {
	path := statePath(t)
	s := open(t, path)
	if got := s.Defaults(1); !reflect.DeepEqual(got, archive.Attributes{}) {
		t.Errorf("got %+v before any were set", got)
	}
	tests := map[archive.ID]archive.Attributes{
		-1: {Keywords: []string{"Eingang"}},
		1: {
			Keywords: []string{"a, b", "c"}, Types: []string{"Rechnung"},
			Metadata:         []archive.KeyValue{{Key: "Kunde", Value: "Müller & Söhne"}, {Key: "b", Value: ""}},
			EmailImportOrder: archive.AttachmentsThenEmail, ForceNew: archive.FlagFalse,
		},
		2: {ForceNew: archive.FlagTrue},
		3: {EmailImportOrder: archive.EmailOnly},
		4: {Types: []string{"Brief"}},
		5: {Metadata: []archive.KeyValue{{Key: "k", Value: "v"}}},
	}
	for id, d := range tests {
		must(t, s.SetDefaults(id, d))
	}
	s = reopen(t, s, path)
	for id, want := range tests {
		if got := s.Defaults(id); !reflect.DeepEqual(got, want) {
			t.Errorf("folder %d: got %+v, want %+v", id, got, want)
		}
	}
	must(t, s.SetDefaults(1, archive.Attributes{Keywords: []string{}}))
	if got := s.Defaults(1); !reflect.DeepEqual(got, archive.Attributes{}) {
		t.Errorf("empty defaults do not forget: got %+v", got)
	}
	if got := s.Defaults(2); got.ForceNew != archive.FlagTrue {
		t.Errorf("forgetting one folder's defaults took another's along: got %+v", got)
	}
}

func TestKept(t *testing.T) {
	path := statePath(t)
	s := open(t, path)
	if got := s.Kept(); len(got) != 0 {
		t.Errorf("got %+v before anything was kept", got)
	}
	want := map[state.KeptID]state.Kept{
		{ID: 5}:                 {Line: []archive.ID{1, 5}, Mandator: "Muster GmbH"},
		{ID: 5, Document: true}: {Line: []archive.ID{7}},
		{ID: math.MaxInt64}:     {Line: []archive.ID{math.MaxInt64}},
	}
	for of, kept := range want {
		must(t, s.SetKept(of, &kept))
	}
	must(t, s.SetKept(state.KeptID{ID: 9}, &state.Kept{Line: []archive.ID{9}}))
	must(t, s.SetKept(state.KeptID{ID: 9}, nil))
	s = reopen(t, s, path)
	if got := s.Kept(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Defaults of this form lie on disks.
func TestDefaultsForm(t *testing.T) {
	const form = `{"document-types":["t"],"email-import-order":"EMAIL_ONLY","force-new-document":1,` +
		`"keywords":["a"],"metadata":[{"Key":"k","Value":"v"}]}`
	want := archive.Attributes{
		Keywords: []string{"a"}, Types: []string{"t"}, Metadata: []archive.KeyValue{{Key: "k", Value: "v"}},
		EmailImportOrder: archive.EmailOnly, ForceNew: archive.FlagFalse,
	}
	path := statePath(t)
	s := open(t, path)
	must(t, s.SetDefaults(1, want))
	must(t, s.Close())
	bucket := []byte("defaults-v1")
	db, err := bbolt.Open(path, 0o600, nil)
	must(t, err)
	must(t, db.Update(func(tx *bbolt.Tx) error {
		b := tx.Bucket(bucket)
		if got := b.Get([]byte{7: 1}); string(got) != form {
			t.Errorf("written as %s", got)
		}
		must(t, b.Put([]byte{7: 3}, []byte(`{"force-new-document":"no number"}`)))
		return b.Put([]byte{7: 2}, []byte(form))
	}))
	must(t, db.Close())
	s = open(t, path)
	if got := s.Defaults(2); !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if got := s.Defaults(3); !reflect.DeepEqual(got, archive.Attributes{}) {
		t.Errorf("got %+v of what cannot be read", got)
	}
}

func TestDocumentsAndFoldersOfOneNumberAreKeptApart(t *testing.T) {
	s := open(t, statePath(t))
	must(t, s.SetKeywords(5, []string{"document"}))
	must(t, s.SetDefaults(5, archive.Attributes{Keywords: []string{"folder"}}))
	s.SetTime(5, time.Unix(5, 0))
	must(t, s.SetDefaults(5, archive.Attributes{}))
	if got, ok := s.Keywords(5); !ok || got[0] != "document" {
		t.Errorf("got keywords %q, %v", got, ok)
	}
	if got, ok := s.Time(5); !ok || !got.Equal(time.Unix(5, 0)) {
		t.Errorf("got time %v, %v", got, ok)
	}
}

func TestFileIsForTheUserAlone(t *testing.T) {
	path := statePath(t)
	must(t, os.WriteFile(path, nil, 0o644))
	must(t, os.Chmod(path, 0o644))
	open(t, path)
	info, err := os.Stat(path)
	must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the state file has mode %v, want -rw-------", info.Mode().Perm())
	}
}

func TestOpenFails(t *testing.T) {
	dir := t.TempDir()
	broken := filepath.Join(dir, "broken")
	must(t, os.WriteFile(broken, []byte("this is no database, and long enough to be looked at"), 0o600))
	for _, path := range []string{filepath.Join(dir, "missing", "state.db"), dir, broken} {
		if s, err := state.Open(path); err == nil {
			t.Errorf("%s was opened", path)
			must(t, s.Close())
		}
	}
}

func TestConcurrentUse(t *testing.T) {
	s := open(t, statePath(t))
	var wg sync.WaitGroup
	for i := range archive.ID(20) {
		wg.Go(func() {
			s.SetTime(i, time.Unix(int64(i), 0))
			if got, ok := s.Time(i); !ok || got.Unix() != int64(i) {
				t.Errorf("document %d: got %v, %v", i, got, ok)
			}
		})
	}
	wg.Wait()
}

func TestClosedStoreKnowsNothing(t *testing.T) {
	s, err := state.Open(statePath(t))
	must(t, err)
	s.SetTime(1, time.Unix(1, 0))
	must(t, s.Close())
	if got, ok := s.Time(1); ok {
		t.Errorf("a closed store tells the time %v", got)
	}
	if err := s.SetKeywords(1, []string{"a"}); err == nil {
		t.Error("a closed store took a change")
	}
}

// Many times cost one write of the file, which nobody waits for.
func TestTimesAreWrittenTogether(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		path := statePath(t)
		s := open(t, path)
		before := fileOf(t, path)
		for i := range archive.ID(100) {
			s.SetTime(i, time.Unix(int64(i), 0))
		}
		if fileOf(t, path) != before {
			t.Error("a time was written at once")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		copied := filepath.Join(t.TempDir(), "copy") // as a crash would leave it now
		must(t, os.WriteFile(copied, []byte(fileOf(t, path)), 0o600))
		if got, ok := open(t, copied).Time(99); !ok || got.Unix() != 99 {
			t.Errorf("got %v, %v two seconds later", got, ok)
		}
	})
}

func fileOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}
