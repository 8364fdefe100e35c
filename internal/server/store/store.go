package store

import (
	"errors"
	"fmt"
)

// Store is an open database with the archives of all tenants. Its methods, and those of its
// views, may be called concurrently.
type Store struct{ *database }

// database is what a Store and its views share.
type database struct {
	engine
	write *pool // of one connection in SQLite: writers queue here, not at the database's lock
	read  *pool
	inUse *pins
	left  *leftovers
}

func newStore(e engine) *Store {
	return &Store{&database{engine: e, inUse: newPins(), left: &leftovers{}}}
}

// Close closes the database; what was answered before is on disk already.
func (s *Store) Close() error {
	var errs []error
	for _, p := range []*pool{s.read, s.write} {
		if p != nil {
			errs = append(errs, p.db.Close())
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close database: %w", err)
	}
	return nil
}
