package mutation

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/archivefs/archivefs/internal/lab/faultlab/history"
)

// Mutation is a way to break archivefs.
type Mutation struct {
	Name string
	File string // below the module's root
	Old  string // in the file, exactly once
	New  string
	// Import is a line of the file's imports that New does without, if there is one.
	Import string
	Focus  history.Focus
	// Async says that only asynchronous writes pass the place, or show it.
	Async bool
	// Unneeded, when it is set, says why no promise rests on what is taken away. Then the
	// lab must not notice.
	Unneeded string
}

// Overlay writes what go build -overlay needs to build the module at root with the
// mutation into dir, and returns the file to name there.
func (m *Mutation) Overlay(root, dir string) (file string, err error) {
	source := filepath.Join(root, filepath.FromSlash(m.File))
	text, err := os.ReadFile(source) //nolint:gosec // a source file of the module
	if err != nil {
		return "", fmt.Errorf("mutation %s: %w", m.Name, err)
	}
	mutant, err := m.apply(string(text))
	if err != nil {
		return "", fmt.Errorf("mutation %s: %s: %w", m.Name, m.File, err)
	}
	replacement := filepath.Join(dir, "mutant.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {source: replacement}})
	if err != nil {
		return "", err
	}
	file = filepath.Join(dir, "overlay.json")
	return file, errors.Join(os.WriteFile(replacement, []byte(mutant), 0o600), os.WriteFile(file, overlay, 0o600)) //nolint:gosec // in a directory of the lab
}

// apply replaces the text of the mutation.
func (m *Mutation) apply(text string) (string, error) {
	for _, old := range []string{m.Old, m.Import} {
		if n := strings.Count(text, old); old != "" && n != 1 {
			return "", fmt.Errorf("%q is there %d times, want once: bring the table of mutations up to date", old, n)
		}
	}
	if m.Import != "" {
		text = strings.Replace(text, m.Import, "", 1)
	}
	return strings.Replace(text, m.Old, m.New, 1), nil
}
