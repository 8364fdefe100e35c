package store

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

// migrations are the steps of each engine, by the version that they lead to. Steps of the same
// number lead to the same schema.
//
//go:embed migrations
var migrations embed.FS

// step is a change of the schema.
type step struct {
	name    string
	version int
}

// stepsAfter returns what an engine's database of some version lacks, in order.
func stepsAfter(engine string, version int) ([]step, error) {
	files, err := fs.Glob(migrations, "migrations/"+engine+"/*.sql") // sorted by name
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	var steps []step
	newest := 0
	for _, name := range files {
		number, _, _ := strings.Cut(path.Base(name), "_")
		if newest, err = strconv.Atoi(number); err != nil {
			return nil, fmt.Errorf("migration %s has no number: %w", name, err)
		}
		if newest > version {
			steps = append(steps, step{name, newest})
		}
	}
	if version > newest {
		return nil, fmt.Errorf("database has schema version %d, this program knows %d: use a newer archivefs", version, newest)
	}
	return steps, nil
}

func (s step) run(ctx context.Context, tx changing) error {
	text, err := migrations.ReadFile(s.name)
	if err != nil {
		return fmt.Errorf("read migration: %w", err)
	}
	if _, err := tx.exec(ctx, string(text)); err != nil {
		return fmt.Errorf("migration %s: %w", s.name, err)
	}
	return nil
}
