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

func (postgres) contains(s sought) condition {
	match := "'" + strings.Join(s.words, "' <-> '") + "'"
	if s.prefix {
		match += ":*"
	}
	stems := make([]string, 0, len(s.stems))
	for _, stem := range s.stems {
		stems = append(stems, "'"+stem+"'")
	}
	match = strings.Join(append([]string{match}, stems...), " | ")
	return condition{`d.digest IN (SELECT digest FROM content
		WHERE words @@ CAST(CAST(? AS TEXT) AS TSQUERY) OR stems @@ CAST(CAST(? AS TEXT) AS TSQUERY))`, []any{match, strings.Join(stems, " | ")}}
}

func (postgres) indexText(ctx context.Context, tx changing, id int64, v vector) error {
	_, err := tx.exec(ctx, `UPDATE content SET words = CAST(CAST(? AS TEXT) AS TSVECTOR), stems = CAST(CAST(? AS TEXT) AS TSVECTOR) WHERE id = ?`,
		tsvector(v.words), tsvector(v.stems), id)
	return err
}
