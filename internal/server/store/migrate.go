package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
)

//go:embed migrations/sqlite/*.sql
var migrations embed.FS

// migrate brings the schema to the newest version, each step in a transaction of its
// own. The version is kept in SQLite's user_version. A database of a newer version is
// refused.
func migrate(ctx context.Context, db *pool) error {
	files, err := fs.Glob(migrations, "migrations/sqlite/*.sql") // sorted by name
	if err != nil {
		return fmt.Errorf("list migrations: %w", err)
	}
	var version int
	if err := db.row(ctx, "PRAGMA user_version").Scan(&version); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	if version > len(files) {
		return fmt.Errorf("database has schema version %d, this program knows %d: use a newer archivefs", version, len(files))
	}
	for i, name := range files[version:] {
		step, err := migrations.ReadFile(name)
		if err != nil {
			return fmt.Errorf("read migration: %w", err)
		}
		if err := migrateStep(ctx, db, string(step), version+i+1); err != nil {
			return fmt.Errorf("migration %s: %w", name, err)
		}
	}
	return nil
}

func migrateStep(ctx context.Context, db *pool, step string, version int) error {
	return db.change(ctx, func(tx session) error {
		if _, err := tx.exec(ctx, step); err != nil {
			return fmt.Errorf("change schema: %w", err)
		}
		if _, err := tx.exec(ctx, fmt.Sprintf("PRAGMA user_version = %d", version)); err != nil {
			return fmt.Errorf("set schema version: %w", err)
		}
		return nil
	})
}
