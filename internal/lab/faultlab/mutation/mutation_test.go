package mutation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTheTableFitsTheSource(t *testing.T) {
	for _, m := range All() {
		text, err := os.ReadFile(filepath.Join("..", "..", "..", "..", m.File))
		if err != nil {
			t.Fatal(err)
		}
		mutant, err := m.apply(string(text))
		switch {
		case err != nil:
			t.Errorf("%s: %v", m.Name, err)
		case mutant == string(text):
			t.Errorf("%s changes nothing", m.Name)
		}
	}
}

func TestATextThatIsNotThereOnceIsAnError(t *testing.T) {
	m := Mutation{Name: "test", Old: "sync()", New: ""}
	for _, text := range []string{"", "sync(); sync()"} {
		if _, err := m.apply(text); err == nil || !strings.Contains(err.Error(), "up to date") {
			t.Errorf("in %q: %v, want an error that says what to do", text, err)
		}
	}
}

func TestOverlayReplacesTheFile(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "a.go"), []byte("before\nsync()\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	m := Mutation{Name: "test", File: "a.go", Old: "sync()\n", New: ""}
	file, err := m.Overlay(root, dir)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &overlay); err != nil {
		t.Fatal(err)
	}
	mutant, err := os.ReadFile(overlay.Replace[filepath.Join(root, "a.go")])
	if err != nil || string(mutant) != "before\nafter\n" {
		t.Errorf("the overlay holds %q, %v", mutant, err)
	}
}
