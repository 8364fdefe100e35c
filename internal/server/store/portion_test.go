package store

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The texts of an index are copied unchanged, however they are divided, and leave no files behind.
func TestTextsInPortions(t *testing.T) {
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "archive.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	want := map[int64][2]string{}
	err = s.write.change(t.Context(), func(tx changing) error {
		for n := range int64(40) {
			id := 1 + n*n*n // with gaps
			words := strings.Repeat(fmt.Sprintf("all w%d größe ", id), int(n)*5) + "end"
			want[id] = [2]string{words, fmt.Sprintf("s%d all", id)}
			if n == 7 {
				want[id] = [2]string{}
			}
			if _, err := tx.exec(t.Context(), insertText, id, want[id][0], want[id][1]); err != nil {
				return err
			}
		}
		_, err := tx.exec(t.Context(), "DELETE FROM content_index WHERE rowid = 1")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	delete(want, 1)
	for together, files := range map[int64]int{1 << 20: 1, 1000: 10, 1: 38} {
		t.Run(fmt.Sprint(together), func(t *testing.T) {
			all, err := portions(t.Context(), s.read, together)
			if err != nil {
				t.Fatal(err)
			}
			if len(all) > files || len(all) < files/2 {
				t.Errorf("%d portions, want about %d", len(all), files)
			}
			dir := t.TempDir()
			got := orderedTexts(t, s, all, dir)
			for id, texts := range want {
				if !slices.Equal(got[id], texts[:]) {
					t.Errorf("text %d is %q, want %q", id, got[id], texts)
				}
			}
			if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 || len(got) != len(want) {
				t.Errorf("%d texts, want %d; left behind: %v, %v", len(got), len(want), entries, err)
			}
		})
	}
}

// orderedTexts are the words and stems of all texts, by id.
func orderedTexts(t *testing.T, s *Store, all []*portion, dir string) map[int64][]string {
	t.Helper()
	c, end, err := vocabulary(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	const rows = 1000
	left := int64(rows)
	f := filling{from: s, dir: dir, left: rows, tell: func(now int64) {
		if now > left {
			t.Errorf("%d rows are left, after %d", now, left)
		}
		left = now
	}}
	if err := f.sortOut(t.Context(), c, all); err != nil {
		t.Fatal(err)
	}
	got := map[int64][]string{}
	for _, p := range all {
		texts, err := p.ordered(t.Context(), s.read)
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range texts {
			got[text.id] = []string{strings.Join(text.words, " "), strings.Join(text.stems, " ")}
		}
		if err := p.close(); err != nil {
			t.Error(err)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if left != rows-int64(len(got)) {
		t.Errorf("%d rows are left of %d, and there are %d texts", left, rows, len(got))
	}
	if _, err := s.read.db.ExecContext(context.WithoutCancel(t.Context()), "DELETE FROM tenant"); err == nil {
		t.Error("who reads can write")
	}
	return got
}
