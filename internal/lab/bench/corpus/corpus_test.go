package corpus

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/archivefs/archivefs/internal/server/inspect"
)

func makeSmall(t *testing.T, dir string, seed uint64) *Corpus {
	t.Helper()
	shape, err := ShapeOf(Small)
	if err != nil {
		t.Fatal(err)
	}
	c, err := Make(dir, shape, seed)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// contents reads a tree: path to bytes, "" for a directory.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			all[strings.TrimPrefix(path, dir)] = ""
			return err
		}
		b, err := os.ReadFile(path)
		all[strings.TrimPrefix(path, dir)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestSeedDecides(t *testing.T) {
	one, same, other := contents(t, makeSmall(t, t.TempDir(), 7).Dir), contents(t, makeSmall(t, t.TempDir(), 7).Dir), makeSmall(t, t.TempDir(), 8)
	if len(one) != len(same) {
		t.Fatalf("%d and %d entries", len(one), len(same))
	}
	for path, want := range one {
		if got, ok := same[path]; !ok || got != want {
			t.Errorf("%s differs", path)
		}
	}
	if text := contents(t, other.Dir)["/sample.list"]; text == one["/sample.list"] {
		t.Error("another seed makes the same names")
	}
}

// What is counted is what there is, and every document is whole, readable and like no other.
func TestCountsAndDocuments(t *testing.T) {
	c := makeSmall(t, t.TempDir(), 7)
	seen := map[string]bool{}
	for _, tree := range []struct {
		dir  string
		want Count
	}{{"W", c.W}, {"M", c.M}, {c.Part, c.M500}, {"S", c.S}} {
		var got Count
		for path, content := range contents(t, filepath.Join(c.Tree(), tree.dir)) {
			if content == "" {
				got.Folders++
				continue
			}
			got.Documents++
			if tree.dir != c.Part && seen[content] {
				t.Errorf("%s is there twice", path)
			}
			seen[content] = true
			if r := inspect.Content(strings.NewReader(content), int64(len(content)), inspect.Hint{Name: path}); r.Pages != 1 || r.ContentType != "application/pdf" {
				t.Fatalf("%s is taken for %+v", path, r)
			}
			if !strings.HasSuffix(content, "%%EOF\n") {
				t.Errorf("%s has no end", path)
			}
		}
		if got != tree.want {
			t.Errorf("%s has %+v, is said to have %+v", tree.dir, got, tree.want)
		}
	}
}

func TestMakeKeepsWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	c := makeSmall(t, dir, 7)
	left := filepath.Join(c.Tree(), "IN", "left")
	if err := os.WriteFile(left, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(c.BigIn())
	if err != nil {
		t.Fatal(err)
	}
	if again := makeSmall(t, dir, 7); *again != *c {
		t.Errorf("%+v, was %+v", again, c)
	}
	if after, err := os.Stat(c.BigIn()); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("made anew (%v)", err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what was copied in is still there")
	}
	makeSmall(t, dir, 8)
	if after, err := os.Stat(c.BigIn()); err != nil || after.ModTime().Equal(before.ModTime()) {
		t.Errorf("another seed, the same files (%v)", err)
	}
}

func TestStampMakesNewContents(t *testing.T) {
	c := makeSmall(t, t.TempDir(), 7)
	old := contents(t, c.In())
	if err := c.Stamp(1); err != nil {
		t.Fatal(err)
	}
	for path, now := range contents(t, c.In()) {
		was := old[path]
		if was == "" {
			continue
		}
		if was == now || len(was) != len(now) {
			t.Errorf("%s is the same", path)
		}
		end := MarkAt + MarkLength
		if !bytes.Equal([]byte(was[end:]), []byte(now[end:])) || now[:MarkAt] != "%PDF-1.4\n%" {
			t.Errorf("%s differs beside its mark", path)
		}
	}
}
