package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// together makes changes that share a transaction: they come while another one is under way. It returns
// their errors.
func together(t *testing.T, s *Store, changes ...func(changing) error) []error {
	t.Helper()
	return togetherWith(t, s, nil, changes...)
}

// togetherWith is together with a context of the last change, unless it is nil.
func togetherWith(t *testing.T, s *Store, last context.Context, changes ...func(changing) error) []error {
	t.Helper()
	begun, end := make(chan bool), make(chan bool)
	first := make(chan error)
	go func() {
		first <- s.write.change(t.Context(), func(changing) error {
			begun <- true
			<-end
			return nil
		})
	}()
	<-begun
	failed := make([]error, len(changes))
	ended := make(chan bool)
	for i, change := range changes {
		ctx := t.Context() //nolint:contextcheck // the change has its own
		if last != nil && i == len(changes)-1 {
			ctx = last
		}
		go func() {
			defer func() {
				if p := recover(); p != nil {
					failed[i] = fmt.Errorf("panic: %v", p)
				}
				ended <- true
			}()
			failed[i] = s.write.change(ctx, change)
		}()
		waitFor(t, s.write.group, i+1)
	}
	end <- true
	if err := <-first; err != nil {
		t.Error(err)
	}
	for range changes {
		<-ended
	}
	return failed
}

func waitFor(t *testing.T, g *group, n int) {
	t.Helper()
	for range 5000 {
		g.mu.Lock()
		have := len(g.waiting)
		g.mu.Unlock()
		if have == n {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the changes do not wait")
}

func openGroup(t *testing.T) *Store {
	t.Helper()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func set(t *testing.T, name string) func(changing) error {
	t.Helper()
	return func(tx changing) error {
		_, err := tx.exec(t.Context(), "INSERT INTO setting (tenant, name, value) VALUES (1, ?, '')", name)
		return err
	}
}

func wantSettings(t *testing.T, s *Store, want ...string) {
	t.Helper()
	got, err := collect(t.Context(), s.read, "settings", func(row scanner) (name string, err error) {
		err = row.Scan(&name)
		return name, err
	}, "SELECT name FROM setting ORDER BY name")
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("there is %q, want %q, %v", got, want, err)
	}
}

var errTest = errors.New("no")

// Of changes that share a transaction, one that fails or panics takes nothing of the others along.
func TestChangesThatShareATransaction(t *testing.T) {
	s := openGroup(t)
	failed := together(t, s, set(t, "a"), func(tx changing) error {
		return errors.Join(set(t, "lost")(tx), errTest)
	}, set(t, "b"), set(t, "a"), func(tx changing) error {
		_ = set(t, "lost too")(tx)
		panic("oh")
	}, set(t, "c"))
	for i, want := range []string{"", "no", "", "UNIQUE", "panic: oh", ""} {
		if got := fmt.Sprint(failed[i]); want == "" && failed[i] != nil || !strings.Contains(got, want) {
			t.Errorf("change %d: %v, want %q", i, failed[i], want)
		}
	}
	wantSettings(t, s, "a", "b", "c")
	if err := s.write.change(t.Context(), set(t, "d")); err != nil {
		t.Error(err)
	}
}

// A commit that fails is reported to all who share it.
func TestASharedCommitThatFails(t *testing.T) {
	s := openGroup(t)
	failed := together(t, s, set(t, "a"), func(tx changing) error {
		_, err := tx.exec(t.Context(), "PRAGMA defer_foreign_keys = 1")
		if err == nil {
			_, err = tx.exec(t.Context(), "INSERT INTO setting (tenant, name, value) VALUES (99, 'dangling', '')")
		}
		return err
	}, func(changing) error { return errTest })
	for i, want := range []string{"commit: ", "commit: ", "no"} {
		if !strings.HasPrefix(fmt.Sprint(failed[i]), want) {
			t.Errorf("change %d: %v, want %q", i, failed[i], want)
		}
	}
	wantSettings(t, s)
	if err := s.write.change(t.Context(), set(t, "b")); err != nil {
		t.Error(err)
	}
	wantSettings(t, s, "b")
}

// When the database rolls back a shared transaction as a whole, each change is made alone.
func TestASharedTransactionThatIsRolledBack(t *testing.T) {
	s := openGroup(t)
	times := 0
	failed := together(t, s, set(t, "a"), func(tx changing) error {
		if times++; times > 1 {
			return set(t, "b")(tx)
		}
		_, err := tx.exec(t.Context(), "ROLLBACK")
		return err
	}, set(t, "c"))
	if err := errors.Join(failed...); err != nil {
		t.Error(err)
	}
	wantSettings(t, s, "a", "b", "c")
}

// A change whose caller has given up is not made.
func TestAChangeThatIsCancelledWhileItWaits(t *testing.T) {
	s := openGroup(t)
	ctx, cancel := context.WithCancel(t.Context())
	failed := togetherWith(t, s, ctx, func(tx changing) error {
		cancel()
		return set(t, "a")(tx)
	}, set(t, "b"), set(t, "c"))
	if failed[0] != nil || failed[1] != nil || !errors.Is(failed[2], context.Canceled) {
		t.Errorf("got %v", failed)
	}
	wantSettings(t, s, "a", "b")
}
