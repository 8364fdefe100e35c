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
	want := map[archive.ID]state.Times{}
	for i, id := range ids {
		if got := s.Times(id); got != (state.Times{}) {
			t.Errorf("document %d has the times %v before any were set", id, got)
		}
		modified := time.Date(1970+10*i, 1, 2, 3, 4, 5, 678_901_234, time.FixedZone("", 3600))
		want[id] = state.Times{Modified: modified, Changed: modified.Add(time.Hour)}
		s.SetModified(id, modified, want[id].Changed)
	}
	s.SetModified(7, time.Unix(0, 0), time.Unix(1, 0))
	want[7] = state.Times{Modified: time.Unix(0, 0), Changed: time.Unix(1, 0)}
	far := time.Date(2500, 1, 1, 0, 0, 0, 1, time.UTC) // past what nanoseconds in 64 bits reach
	s.SetChanged(8, far)
	want[8] = state.Times{Changed: far}
	s = reopen(t, s, path)
	s.SetChanged(7, far)
	want[7] = state.Times{Modified: time.Unix(0, 0), Changed: far}
	for range 2 {
		for id, want := range want {
			if got := s.Times(id); !got.Modified.Equal(want.Modified) || !got.Changed.Equal(want.Changed) {
				t.Errorf("document %d: got %v, want %v", id, got, want)
			}
		}
		s = reopen(t, s, path)
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
	s.SetChanged(5, time.Unix(5, 0))
	must(t, s.SetDefaults(5, archive.Attributes{}))
	if got, ok := s.Keywords(5); !ok || got[0] != "document" {
		t.Errorf("got keywords %q, %v", got, ok)
	}
	if got := s.Times(5).Changed; !got.Equal(time.Unix(5, 0)) {
		t.Errorf("got the time %v", got)
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
			s.SetChanged(i, time.Unix(int64(i), 0))
			if got := s.Times(i).Changed; got.Unix() != int64(i) {
				t.Errorf("document %d: got %v", i, got)
			}
		})
	}
	wg.Wait()
}

func TestClosedStoreKnowsNothing(t *testing.T) {
	s, err := state.Open(statePath(t))
	must(t, err)
	s.SetChanged(1, time.Unix(1, 0))
	must(t, s.Close())
	if got := s.Times(1); got != (state.Times{}) {
		t.Errorf("a closed store tells the times %v", got)
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
			s.SetModified(i, time.Unix(int64(i), 0), time.Unix(int64(i), 1))
		}
		if fileOf(t, path) != before {
			t.Error("a time was written at once")
		}
		time.Sleep(2 * time.Second)
		synctest.Wait()
		copied := filepath.Join(t.TempDir(), "copy") // as a crash would leave it now
		must(t, os.WriteFile(copied, []byte(fileOf(t, path)), 0o600))
		if got := open(t, copied).Times(99); got.Modified.Unix() != 99 {
			t.Errorf("got %v two seconds later", got)
		}
	})
}

func fileOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	must(t, err)
	return string(b)
}
