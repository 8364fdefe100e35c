package fill_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/archivefs/archivefs/internal/lab/fill"
	"github.com/archivefs/archivefs/internal/server"
)

func TestTree(t *testing.T) {
	tree := t.TempDir()
	for _, path := range []string{"Muster GmbH/Letters/a.txt", "Muster GmbH/b.txt", "Other AG/c.txt"} {
		file := filepath.Join(tree, path)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(path), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, withSample := range []bool{false, true} {
		data := filepath.Join(t.TempDir(), "data")
		if err := fill.Tree(t.Context(), data, tree, withSample); err != nil {
			t.Fatal(err)
		}
		a, err := server.OpenAdmin(t.Context(), server.Place{Data: data})
		if err != nil {
			t.Fatal(err)
		}
		roots, err := a.Mandators(t.Context())
		if err != nil || len(roots) < 2 || (len(roots) > 2) != withSample {
			t.Errorf("with the sample %v, the mandators are %+v, %v", withSample, roots, err)
		}
		contents, err := filepath.Glob(filepath.Join(data, "contents", "??", "*"))
		if err != nil || len(contents) < 3 || (len(contents) > 3) != withSample {
			t.Errorf("with the sample %v, there are %d contents, %v", withSample, len(contents), err)
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
}
