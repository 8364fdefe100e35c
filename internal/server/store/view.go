package store

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
)

// View opens the SQLite database in a file for reading alone, also while another process has
// it open for writing. One of another version than this program's is an error: nothing is
// migrated.
func View(ctx context.Context, file string) (*Store, error) {
	s := newStore(inFile{})
	if err := s.viewFile(ctx, file); err != nil {
		return nil, errors.Join(fmt.Errorf("open database %s: %w", file, err), s.Close())
	}
	return s, nil
}

func (s *Store) viewFile(ctx context.Context, file string) (err error) {
	if _, err := os.Stat(file); err != nil { // SQLite would make it
		return err
	}
	s.read, err = s.openPool(file, 2, url.Values{
		"_pragma": {busyTimeout, "query_only(1)", "cache_size(-16384)"},
	})
	if err != nil {
		return err
	}
	return inFile{}.wantNewest(ctx, s.read)
}

// ErrOlder says that a database has the schema of an older version.
var ErrOlder = errors.New("it has an older schema version")

// current is an error where an engine's schema is not of the newest version.
func current(engine string, version int) error {
	steps, err := stepsAfter(engine, version)
	if err == nil && len(steps) > 0 {
		err = fmt.Errorf("%w, %d: let archivefs serve open it once, and migrate it", ErrOlder, version)
	}
	return err
}
