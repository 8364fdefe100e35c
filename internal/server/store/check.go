package store

import (
	"context"
	"database/sql"
	"fmt"
)

// Check finds out whether the database answers.
func (s *Store) Check(ctx context.Context) error {
	var settings int
	if err := s.read.row(ctx, "SELECT count(*) FROM setting").Scan(&settings); err != nil {
		return fmt.Errorf("ask database: %w", err)
	}
	return nil
}

// Count counts the folders and documents of all tenants. It goes through an index of them.
func (s *Store) Count(ctx context.Context) (folders, documents int64, err error) {
	if err = s.read.row(ctx, "SELECT (SELECT count(*) FROM folder), (SELECT count(*) FROM document)").Scan(&folders, &documents); err != nil {
		return 0, 0, fmt.Errorf("count documents: %w", err)
	}
	return folders, documents, nil
}

// Used finds out whether any tenant has a document.
func (s *Store) Used(ctx context.Context) (used bool, err error) {
	if err = s.read.row(ctx, "SELECT EXISTS (SELECT 1 FROM document)").Scan(&used); err != nil {
		return false, fmt.Errorf("look for documents: %w", err)
	}
	return used, nil
}

// Pools are the connections to the database, by what they are for.
func (s *Store) Pools() map[string]sql.DBStats {
	if s.read == s.write {
		return map[string]sql.DBStats{"all": s.write.db.Stats()}
	}
	return map[string]sql.DBStats{"read": s.read.db.Stats(), "write": s.write.db.Stats()}
}
