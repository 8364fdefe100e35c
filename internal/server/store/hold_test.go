package store_test

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/archivefs/archivefs/internal/server/store"
	"github.com/archivefs/archivefs/internal/testing/pgtest"
)

// unused adds and deletes a document whose content has a rendition, and returns the digest.
func unused(t *testing.T, s opened, name string) string {
	t.Helper()
	digest := strings.Repeat("0", 64-len(name)) + name
	id := holding(t, s, folder(t, s, store.Folder{Name: "of " + name, Inbox: true}), name)[0]
	if err := s.Uses.AddRendition(t.Context(), store.Scope{}, digest, "v", "pdf of "+name); err != nil {
		t.Fatal(err)
	}
	if _, err := s.DeleteDocument(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	return digest
}

// dropped returns what Drop removes for a content.
func dropped(t *testing.T, s opened, digest string) (removed []string) {
	t.Helper()
	err := s.Uses.Drop(t.Context(), digest, func(_ context.Context, digest string) error { removed = append(removed, digest); return nil })
	if err != nil {
		t.Fatal(err)
	}
	return removed
}

// During a hold no instance removes contents; references to them can be removed.
func TestHeldContentsAreNotRemoved(t *testing.T) {
	both := instances(t)
	held, hold, err := both[0].Uses.HoldContents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := both[1].Uses.HoldContents(t.Context()); err == nil || !strings.Contains(err.Error(), "another backup is under way") {
		t.Errorf("two at a time: %v", err)
	}
	digest := unused(t, both[1], "a")
	if removed := dropped(t, both[1], digest); len(removed) != 0 {
		t.Errorf("removed %v", removed)
	}
	if pdf, err := both[0].Uses.Rendition(t.Context(), digest, "v"); err != nil || pdf != "" {
		t.Errorf("the rendition is %q, %v", pdf, err)
	}
	if err := errors.Join(hold.Check(held), held.Err()); err != nil {
		t.Error(err)
	}
	left := func() (removed []string) {
		t.Helper()
		err := both[1].Uses.DropLeft(t.Context(), func(_ context.Context, digest string) error { removed = append(removed, digest); return nil })
		if err != nil {
			t.Fatal(err)
		}
		slices.Sort(removed)
		return removed
	}
	if removed := left(); len(removed) != 0 {
		t.Errorf("removed %v", removed)
	}
	hold.Release()
	if removed := left(); !slices.Equal(removed, []string{digest, "pdf of a"}) {
		t.Errorf("removed %v", removed)
	}
	if removed := left(); len(removed) != 0 {
		t.Errorf("removed again %v", removed)
	}
}

// A hold begins after the removals in flight.
func TestAHoldWaitsForRemovals(t *testing.T) {
	url := pgtest.Database(t)
	both := [2]opened{openURL(t, url), openURL(t, url)}
	db, err := sql.Open("pgx", url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	digest := unused(t, both[1], "a")
	began, ended := make(chan struct{}), make(chan error)
	var over atomic.Bool
	err = both[1].Uses.Drop(t.Context(), digest, func(ctx context.Context, digest string) error {
		if strings.HasPrefix(digest, "pdf") {
			return nil
		}
		go func() {
			close(began)
			_, hold, err := both[0].Uses.HoldContents(t.Context())
			if err == nil {
				if !over.Load() {
					err = errors.New("it did not wait")
				}
				hold.Release()
			}
			ended <- err
		}()
		<-began
		for waiting := false; !waiting; {
			err := db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
				AND database = (SELECT oid FROM pg_database WHERE datname = current_database()))`).Scan(&waiting)
			if err != nil {
				return err
			}
		}
		over.Store(true)
		return nil
	})
	if err := errors.Join(err, <-ended); err != nil {
		t.Error(err)
	}
}

// A hold leaves the connections of the URL to other work.
func TestAHoldNeedsAConnectionMore(t *testing.T) {
	s := openURL(t, pgtest.Database(t)+"&pool_max_conns=1")
	_, hold, err := s.Uses.HoldContents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer hold.Release()
	if got := dump(t, copied(t, s.Store)); len(got["tenant"]) != 1 {
		t.Errorf("tenants are %v", got["tenant"])
	}
}

// The context of a hold ends with its connection.
func TestALostHoldIsNoticed(t *testing.T) {
	server := pgtest.Start(t)
	s := openURL(t, server.Database(t))
	held, hold, err := s.Uses.HoldContents(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Crash(t.Context()); err != nil {
		t.Fatal(err)
	}
	<-held.Done() // the other processes of the server end after the one that was killed
	if err := hold.Check(held); err == nil || !strings.Contains(err.Error(), "lost its connection") {
		t.Errorf("got %v", err)
	}
	if cause := context.Cause(held); !strings.Contains(cause.Error(), "lost its connection") {
		t.Errorf("it ended with %v", cause)
	}
	hold.Release()
}
