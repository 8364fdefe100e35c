package store

import (
	"context"
	"strings"
)

// mention may use an index of trigrams, or none: see the migration.
func (postgres) mention(folded string) (condition, bool) {
	escaped := strings.NewReplacer(`\`, `\\`, "%", `\%`, "_", `\_`).Replace(folded)
	return condition{"d.said LIKE ?", []any{"%" + escaped + "%"}}, false
}

// indexSaid does nothing: PostgreSQL's index is never behind.
func (postgres) indexSaid(context.Context, changing, int) (more bool, err error) { return false, nil }
