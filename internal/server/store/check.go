package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Check finds out whether the database answers.
func (s *Store) Check(ctx context.Context) error {
	var settings int
	if err := s.read.db.QueryRowContext(ctx, "SELECT count(*) FROM setting").Scan(&settings); err != nil {
		return fmt.Errorf("ask database: %w", err)
	}
	return nil
}

// Pools are the connections to the database, by what they are for.
func (s *Store) Pools() map[string]sql.DBStats {
	return map[string]sql.DBStats{"read": s.read.db.Stats(), "write": s.write.db.Stats()}
}
