package store

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"
)

// trigram is how many letters a text must have to be found by the index of what is said.
const trigram = 3

func (inFile) mention(folded string) (condition, bool) {
	scan := condition{"instr(d.said, ?) > 0", []any{folded}}
	if utf8.RuneCountInString(folded) < trigram {
		return scan, false
	}
	return condition{
		`(d.id IN (SELECT rowid FROM said_index WHERE said_index MATCH ?)
		OR d.id > (SELECT id FROM indexed_to) AND ` + scan.sql + ")",
		append([]any{quoted(folded)}, scan.args...),
	}, true
}

// quoted is a text as FTS5 looks for it.
func quoted(text string) string { return `"` + strings.ReplaceAll(text, `"`, `""`) + `"` }

// indexSaid takes the documents that were added last into the index, up to n of them.
func (inFile) indexSaid(ctx context.Context, tx changing, n int) (more bool, err error) {
	var from, to, count int64
	if err := tx.row(ctx, "SELECT id FROM indexed_to").Scan(&from); err != nil {
		return false, fmt.Errorf("read what is indexed: %w", err)
	}
	err = tx.row(ctx, "SELECT coalesce(max(id), 0), count(*) FROM (SELECT id FROM document WHERE id > ? ORDER BY id LIMIT ?)", from, n).Scan(&to, &count)
	if err != nil || count == 0 {
		return false, err
	}
	if _, err := tx.exec(ctx, "INSERT INTO said_index (rowid, said) SELECT id, said FROM document WHERE id > ? AND id <= ?", from, to); err != nil {
		return false, fmt.Errorf("index documents: %w", err)
	}
	_, err = tx.exec(ctx, "UPDATE indexed_to SET id = ?", to)
	return count == int64(n), err
}

func (inFile) contains(s sought) condition {
	match := "words : " + quoted(strings.Join(s.words, " "))
	if s.prefix {
		match += " *"
	}
	for _, stem := range s.stems {
		match += " OR " + quoted(stem)
	}
	return condition{`d.digest IN (SELECT digest FROM content
		WHERE id IN (SELECT rowid FROM content_index WHERE content_index MATCH ?))`, []any{match}}
}

func (inFile) indexText(ctx context.Context, tx changing, id int64, v vector) error {
	_, err := tx.exec(ctx, "INSERT INTO content_index (rowid, words, stems) VALUES (?, ?, ?)",
		id, strings.Join(v.words, " "), strings.Join(v.stems, " "))
	return err
}
